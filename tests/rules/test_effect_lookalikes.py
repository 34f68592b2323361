"""Programs that look as if traced code reached outside, and does not: no warning, whatever they are made of."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxscope.config import Config
from jaxscope.rules.base import Context, all_rules
from jaxscope.semantics.project import Project

RULES = ("side-effect", "tracer-leak", "mutable-capture")
NAMES = st.sampled_from(["log", "cache", "state", "seen"])
MADE = {"[]": "append({})", "{}": "setdefault('a', {})", "set()": "add({})", "dict(a=0)": "update(b={})"}
VALUES = st.sampled_from(["x", "x * 2", "jnp.sin(x)", "x.shape", "[x, x]", "len(x.shape)"])
USES = (
    # what the traced code does, where `name` is its own
    "{name} = {made}\n    {name}.{fill}",
    "{name} = {made}\n    other = {name}\n    other.{fill}",
    "def inner({name}):\n        {name}.{fill}\n        return {name}\n    inner({made})",
    "helper({made}, x)",
    "jax.debug.callback(lambda v: {name}.append(v), x)",
    "jax.debug.print('{{}}', x)",
    "holder = Holder()\n    holder.value = {value}\n    holder.items.append({value})",
    "if DEBUG:\n        print(x)",
    "def body(carry, y):\n        {name} = [carry]\n        {name}.append(y)\n        return y, carry\n"
    "    jax.lax.scan(body, x, jnp.ones(3))",
)
PROGRAM = """
import jax
import jax.numpy as jnp

DEBUG = False
{name} = {made}
{before}


class Holder:
    def __init__(self):
        self.items = []
        self.value = None


def helper(target, x):
    target.{fill}
    return target


def eager(x):
    {name}.{fill}
    print(x, {name})


@jax.jit
def f({parameters}):
    {uses}
    return x


def main():
    x = jnp.ones(3)
    {calls}
    eager(x)
    return {name}
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    name, made, value = draw(NAMES), draw(st.sampled_from(sorted(MADE))), draw(VALUES)
    shadowed = draw(st.booleans())
    uses = draw(st.lists(st.sampled_from(USES), min_size=1, max_size=3))
    if shadowed:
        uses.append("{name}.{fill}")
    parts = {"name": name, "made": made, "value": value, "fill": MADE[made].format(value)}
    filled = {**parts, "fill": MADE[made].format("1")}
    return PROGRAM.format(
        **parts,
        before=draw(st.sampled_from(["", "{name}.{fill}"])).format(**filled),
        parameters=f"x, {name}" if shadowed else "x",
        uses="\n    ".join(use.format(**parts) for use in uses),
        calls=f"x = f(x, {made})" if shadowed else "x = f(x)",
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_what_stays_inside_is_no_effect(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "case.py"
        path.write_text(program)
        project = Project(str(path.parent))
        model = project.model(str(path))
        assert model is not None and not model.module.problems and len(model.sites) == 1
        for rule in RULES:
            found = all_rules()[rule].static(model, Context(Config(), project))
            loud = [(item.range.start.line, item.message) for item in found if item.severity != "hint"]
            assert not loud, f"{loud}\n{program}"
