"""`bound here` points at what gave the array its value, and at nothing where several places can have."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from jaxscope.config import Config
from jaxscope.ide.workspace import Workspace
from jaxscope.semantics.compiled.givers import bound_at

HEAD = """
import jax
import jax.numpy as jnp
import numpy as np


def make(*shape):
    return np.random.default_rng(0).random(shape)


"""
PROGRAMS = {
    "overwritten before the function is defined": """
        W = np.zeros((4, 4))
        W = make(700, 700)  # bound

        @jax.jit
        def f(x):
            return x @ W
        """,
    "bound anew after the function was defined": """
        W = make(700, 700)

        @jax.jit
        def f(x):
            return x @ W

        f(jnp.ones((3, 700)))
        W = make(700, 701)
        """,
    "one of two branches": """
        if len(HEAD):
            W = make(700, 700)
        else:
            W = make(700, 701)

        @jax.jit
        def f(x):
            return x @ W
        """,
    "nothing until it is loaded": """
        W = None

        def load():
            global W
            W = make(700, 700)  # bound

        @jax.jit
        def f(x):
            return x @ W
        """,
    "bound in two functions": """
        def load():
            global W
            W = make(700, 700)

        def reload():
            global W
            W = make(700, 700) + 1

        @jax.jit
        def f(x):
            return x @ W
        """,
    "changed in place": """
        W = make(700, 700)
        W *= 2  # bound

        @jax.jit
        def f(x):
            return x @ W
        """,
    "a parameter that is bound anew": """
        def build(w):
            w = w * 2
            w = jnp.asarray(make(700, 700) + 1)  # bound

            @jax.jit
            def f(x):
                return x @ w
            return f
        """,
    "a variable that changes after the function": """
        def build():
            w = make(700, 700)
            f = jax.jit(lambda x: x @ w)
            f(jnp.ones(700))
            w = make(700, 700) * 2
            return f(jnp.ones(700))
        """,
    "an attribute with one place that fills it": """
        class Net:
            def __init__(self):
                self.w = None

            def load(self):
                self.w = make(700, 700)  # bound

            def call(self, x):
                return x @ self.w

        net = Net()
        f = jax.jit(net.call)
        """,
    "an attribute that two methods fill": """
        class Net:
            def __init__(self):
                self.w = make(700, 700)

            def load(self):
                self.w = make(700, 701)

            def call(self, x):
                return x @ self.w

        net = Net()
        f = jax.jit(net.call)
        """,
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_bound_here(title: str, tmp_path: Path) -> None:
    text = HEAD + textwrap.dedent(PROGRAMS[title])
    path = tmp_path.resolve() / "case.py"
    path.write_text(text)
    workspace = Workspace(str(path.parent), Config())
    (found,) = (one for one in workspace.findings(str(path)) if one.rule == "captured-array")
    marked = [number for number, line in enumerate(text.splitlines(), 1) if "# bound" in line]
    assert [one.line for one in found.related if one.message == "bound here"] == marked
    # What a trace alone saw is placed by the same answer.
    model = workspace.model(str(path))
    function = model and model.function(found.function)
    if model and function and not found.name.startswith("self."):
        bound = bound_at(model, function, found.name)
        assert ([bound.range.start.line] if bound else []) == marked
