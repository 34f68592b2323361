"""What became of captured arrays, with the flag on where this JAX has it. What is said of this JAX is tried on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import jax
import pytest
from jaxscope_worker.wire.constants import ConstantsReply, ConstantsRequest, LoweredForm
from jaxscope_worker.wire.messages import LowerReply, LowerRequest, TracedFunction

from support import Worker, one, request, write

FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
FLAGS = [False, True] if getattr(jax.config, "jax_embedded_constants_max_bytes", None) is not None else [False]
"""In the first releases that have the flag, lowering fails with it; they lack the other one."""

PROGRAM = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

A = np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32)
B = jnp.asarray(A) * 2
C = np.asarray(A) * 3
WIDE = np.linspace(0, 1, 40)
SMALL = np.arange(8, dtype=np.float32)


@jax.jit
def nested(x):
    return x @ B


@functools.partial(jax.jit, donate_argnums=0, static_argnames="times")
def block(state, x, key, unused, times):
    y = jnp.tanh(x @ C) @ A * WIDE
    carry, sums = jax.lax.scan(lambda c, row: (nested(c) * row, c.sum()), y, jnp.ones((4, 40)))
    jax.debug.print("first {}", sums[0], ordered=True)
    y = carry + 1.5 + jax.random.uniform(key, (40,)) + (x[:8] * SMALL).sum()
    return {"w": state["w"] * times + y, "b": state["b"] + 1}, y.max()


@jax.jit
def twice(x):
    return nested(x) + x @ B


@jax.jit
def bare(x):
    return jnp.where(x > 0, x, 0.1).sum()


def run():
    block({"w": jnp.ones(40), "b": jnp.zeros(3)}, jnp.ones(40), jax.random.PRNGKey(0), jnp.ones(5), times=2)
    twice(jnp.ones(40))
    bare(jnp.ones(40))
"""


class Explained:
    """One worker with the program traced."""

    def __init__(self, folder: Path, hoists: bool) -> None:
        self.hoists = hoists
        self.worker = Worker(folder, {FLAG: "1"} if hoists else None)
        self.trace = self.worker.request(request(folder, entries=("run",)))
        assert self.trace.failure is None, self.trace.failure

    def of(self, function: str) -> tuple[TracedFunction, ConstantsReply]:
        traced = one(self.trace, function)
        reply = self.worker.request(ConstantsRequest(traced.id))
        assert isinstance(reply, ConstantsReply), (reply, self.worker.stderr)
        return traced, reply

    def rows(self, traced: TracedFunction) -> LowerReply:
        reply = self.worker.request(LowerRequest(traced.id))
        assert isinstance(reply, LowerReply), reply
        return reply


@pytest.fixture(scope="module", params=FLAGS, ids=["inlined", "hoisted"][: len(FLAGS)])
def explained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    found = Explained(write(tmp_path_factory.mktemp("constants"), {"program.py": PROGRAM}), request.param)
    with found.worker:
        yield found


def test_how_each_array_is_held_and_lowered(explained: Explained) -> None:
    traced, reply = explained.of("block")
    assert {traced.constants[each.constant].name for each in reply.constants} == {"A", "B", "C", "WIDE"}
    expected = ("literal", "const_arg") if explained.hoists else ("constvar", "stablehlo.constant")
    assert {(each.form, each.lowered) for each in reply.constants} == {expected}
    assert all((each.devices, each.sharding) == (1, "") for each in reply.constants)
    assert [each.device_bytes for each in reply.constants] == [each.bytes for each in traced.constants]


def test_the_rows_of_a_constant_are_those_of_the_module(explained: Explained) -> None:
    traced, reply = explained.of("block")
    operations = explained.rows(traced).operations
    for each in reply.constants:
        assert [operations[at].captured for at in each.rows] == [each.constant]
        assert "x".join(map(str, traced.constants[each.constant].shape)) in operations[each.rows[0]].text


def test_an_array_held_by_two_programs_has_two_rows(explained: Explained) -> None:
    """Inlined it is in the module twice; hidden arguments JAX counts by the literal that holds it, so there are two."""
    _, reply = explained.of("twice")
    (held,) = reply.constants
    assert len(held.rows) == 2
    assert [each.kind for each in reply.hoisted.arguments].count("const") == 1


def names(form: LoweredForm) -> list[tuple[str, str, str]]:
    return [(each.kind, each.name, each.type) for each in form.arguments]


