"""Code that is nested deeper, or calls itself longer, than Python's own stack reaches: nothing fails, and what stands
beside it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.config import Config
from jaxscope.rules.base import Context, judge
from jaxscope.semantics.project import Project

BESIDE = """
import jax
import jax.numpy as jnp

W = jnp.zeros((1024, 1024))

@jax.jit
def plain(x):
    return x @ W
"""
DEEP = 1500


def _calls(count: int) -> str:
    functions = "".join(f"def f{n}(x):\n    return f{n + 1}(x) + 1\n" for n in range(count))
    return f"{functions}def f{count}(x):\n    return x\n\nrun = jax.jit(f0)\nY = f0(W)\n"


def _methods(count: int) -> str:
    attributes = "".join(f"        self.a{n + 1} = self.a{n}\n" for n in range(count))
    return (
        f"class Model:\n    def __init__(self):\n        self.a0 = W\n{attributes}\n"
        f"    def __call__(self, x):\n        return x + self.a{count}\n\nrun = jax.jit(Model())\n"
    )


PROGRAMS = {
    "sum": f"@jax.jit\ndef deep(x):\n    return {' + '.join(['x'] * DEEP)}\n",
    "chain of methods": f"deep = W{'.copy()' * DEEP}\n",
    "nested calls": f"deep = {'abs(' * 150}1{')' * 150}\n",
    "elif": "def deep(x):\n    if x == 0:\n        return 0\n"
    + "".join(f"    elif x == {n}:\n        return {n}\n" for n in range(DEEP))
    + "run = jax.jit(deep)\n",
    "functions that call each other": _calls(400),
    "attributes of each other": _methods(400),
    "assignments": "x0 = 1\n" + "".join(f"x{n + 1} = x{n} + 1\n" for n in range(DEEP)) + f"run = jax.jit(x{DEEP})\n",
    "aliases": "g0 = jax.jit\n" + "".join(f"g{n + 1} = g{n}\n" for n in range(DEEP)) + f"run = g{DEEP}(lambda x: x)\n",
    "recursion": "@jax.jit\ndef deep(x, n=3):\n    return deep(deep(x, n - 1), n - 2) if n else x\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("fixed", [False, True], ids=["edited", "fixed"])
def test_depth_is_no_fault(tmp_path: Path, name: str, fixed: bool) -> None:
    path = tmp_path / "deep.py"
    path.write_text(BESIDE + PROGRAMS[name])
    project = Project(str(tmp_path))
    project.fixed = fixed
    model = project.model(str(path))
    assert model is not None
    assert ("W", "plain") in [
        (found.name, found.function) for found in judge(model, Context(Config(), project)).findings
    ]
