"""Traces are counted by call, with reasons that agree with what JAX itself logs under `jax_explain_cache_misses`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jaxscope_worker.wire import recording as wire
from jaxscope_worker.wire.retracing import Retraced
from recorded import recorded

from support import trace, write

HEAD = """\
from functools import partial

import jax
import jax.numpy as jnp


"""
LOGGED = """\
import logging
import runpy

import jax


class Print(logging.Handler):
    def emit(self, record):
        if "TRACING CACHE MISS" in record.getMessage():
            print("\\0" + record.getMessage(), flush=True)


logging.getLogger("jax").addHandler(Print())
logging.getLogger("jax").propagate = False
jax.config.update("jax_explain_cache_misses", True)
runpy.run_path("program.py")["main"]()
"""
PLAIN = "@jax.jit\ndef f(x):\n    return x * 2\n\n\n"
TWO = "@jax.jit\ndef f(x, y):\n    return x * y\n\n\n"
STATIC = '@partial(jax.jit, static_argnames="k")\ndef f(x, k):\n    return x * k\n\n\n'
TREE = "@jax.jit\ndef f(x):\n    return jax.tree_util.tree_map(lambda a: a * 2, x)\n\n\n"
AGAIN = (
    "kept = []\n\n\ndef make():\n    def f(x):\n        return x + 1\n    kept.append(f)\n    return jax.jit(f)\n\n\n"
)
PROGRAMS = {
    "another length": (PLAIN, ("f(jnp.ones(3))", "f(jnp.ones(4))"), r"new shape of x: f32\[3\] → f32\[4\]"),
    "another rank": (PLAIN, ("f(jnp.ones(4))", "f(jnp.ones((4, 2)))"), r"new shape of x: f32\[4\] → f32\[4,2\]"),
    "another type": (
        PLAIN,
        ("f(jnp.ones(3))", "f(jnp.ones(3, jnp.int32))"),
        r"new type of x: f32\[3\] → i32\[3\]",
    ),
    "int, then float": (PLAIN, ("f(2)", "f(2.5)"), r"new type of x: ~i32\[\] → ~f32\[\]"),
    "a weak type": (
        PLAIN,
        ("f(2.0)", "f(jnp.float32(2.0))"),
        r"weak type of x: f32\[\] of a Python number → f32\[\]",
    ),
    "the second of two": (
        TWO,
        ("f(jnp.ones(3), jnp.ones(3))", "f(jnp.ones(3), jnp.ones(()))"),
        r"new shape of y: f32\[3\] → f32\[\]",
    ),
    "a static value": (STATIC, ("f(jnp.ones(3), k=2)", "f(jnp.ones(3), k=3)"), r"static k: 2 → 3"),
    "position and keyword": (
        TWO,
        ("f(jnp.ones(3), jnp.ones(3))", "f(jnp.ones(3), y=jnp.ones(3))"),
        r"y is passed by keyword",
    ),
    "one key more": (
        TREE,
        ('f({"a": jnp.ones(3)})', 'f({"a": jnp.ones(3), "b": jnp.ones(2)})'),
        r"x\['b'\] is given as well",
    ),
    "a new function": (AGAIN, ("make()(jnp.ones(3))", "make()(jnp.ones(3))"), r"a new function object"),
}
TYPES = re.compile(r"\* at (\w+), (?:now (\S+?)(?:\(\{\}\))?(?:\{\S+\})? and before|seen) (\w+\[[\d,]*\])")
"""What JAX says of types: the parameter, in newer versions the new type, and the old one."""


def _program(name: str) -> str:
    definitions, calls, _ = PROGRAMS[name]
    return HEAD + definitions + "def main():\n" + "".join(f"    {call}\n" for call in calls)


def _said_by_jax(folder: Path, text: str) -> list[str]:
    """JAX's explanations of the traces of `f`, in their order."""
    project = write(folder, {"program.py": text, "logged.py": LOGGED})
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "logged.py"], cwd=project, env=environment, capture_output=True, text=True, check=True
    )
    return [
        one
        for one in ran.stdout.split("\0")
        if re.search(r"^ +(?:for )?(?:make\.<locals>\.)?f (?:id=\d+ )?defined at", one, re.M)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_reasons_agree_with_jax(name: str, tmp_path: Path) -> None:
    text = _program(name)
    reply = trace(tmp_path / "ours", {"program.py": text}, entries=("main",))
    assert reply.failure is None
    kept = recorded(tmp_path / "kept", text + "\n\nmain()\n")
    last = {event.id: event.retraced for event in kept.all(wire.CallCounted)}
    logged = _said_by_jax(tmp_path / "theirs", text)
    assert len(logged) == 2
    seen = [one for one in reply.retraced if one.function.rpartition(".")[2] == "f"]
    assert sum(one.traces for one in seen) == 2
    (cause,) = _agree(name, seen, logged)
    # A call that has a function's first trace only is not written.
    of_run = [one for one in last.values() if one.function.rpartition(".")[2] == "f"]
    assert [(one.traces, one.times, one.source) for one in of_run] == [(1, (1,), "recorded")]
    assert of_run[0].compile_seconds is not None
    assert _agree(name, of_run, logged) == [cause]


def _agree(name: str, seen: list[Retraced], logged: list[str]) -> list[str]:
    """The one reason for the second trace, which is JAX's own."""
    (cause,) = [cause for one in seen for cause in one.causes]
    assert re.search(PROGRAMS[name][2], cause)
    _, why = logged
    said = TYPES.search(why)
    if said is not None:
        parameter, new, old = said.groups()
        assert f" of {parameter}: " in cause
        assert old in cause.replace("~", "")
        assert new is None or new.split("(")[0] in cause.replace("~", "")
    elif "keyword arg" in why or "key sets: {'y'}" in why or "kwargs with keys ['y']" in why:
        assert "keyword" in cause or "is given as well" in cause
    elif "Static(" in why or "value of static" in why:
        assert cause.startswith("static ")
    elif "pytree" in why:
        assert "is given as well" in cause
    else:
        assert "unavailable" in why or " id=" in why, why
        assert "unavailable" in why or cause.startswith("a new function object")
    return [cause]


LOOP = """
    import jax
    import jax.numpy as jnp


    @jax.jit
    def inner(x):
        return x + 1


    @jax.jit
    def outer(x):
        return inner(x) * 2


    def main():
        for n in (3, 4, 3, 5):
            outer(jnp.ones(n))
        for _ in range(3):
            jax.jit(lambda x: x - 1)(jnp.ones(2))
        for _ in range(3):
            jax.jit(outer)(jnp.ones(3))
        outer.lower(jnp.ones(3))
"""


def test_traces_are_counted_by_call(tmp_path: Path) -> None:
    reply = trace(tmp_path, {"program.py": LOOP}, entries=("main",))
    assert reply.failure is None
    counts = {(one.function, one.at.line): one.traces for one in reply.retraced if one.traces}
    loop, anew = 18, 20
    assert counts[("outer", loop)] == 3
    assert counts[("main.<locals>.<lambda>", anew)] == 3
    assert all(function != "inner" for function, _ in counts)
    (outer,) = [one for one in reply.retraced if (one.function, one.at.line) == ("outer", loop)]
    assert outer.causes == ("new shape of x: f32[3] → f32[4]", "new shape of x: f32[4] → f32[5]")
    (new,) = [one for one in reply.retraced if one.at.line == anew]
    assert new.causes == ("a new function object with the same signature",)
    assert new.seconds > 0


ONLY_ARRAYS = """
    import equinox as eqx
    import jax
    import jax.numpy as jnp


    class Model(eqx.Module):
        w: jax.Array
        rate: float


    @eqx.filter_jit
    def step(x, rate, mode="mean"):
        return x * rate


    @eqx.filter_jit
    def run(model, config):
        return model.w * model.rate * config["gain"]


    def main():
        x = jnp.ones(3)
        step(x, 0.5), step(x, rate=0.5), step(x, 1.5), step(x, jnp.asarray(1.5)), step(x, jnp.asarray(2.5))
        step(x, 1.5, mode="sum")
        run(Model(x, 0.5), {"gain": 2}), run(Model(x, 1.0), {"gain": 2}), run(Model(x, 1.0), {"gain": 3})
"""


def test_numbers_are_static_where_only_arrays_are_arguments(tmp_path: Path) -> None:
    pytest.importorskip("equinox")
    reply = trace(tmp_path, {"program.py": ONLY_ARRAYS}, entries=("main",))
    assert reply.failure is None
    causes = {cause for one in reply.retraced for cause in one.causes}
    assert {"static rate: 0.5 → 1.5", "static mode is given as well"} <= causes
    assert {"static model.rate: 0.5 → 1.0", "static config['gain']: 2 → 3"} <= causes
    assert not any("same signature again" in cause for cause in causes)


ALIKE = """
    import jax
    import jax.numpy as jnp


    def main():
        x = jnp.ones(2)
        for _ in range(3):
            jax.jit(lambda x: x + 1)(x), jax.jit(lambda x: x / 2)(x), jax.jit(lambda x: (lambda: x * 3)())(x)
        é = [jax.jit(lambda x: x), jax.jit(lambda x: x)]
        é[0](x), é[1](x)
        for n in range(2):
            def step(x):
                return x + 1
            jax.jit(step)(x)

            def step(x):
                return x + 2
            jax.jit(step)(x)


    main()
"""


def test_functions_that_share_a_name_and_a_line_are_counted_apart(tmp_path: Path) -> None:
    found = recorded(tmp_path, ALIKE)
    lines = (tmp_path / "project/program.py").read_text().splitlines()
    last = {event.id: event.retraced for event in found.all(wire.CallCounted)}
    seen = [(one.line, one.column, one.traces) for one in last.values()]
    loop = next(number for number, line in enumerate(lines, 1) if "x + 1)(x)" in line)
    columns = [match.end() + 1 for match in re.finditer(r"jax\.jit\(", lines[loop - 1])]
    assert len(columns) == 3
    known = sys.version_info >= (3, 11)
    assert [one for one in seen if one[0] == loop] == [(loop, column if known else None, 3) for column in columns]
    defs = [number for number, line in enumerate(lines, 1) if "def step" in line]
    assert [one for one in seen if one[0] in defs] == [(line, 0, 2) for line in defs]
    # Those of one text cannot be told apart before Python 3.11: there they are one, which is traced twice.
    same = next(number for number, line in enumerate(lines, 1) if "é = [" in line)
    assert [one for one in seen if one[0] == same] == ([] if known else [(same, None, 2)])
    events = [event.function for event in found.all(wire.Recorded) if event.function.line == same]
    written = [match.start() + 1 for match in re.finditer("lambda", lines[same - 1])]
    assert [one.column for one in events] == (written if known else [None])


def test_what_jax_has_already_is_no_trace(tmp_path: Path) -> None:
    reply = trace(tmp_path, {"program.py": LOOP}, entries=("main",))
    (again,) = [one for one in reply.retraced if one.function == "outer" and one.at.line == 22]
    assert again.traces <= 1
    assert again.found + again.traces >= 1