ARRAYS = [
    ("array", "state['b']", "f32[3]"),
    ("array", "state['w']", "f32[40]"),
    ("array", "x", "f32[40]"),
    ("array", "key", "u32[2]"),
]


def test_arguments_of_main_stand_in_jaxs_order(explained: Explained) -> None:
    """Tokens, then hidden constants, then the arrays; in the hoisted form the constants lead them."""
    traced, reply = explained.of("block")
    own = [("const", each.name, f"f32[{','.join(map(str, each.shape))}]") for each in traced.constants]
    captured, hoisted = names(reply.captured), names(reply.hoisted)
    assert captured[0] == hoisted[0] == ("token", "token", "token")
    assert captured[-4:] == hoisted[-4:] == ARRAYS
    assert sorted(hoisted[1:-4]) == sorted(own)
    assert sorted(captured[1:-4]) == (sorted(own) if explained.hoists else [])
    assert reply.unused == ("unused",)
    assert [each.donated for each in reply.captured.arguments[-4:]] == [True, True, False, False]
    for each in (*reply.captured.arguments, *reply.hoisted.arguments):
        if each.constant >= 0:
            held = traced.constants[each.constant]
            assert (each.name, each.bytes) == (held.name, held.bytes)


def test_every_constant_operation_has_its_class(explained: Explained) -> None:
    traced, reply = explained.of("block")
    counts = {(each.literal, each.helper): each for each in reply.literals}
    total = sum(each.bytes for each in traced.constants)
    if explained.hoists:
        assert ("captured", "") not in counts
    else:
        assert (counts["captured", ""].count, counts["captured", ""].bytes) == (4, total)
    assert (counts["small", ""].count, counts["small", ""].bytes) == (1, 32)
    assert counts["lowering", "reduce_max"].bytes == 4  # -inf, where the maximum starts
    assert counts["lowering", "threefry2x32"].count > 0
    assert counts["scalar", ""].count >= 2
    operations = explained.rows(traced).operations
    assert sum(each.count for each in reply.literals) == sum(row.op == "constant" for row in operations)
    for literal in ("captured", "scalar", "small", "lowering"):
        counted = sum(each.count for each in reply.literals if each.literal == literal)
        assert counted == sum(row.literal == literal for row in operations), literal


def test_a_function_without_captures(explained: Explained) -> None:
    _, reply = explained.of("bare")
    assert reply.constants == ()
    assert names(reply.captured) == names(reply.hoisted) == [("array", "x", "f32[40]")]
    assert {each.literal for each in reply.literals} == {"scalar", "lowering"}


def test_the_modules_are_weighed(explained: Explained) -> None:
    traced, reply = explained.of("block")
    saved = reply.captured.module_bytes - reply.hoisted.module_bytes
    total = sum(each.bytes for each in traced.constants)
    assert abs(saved - (0 if explained.hoists else total)) < total / 4
    assert (reply.captured.partitions, reply.hoisted.partitions) == (1, 1)


# ---------------------------------------------------------------- shardings

SHARDED = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

MESH = Mesh(np.array(jax.devices()), ("model",))
W_UP = jax.device_put(np.random.default_rng(0).random((64, 32), np.float32), NamedSharding(MESH, P("model", None)))
X = jnp.ones((2, 64))
SPREAD = jax.device_put(X, NamedSharding(MESH, P(None, "model")))


@jax.jit
def up(x):
    return x @ W_UP


@jax.jit
def spread(x):
    return x @ W_UP


def run():
    up(X)
    spread(SPREAD)
