"""Fixes of retraces: the program gives the same and is traced once; where that is not certain, nothing is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.config import Config
from jaxscope.ide import fix
from jaxscope.refactor import strong_type
from jaxscope.refactor.change import Hoist, Refusal
from jaxscope.rules.base import Context
from jaxscope.rules.finding import Finding
from jaxscope.rules.retrace import RULE
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import VerifyReply

HEAD = """from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

traced = []
"""
COUNTER = """
@partial(jax.jit, {options})
def decay(w, step, mode="mean"):
    traced.append(1)
    return w * (1.0 - 0.1 / (1 + step))


def main():
    w = jnp.ones(2)
    for step in range(5):
        w = decay(w, {given})
    return w
"""
METHOD = """
class Filter:
    def __init__(self, gain):
        self.gain = gain
        self.offset = 1.0

    def shifted(self, x):
        return x + self.offset

    def apply(self, x):
        traced.append(1)
        return self.gain * self.shifted(x)

    def __call__(self, x):
        return jax.jit(self.apply)(x)
{more}

def main():
    f = Filter(2.0)
    x = jnp.ones(3)
    for _ in range(4):
        x = f(x)
    return x
"""
FACTORY = """
def make_step(lr{parameters}):
    @{decorator}
    def step(w, g):
        traced.append(1)
        return {result}

    return step


def main():
    out = []
    for lr in (0.1, 0.01, 0.001):
        step = make_step(lr)
        w = jnp.ones(2)
        for _ in range(2):
            w = step(w, jnp.ones(2))
        out.append(w)
    return jnp.stack(out)
"""
TRIAL = """
class Trial:
    def __init__(self, rate):
        self.rate = rate
        self.kind = "plain"

    @partial(jax.jit, static_argnums=0)
    def step(self, x):
        traced.append(1)
        y = x - {read} * x
        return y


def main():
    x = jnp.ones(2)
    for _ in range(3):
        x = Trial(0.5).step(x)
    return x
"""
HELPED = COUNTER.replace("@partial", "def more(n):\n    m = n + 1\n    return m\n\n\n@partial", 1)
"""With a helper that gives back what it is given."""
PACKED = {
    "a tuple": ("{decayed}, w", "[0]"),
    "a list in a tuple": ("w, [{decayed}]", "[1][0]"),
    "a dict": ('{{"w": {decayed}, "step": step}}', '["w"]'),
    "a named tuple": ("State({decayed}, step=step / 2)", ".w"),
    "a sum": ("w - jnp.sum({decayed}, 0), w", "[0]"),
}
"""What a function returns with its result in it, and how that is taken out."""
STATE = """

class State(NamedTuple):
    w: jax.Array
    step: float

