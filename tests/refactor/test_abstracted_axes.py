"""`abstracted_axes`, which only some versions of JAX have: examples of it cannot be run everywhere."""

from pathlib import Path

import pytest

from jaxscope.refactor.change import Refusal
from jaxscope.refactor.to_argument.hoist_argument import plan
from jaxscope.semantics.project import Project

PROGRAM = """\
import jax
import jax.numpy as jnp

W = jnp.ones((512, 512))


def f(x, y{parameter}):
    return x @ W + y


g = jax.jit(f, abstracted_axes={axes})
z = g(jnp.ones(512), jnp.ones(512){argument})
"""


@pytest.mark.parametrize(
    ("axes", "after"),
    [
        ("None", "None"),
        ('({0: "n"}, {})', '({0: "n"}, {}, {})'),
        ('({}, ("n",))', '({}, ("n",), {})'),
    ],
)
def test_no_axis_of_the_new_argument_is_abstracted(axes: str, after: str, tmp_path: Path) -> None:
    case = tmp_path / "case.py"
    case.write_text(PROGRAM.format(axes=axes, parameter="", argument=""), encoding="utf-8")
    change = plan(Project(str(tmp_path)), str(case), "f", "W")
    assert not isinstance(change, Refusal)
    assert [file.changed for file in change.files] == [PROGRAM.format(axes=after, parameter=", W", argument=", W")]


@pytest.mark.parametrize("axes", ['{0: "n"}', '("n",)', '({0: "n"},)', "AXES", '({0: "n"}, None)'])
def test_anything_else_is_refused(axes: str, tmp_path: Path) -> None:
    case = tmp_path / "case.py"
    case.write_text(PROGRAM.format(axes=axes, parameter="", argument=""), encoding="utf-8")
    assert isinstance(plan(Project(str(tmp_path)), str(case), "f", "W"), Refusal)
