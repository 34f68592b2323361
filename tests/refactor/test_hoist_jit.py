"""Compiling once before a loop: the program does the same and traces less."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.refactor import hoist_jit
from jaxscope.refactor.change import Refusal
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.retraces import retraces_of
from jaxscope.text.edit import SourceChange

HEAD = """from functools import partial

import jax
import jax.numpy as jnp

traced = []


def scaled(k, x):
    traced.append(k)
    return x * k


def run(k, xs):
    total = 0.0
    for x in xs:
        {line}
    return total
"""
GOOD = [
    "total = total + jax.jit(lambda v: scaled(2.0, v))(x)",
    "total = total + jax.jit(lambda v: scaled(k, v))(x)",
    "total = total + jax.jit(partial(scaled, k))(x)",
    "total = total + jax.jit(jax.vmap(partial(scaled, k)))(x)",
    "f = jax.jit(partial(scaled, k)); total = total + f(x)",
]
BAD = [
    "total = total + jax.jit(lambda v: scaled(total, v))(x)",
    "total = total + jax.jit(partial(scaled, x))(x)",
    "total = total + jax.jit(lambda v, k=x: scaled(k, v))(x)",
    "k = k + 1; total = total + jax.jit(partial(scaled, k))(x)",
    "total = total + jax.jit(partial(scaled, float(open('n').read())))(x)",
]


def _planned(text: str, folder: Path) -> SourceChange | Refusal:
    path = folder / "case.py"
    path.write_text(text)
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    (one,) = retraces_of(model)[0]
    return hoist_jit.plan(project, str(path), model.module.range(one.scope.chunk, one.node))


def _ran(text: str) -> tuple[list[float], int]:
    space: dict[str, object] = {}
    exec(compile(text, "case.py", "exec"), space)
    jnp = space["jnp"]
    xs = [jnp.ones(3) * n for n in range(4)]  # type: ignore[attr-defined]
    return space["run"](3.0, xs).tolist(), len(space["traced"])  # type: ignore[operator, arg-type]


@pytest.mark.parametrize("line", GOOD)
def test_same_result_with_one_trace(line: str, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    text = HEAD.format(line=line)
    change = _planned(text, tmp_path)
    assert isinstance(change, SourceChange), change
    before, after = _ran(text), _ran(change.files[0].changed)
    assert before[0] == after[0]
    assert (before[1], after[1]) == (4, 1)


@pytest.mark.parametrize("line", BAD)
def test_refused_where_it_takes_something_from_the_loop(line: str, tmp_path: Path) -> None:
    assert isinstance(_planned(HEAD.format(line=line), tmp_path), Refusal)