"""
DECAYED = "w * (1.0 - 0.1 / (1 + step))"


def _packing(text: str, returned: str, taken: str) -> str:
    text = text.replace(DECAYED, returned.format(decayed=DECAYED))
    return STATE + text.replace("w = decay(w, step)", f"w = decay(w, step){taken}")


STATIC = COUNTER.format(options="static_argnums=1", given="step")
FILTERED = STATIC.replace("@partial(jax.jit, static_argnums=1)", "@eqx.filter_jit")
"""Every Python number is static."""
HELPED_FILTERED = FILTERED.replace("@eqx", "def more(n):\n    m = n + 1\n    return m\n\n\n@eqx", 1)
FIXED = {
    "static by name": COUNTER.format(options='static_argnames=("step",)', given="step=step"),
    "static by position": COUNTER.format(options="static_argnums=1", given="step"),
    "one of two static ones": COUNTER.format(options='static_argnames=["mode", "step"]', given="step"),
    "one of two static positions": COUNTER.format(options="static_argnums=(1, 2)", given="step"),
    "beside another option": COUNTER.format(options="donate_argnums=(), static_argnums=1", given="step + 1"),
    "through a helper": HELPED.replace("(1 + step)", "more(step)").format(options="static_argnums=1", given="step"),
    "a method of self": METHOD.format(more=""),
    "a function that is made for each number": FACTORY.format(parameters="", decorator="jax.jit", result="w - lr * g"),
    "made for each number, with an option": FACTORY.format(
        parameters=", k=2.0", decorator="partial(jax.jit, donate_argnums=())", result="w - lr * k * g"
    ),
    "a static object": TRIAL.format(read="self.rate"),
    "a number for filter_jit": FILTERED,
    "by name for filter_jit": FILTERED.replace("decay(w, step)", "decay(step=step, w=w)"),
    "arithmetic for filter_jit": FILTERED.replace("decay(w, step)", "decay(w, 0.5 * step + 1)"),
    **{f"in {name}": _packing(STATIC, *result) for name, result in PACKED.items()},
    "in a list for filter_jit": _packing(FILTERED, "[{decayed}, w]", "[0]"),
    "by a name for filter_jit": FILTERED.replace(f"return {DECAYED}", f"decayed = {DECAYED}\n    return decayed"),
    "in a tuple with a name": STATIC.replace(f"return {DECAYED}", f"both = ({DECAYED}, w)\n    return both").replace(
        "decay(w, step)", "decay(w, step)[0]"
    ),
}
NEEDED = {
    "a bound of a loop": "jax.lax.fori_loop(0, step + 1, lambda i, v: v * 0.5, w)",
    "a position in a tuple": "w * (0.1, 0.2, 0.3, 0.4, 0.5)[step]",
    "a number of rounds": "sum(w for _ in range(step + 1))",
    "a shape": "w[:, None].repeat(step + 1, axis=1).sum(1)",
    "a part of a shape": "jax.random.normal(jax.random.key(0), (step + 1, 2)).sum(0)",
    "a triangle's diagonal": "jnp.tril(w[:, None] * w, step - 2).sum(1)",
    "a power of a matrix": "jnp.linalg.matrix_power(w[:, None] * w, step).sum(1)",
    "an integer power of lax's": "jax.lax.integer_pow(w, step)",
    "an axis by name": "w.sum(axis=step * 0) * w",
    "an index of an axis": "jnp.flip(w, step * 0)",
    "a remainder": "w * (step % 2)",
}
REFUSED = {
    **{
        name: COUNTER.format(options="static_argnums=1", given="step").replace("w * (1.0 - 0.1 / (1 + step))", uses)
        for name, uses in NEEDED.items()
    },
    "a helper makes a size of it": HELPED.replace("/ (1 + step)", "* w[: more(step)].sum()").format(
        options="static_argnums=1", given="step"
    ),
    "a function inside gives it back": COUNTER.replace(
        "    return w *", "    def size():\n        return step + 1\n\n    return w[: size()].sum() + w *"
    ).format(options="static_argnums=1", given="step"),
    "counted from the end of each call": COUNTER.format(options="static_argnums=-1", given="step"),
    "a static number that is a size": COUNTER.replace("w * (1.0", "jnp.zeros(step + 1).sum() * (1.0").format(
        options="static_argnums=1", given="step"
    ),
    "an attribute that is set later": METHOD.format(more="        self.gain = 3.0\n")
    .replace("return jax.jit(self.apply)(x)", "x = jax.jit(self.apply)(x)")
    .replace("        self.gain = 3.0\n", "        self.gain = 3.0\n        return x\n"),
    "an attribute that others set": METHOD.format(more="").replace(
        "        x = f(x)", "        x = f(x); f.gain = 4.0"
    ),
    "a class with a parent": METHOD.format(more="").replace("class Filter:", "class Filter(dict):"),
    "a number that decides": FACTORY.format(parameters="", decorator="jax.jit", result="w - g if lr > 0.05 else w"),
    "a key of a dict": _packing(STATIC, "{{step: {decayed}}}", "[step]"),
    "an element of a tuple": _packing(STATIC, "({decayed}, w)[step * 0], w", "[0]"),
    "sorted": _packing(STATIC, "w * sorted((step, 2))[0], w", "[0]"),
    "a number that filter_jit hands on": _packing(FILTERED, "{decayed}, step", "[0]"),
    "arithmetic that filter_jit hands on": _packing(FILTERED, "{decayed}, 2 * step", "[0]"),
    "what a helper makes of it": _packing(HELPED_FILTERED, "{decayed}, more(step)", "[0]"),
    "a name for it": FILTERED.replace("    return w *", "    size = step + 1\n    return w *").replace(
        DECAYED, f"{DECAYED}, size"
    ),
    "a size for filter_jit": FILTERED.replace(DECAYED, "w * jnp.ones(step + 1).sum()"),
    "a text of the object": TRIAL.format(read='(0.5 if self.kind == "plain" else 0.1)'),
}


def _findings(text: str, folder: Path) -> list[Finding]:
    path = folder / "case.py"
    path.write_text(text)
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    return RULE.static(model, Context(Config(), project))


def _planned(text: str, folder: Path) -> SourceChange | Refusal:
    (finding,) = _findings(text, folder)
    return fix.prepare_apart(str(folder), {}, finding)


def _ran(text: str) -> tuple[object, int]:
    space: dict[str, object] = {}
    exec(compile(text, "case.py", "exec"), space)
    result = space["main"]()  # type: ignore[operator]
    return result.tolist(), len(space["traced"])  # type: ignore[arg-type]


@pytest.mark.jax
@pytest.mark.parametrize("name", FIXED)
def test_same_result_with_one_trace(name: str, tmp_path: Path) -> None:
    text = HEAD + FIXED[name]
    change = _planned(text, tmp_path)
    assert isinstance(change, SourceChange), change
    (before, many), (after, one) = _ran(text), _ran(change.files[0].changed)
    assert [*_flat(after)] == pytest.approx([*_flat(before)], rel=1e-6)
    assert many > 2
    assert one == 1
    assert not _findings(change.files[0].changed, tmp_path)


def _flat(values: object) -> list[float]:
    return [one for each in values for one in _flat(each)] if isinstance(values, list) else [values]  # type: ignore[list-item]


POWERS = ("w * 0.9**step", "w**step", "jnp.power(w, step)", "w + jnp.arange(2) ** (step + 1)", "w * (step + 1) ** -2.0")


@pytest.mark.jax
@pytest.mark.parametrize("result", POWERS)
def test_a_power_is_to_be_proved(result: str, tmp_path: Path) -> None:
    text = HEAD + COUNTER.format(options="static_argnums=1", given="step")
    text = text.replace("w * (1.0 - 0.1 / (1 + step))", result)
    change = _planned(text, tmp_path)
    assert isinstance(change, Hoist), change
    assert [doubt.reason.split(", for")[0] for doubt in change.doubts] == ["`step` is used in a power"]
    assert fix.unproved(change, VerifyReply(True, None, True, True)) is not None
    assert fix.unproved(change, VerifyReply(True, None, True, True, results_equal=True)) is None
    (_, many), (_, one) = _ran(text), _ran(change.files[0].changed)
    assert (many, one) == (5, 1)


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_planned(name: str, tmp_path: Path) -> None:
    text = HEAD + REFUSED[name]
    compile(text, name, "exec")
    for finding in _findings(text, tmp_path):
        assert isinstance(fix.prepare_apart(str(tmp_path), {}, finding), Refusal)


OUTER = STATIC.replace("        w = decay(w, step)", "        for _ in range(3):\n            w = decay(w, step)")


@pytest.mark.parametrize("text", [OUTER, REFUSED["a key of a dict"], REFUSED["a shape"], REFUSED["a name for it"]])
def test_a_reason_is_given_where_a_number_stays_static(text: str, tmp_path: Path) -> None:
    (finding,) = _findings(HEAD + text, tmp_path)
    assert not finding.fixes
    assert finding.refused is not None
    assert "`step`" in finding.refused


def test_comments_of_a_method_stay(tmp_path: Path) -> None:
    text = HEAD + TRIAL.format(read="self.rate").replace("    def step", "    # one trial\n    def step")
    change = _planned(text, tmp_path)
    assert isinstance(change, SourceChange), change
    after = change.files[0].changed
    assert "    # one trial\n    def step(self, x):\n        return _step(self.rate, x)\n" in after
    assert after.count("@") == 1


UNHASHABLE = """
@partial(jax.jit, static_argnums=(1,))
def crop(x, opts):
    "Cuts."
    traced.append(1)
    return {result}