"""


@pytest.fixture(scope="module", params=FLAGS, ids=["inlined", "hoisted"][: len(FLAGS)])
def sharded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = write(tmp_path_factory.mktemp("sharded"), {"program.py": SHARDED})
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    found = Explained.__new__(Explained)
    found.hoists = request.param
    found.worker = Worker(folder, environment | ({FLAG: "1"} if request.param else {}))
    with found.worker:
        found.trace = found.worker.request(globals()["request"](folder, entries=("run",)))
        assert found.trace.failure is None, found.trace.failure
        yield found


def test_a_sharding_is_lost_by_inlining_and_kept_by_hoisting(sharded: Explained) -> None:
    _, reply = sharded.of("up")
    (held,) = reply.constants
    assert (held.devices, held.device_bytes) == (4, 64 * 32 * 4 // 4)
    assert "model" in held.sharding
    kept = next(each for each in reply.hoisted.arguments if each.kind == "const")
    assert kept.sharding == held.sharding
    assert reply.hoisted.partitions == 4
    assert reply.captured.partitions == (4 if sharded.hoists else 1)


def test_arguments_keep_the_sharding_that_they_came_with(sharded: Explained) -> None:
    _, reply = sharded.of("spread")
    for form in (reply.captured, reply.hoisted):
        (x,) = (each for each in form.arguments if each.kind == "array")
        assert "model" in x.sharding
        assert form.partitions == 4


# ---------------------------------------------------------------- what is said of this JAX, tried on it


def try_out(program: str, hoists: bool, **env: str) -> Any:
    """What a program prints as JSON in a fresh interpreter; the name of the exception that ended it."""
    head = """
        import json, os, sys
        import jax, jax.numpy as jnp, numpy as np
        if hasattr(jax, "enable_x64"):
            x64 = jax.enable_x64
        else:
            from jax.experimental import enable_x64 as x64
        def attempt(function):
            try:
                return function()
            except Exception as error:
                return type(error).__name__
    """
    flags = {"JAX_PLATFORMS": "cpu", **({FLAG: "1"} if hoists else {}), **env}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(program)],
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | flags,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_the_fast_path_calls_it_without_python(explained: Explained) -> None:
    program = """
        W = jnp.arange(100.0)
        f = jax.jit(lambda x: x * W)
        x = jnp.ones(100)
        f(x), f(x)
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name) if event == "call" else None)
        f(x)
        sys.setprofile(None)
        print(json.dumps(calls))
    """
    _, reply = explained.of("bare")
    calls = try_out(program, explained.hoists)
    assert reply.behaviour.hoists is explained.hoists
    assert (calls == []) is (reply.behaviour.fast_path or not explained.hoists)


def test_whether_a_stored_program_contains_the_values(explained: Explained, tmp_path: Path) -> None:
    """In the compilation cache, and in `serialize_executable`, which refuses a program with hidden arguments."""
    program = """
        from jax.experimental import serialize_executable
        jax.config.update("jax_compilation_cache_dir", os.environ["STORE"])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        if hasattr(jax.config, "jax_persistent_cache_min_entry_size_bytes"):
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
        def made(seed):
            W = jnp.asarray(np.random.default_rng(seed).random((200, 200), np.float32))
            return jax.jit(lambda x: x @ W).lower(jnp.ones((2, 200))).compile()
        compiled = [made(0), made(1)]
        entries = [entry for entry in os.scandir(os.environ["STORE"]) if "lambda" in entry.name]
        entries = [entry for entry in entries if "atime" not in entry.name]
        stored = attempt(lambda: len(serialize_executable.serialize(compiled[0])[0]) > 160000)
        print(json.dumps([len(entries), max(entry.stat().st_size for entry in entries) > 100000, stored]))
    """
    entries, holds, stored = try_out(program, explained.hoists, STORE=str(tmp_path))
    assert (entries, holds, stored) == ((1, False, "NotImplementedError") if explained.hoists else (2, True, True))


def test_what_a_64_bit_constant_does_under_the_other_setting(explained: Explained) -> None:
    program = """
        W, x = np.linspace(0, 1, 64), np.ones(64, np.float32)
        def called(first, second):
            f = jax.jit(lambda x: x * W)
            with x64(first):
                f(x)
            with x64(second):
                return str(f(x).dtype)
        def lowered(first, second):
            with x64(first):
                traced = jax.jit(lambda x: x * W).trace(x)
            with x64(second):
                return str(traced.lower().compile()(x).dtype)
        tried = [attempt(lambda: way(first, not first)) for way in (called, lowered) for first in (True, False)]
        print(json.dumps(tried))
    """
    behaviour = explained.of("bare")[1].behaviour
    calls = {"traces again": ["float32", "float64"], "fails": ["ValueError", "ValueError"]}[behaviour.x64_call]
    lowers = {"keeps": ["float64", "float32"], "fails": ["ValueError", "ValueError"]}[behaviour.x64_lower]
    assert try_out(program, explained.hoists) == [*calls, *lowers]
    assert behaviour.x64 is False


def test_export_always_inlines(explained: Explained) -> None:
    program = """
        try:
            from jax import export
            text = export.export(jax.jit(lambda x: x * W))(jax.ShapeDtypeStruct((100,), np.float32)).mlir_module()
        except ImportError:
            text = None
        inlined = "stablehlo.constant dense<" in (text or "")
        print(json.dumps(text and ["jax.const" in text, inlined]))
    """
    said = try_out("W = jnp.arange(100.0)\n" + textwrap.dedent(program), explained.hoists)
    assert said is None or said == [False, True]
