"""Programs that look like a fault and are none, made by hypothesis: one strategy for each rule."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.config import Config
from jaxscope.rules.base import Context, all_rules, judge
from jaxscope.semantics.project import Project


def warnings_of(rule: str, text: str) -> list[str]:
    """The warnings of one rule about a program."""
    path = str(Path("/nowhere/case.py"))
    project = Project("/nowhere")
    project.set_text(path, text)
    others = {name: "ignore" for name in all_rules() if name != rule}
    model = project.model(path)
    assert model is not None
    found = judge(model, Context(Config(rules=others), project)).findings
    return [finding.message for finding in found if finding.severity == "warning"]


# ---------------------------------------------------------------- stale-capture

HEAD = "import functools\nimport jax\n"
PLACES = {
    "global": (
        "scale = 0\n@jax.jit\ndef f(x):\n    return x * scale\ndef change(v):\n    global scale\n    scale = v\n",
        ("scale = {}", "change({})"),
        "f(1.0)",
    ),
    "enclosing": (
        "scale = 0\ndef body(x):\n    return x * scale\nf = jax.jit(body)\n",
        ("scale = {}",),
        "f(1.0)",
    ),
    "static self": (
        "class C:\n    def __init__(self):\n        self.scale = 0\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n    def f(self, x):\n        return x * self.scale\n"
        "    def change(self, v):\n        self.scale = v\nc = C()\n",
        ("c.scale = {}", "c.change({})"),
        "c.f(1.0)",
    ),
    "bound method": (
        "class C:\n    scale = 0\n    def body(self, x):\n        return x * self.scale\n"
        "c = C()\nf = jax.jit(c.body)\n",
        ("c.scale = {}", "setattr(c, 'scale', {})"),
        "f(1.0)",
    ),
    "entry": (
        "stats = {'scale': 0, 'other': 0}\n@jax.jit\ndef f(x):\n    return x * stats['scale']\n",
        ("stats['scale'] = {}", "stats.update(scale={})"),
        "f(1.0)",
    ),
}
FRESH = {
    "lambda": "f = jax.jit(lambda x: x * scale)\nf(1.0)\n",
    "def": "@jax.jit\ndef f(x):\n    return x * scale\nf(1.0)\nf(2.0)\n",
    "gradient": "f = jax.jit(jax.grad(body))\nf(1.0)\n",
}


@st.composite
def orders(draw: st.DrawFn) -> tuple[str, bool]:
    """A program that changes a value and calls a function that reads it, in any order; and whether a call comes before
    a change and another after it."""
    place = draw(st.sampled_from(sorted(PLACES)))
    head, changes, call = PLACES[place]
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=6))
    lines = []
    for number, is_call in enumerate(kinds, 1):
        line = call if is_call else draw(st.sampled_from(changes)).format(number)
        lines.append(f"if {number}:\n    {line}\n" if draw(st.booleans()) else f"{line}\n")
    text = head + "".join(lines)
    if draw(st.booleans()) and place != "global":
        text = "def main():\n" + indent(text, "    ") + "main()\n"
    shape = "".join("c" if kind else "w" for kind in kinds)
    first, last = shape.find("c"), shape.rfind("c")
    return HEAD + text, "w" in shape[first : last + 1]


@given(orders())
@settings(deadline=None, max_examples=150)
def test_a_value_is_stale_when_it_changes_between_two_calls(program: tuple[str, bool]) -> None:
    text, stale = program
    assert bool(warnings_of("stale-capture", text)) is stale, text


@st.composite
def made_anew(draw: st.DrawFn) -> str:
    """A loop that changes a value and makes the function that reads it anew in each round."""
    making = FRESH[draw(st.sampled_from(sorted(FRESH)))]
    change = draw(st.sampled_from(("scale = scale + 1\n", "scale += 1\n", "scale = float(n)\n")))
    body = change + making if draw(st.booleans()) else making + change
    loop = draw(st.sampled_from(("for n in range(3):\n", "n = 0\nwhile n < 3:\n    n = n + 1\n")))
    program = "scale = 0.0\ndef body(x):\n    return x * scale\n" + loop + indent(body, "    ")
    if draw(st.booleans()):
        program = "def main():\n" + indent(program, "    ") + "main()\n"
    return HEAD + program


@given(made_anew())
@settings(deadline=None, max_examples=60)
def test_a_function_made_anew_sees_the_new_value(text: str) -> None:
    assert not warnings_of("stale-capture", text), text


@given(st.sampled_from(("scale", "y")), st.sampled_from(("x", "scale")), st.booleans())
def test_a_parameter_or_local_is_no_capture(local: str, parameter: str, inner: bool) -> None:
    body = f"    {local} = x * 2\n    return {local}\n" if inner else f"    return x * {parameter}\n"
    text = f"{HEAD}scale = 0.0\n@jax.jit\ndef f(x, scale=1.0):\n{body}f(1.0, scale)\nscale = 2.0\nf(1.0, scale)\n"
    assert not warnings_of("stale-capture", text), text


# ---------------------------------------------------------------- retrace

RETRACE_HEAD = (
    "from functools import cache, partial\nimport jax\nimport jax.numpy as jnp\n"
    "@partial(jax.jit, static_argnames=('mode', 'size'))\ndef f(x, mode='a', size=1):\n    return x\n"
    "def named(x):\n    return x * 2\n"
    "@cache\ndef solver(n):\n    return jax.jit(lambda x: x * n)\n"
    "once = jax.jit(lambda x: x + 1)\nbound = partial(named)\n"
)
RETRACE_QUIET = [
    "x = jax.jit(named)(x)",
    "x = jax.jit(bound)(x)",
    "x = once(x)",
    "x = solver(3)(x)",
    "x = f(x, mode='b', size=size)",
    "x = f(x, size=n % 2)",
    "x = f(data[n])",
    "x = f(data[:size])",
    "x = f(data[n * size : (n + 1) * size])",
    "text = jax.jit(lambda v: v).lower(x)",
    "kept[n] = jax.jit(lambda v: v * 2)",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(RETRACE_QUIET), min_size=1, max_size=4), st.sampled_from(["for n in data", "while go()"])
)
def test_retrace(lines: list[str], loop: str) -> None:
    body = indent("\n".join(lines), "        ")
    text = f"{RETRACE_HEAD}def main(x, data, size, kept, go, n=0):\n    {loop}:\n{body}\n    return x\n"
    assert warnings_of("retrace", text) == []