def main():
    return crop(jnp.arange(6.0), {given})
"""


@pytest.mark.jax
@pytest.mark.parametrize(
    ("given", "result", "wanted"),
    [
        ("{'n': 3, 'gain': 2.0}", 'x[: opts["n"]] * opts["gain"]', [0.0, 2.0, 4.0]),
        ("[2, 3]", "x.reshape(opts)[0]", [0.0, 1.0, 2.0]),
        ("{3}", "x[: max(opts)]", [0.0, 1.0, 2.0]),
    ],
)
def test_what_cannot_be_hashed(given: str, result: str, wanted: list[float], tmp_path: Path) -> None:
    text = HEAD + UNHASHABLE.format(given=given, result=result)
    with pytest.raises((ValueError, TypeError)):
        _ran(text)
    change = _planned(text, tmp_path)
    assert isinstance(change, SourceChange), change
    assert _ran(change.files[0].changed) == (wanted, 1)


def test_what_cannot_be_hashed_and_is_not_written_out(tmp_path: Path) -> None:
    text = HEAD + UNHASHABLE.format(given="[len(traced), 3]", result="x[: opts[1]]")
    assert isinstance(_planned(text, tmp_path), Refusal)


NUMBER = """
@jax.jit
def ema(avg, x):
    traced.append(1)
    return 0.5 * avg + x


def main():
    avg = {start}
    for i in range(4):
        avg = ema(avg, {given})
    return avg
"""


@pytest.mark.jax
@pytest.mark.parametrize("start", ["0.0", "-1.5", "0"])
def test_a_first_number_with_its_type(start: str, tmp_path: Path) -> None:
    text = HEAD + NUMBER.format(start=start, given="jnp.float32(i)")
    (tmp_path / "case.py").write_text(text)
    line = text[: text.index("ema(avg, jnp")].count("\n") + 1
    place = Range(Position(line, 19), Position(line, 22))
    change = strong_type.plan(Project(str(tmp_path)), str(tmp_path / "case.py"), place, "float32")
    assert isinstance(change, Hoist), change
    assert change.doubts
    (before, many), (after, one) = _ran(text), _ran(change.files[0].changed)
    assert (before, many, one) == (after, 2, 1)


def test_a_first_number_that_is_not_written_out(tmp_path: Path) -> None:
    text = HEAD + NUMBER.format(start="len(traced)", given="avg")
    (tmp_path / "case.py").write_text(text)
    line = text[: text.index("avg = ema(avg, avg")].count("\n") + 1
    place = Range(Position(line, 19), Position(line, 22))
    assert isinstance(strong_type.plan(Project(str(tmp_path)), str(tmp_path / "case.py"), place, "float32"), Refusal)
