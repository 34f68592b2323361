"""The arrays of the libraries' layers against the layers themselves: each array at its place, of that size and type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jaxscope.semantics.evaluation.values import Array, Tree
from jaxscope.semantics.project import Project

_EQUINOX = """
eqx.nn.Linear(7, 5, key=key)
eqx.nn.Linear(7, 5, use_bias=False, key=key)
eqx.nn.Linear(in_features=7, out_features=5, dtype=jnp.float16, key=key)
eqx.nn.MLP(3, 4, 8, 0, key=key)
eqx.nn.MLP(in_size=3, out_size=4, width_size=8, depth=3, key=key)
eqx.nn.MLP(3, 4, 8, 2, activation=jax.nn.relu, use_bias=False, key=key)
eqx.nn.MLP(3, 4, 8, 2, use_final_bias=False, key=key)
eqx.nn.Conv1d(4, 6, 3, key=key)
eqx.nn.Conv2d(4, 6, 3, key=key)
eqx.nn.Conv2d(4, 6, kernel_size=(3, 5), groups=2, use_bias=False, key=key)
eqx.nn.Conv3d(4, 6, 3, 2, key=key)
eqx.nn.Conv(2, 4, 6, 3, key=key)
eqx.nn.ConvTranspose2d(4, 6, 3, key=key)
eqx.nn.ConvTranspose1d(4, 6, 3, groups=2, key=key)
eqx.nn.Embedding(11, 6, key=key)
eqx.nn.GRUCell(5, 6, key=key)
eqx.nn.GRUCell(5, 6, use_bias=False, key=key)
eqx.nn.LSTMCell(input_size=5, hidden_size=6, key=key)
eqx.nn.LayerNorm(7)
eqx.nn.LayerNorm((3, 7), use_bias=False)
eqx.nn.Sequential([eqx.nn.Linear(7, 5, key=key), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Linear(5, 2, key=key)])
"""
_NNX = """
nnx.Linear(7, 5, rngs=rngs)
nnx.Linear(7, 5, use_bias=False, param_dtype=jnp.bfloat16, rngs=rngs)
nnx.Conv(4, 6, 3, rngs=rngs)
nnx.Conv(4, 6, kernel_size=(3, 5), feature_group_count=2, rngs=rngs)
nnx.Conv(in_features=4, out_features=6, kernel_size=(3, 3), use_bias=False, rngs=rngs)
nnx.ConvTranspose(4, 6, kernel_size=(3, 5), rngs=rngs)
nnx.Embed(11, 6, rngs=rngs)
nnx.LayerNorm(7, rngs=rngs)
nnx.LayerNorm(num_features=7, use_bias=False, rngs=rngs)
nnx.RMSNorm(7, rngs=rngs)
nnx.GroupNorm(32, rngs=rngs)
nnx.BatchNorm(7, rngs=rngs)
nnx.MultiHeadAttention(4, 8, 16, rngs=rngs, decode=False)
nnx.MultiHeadAttention(num_heads=4, in_features=8, use_bias=False, rngs=rngs, decode=False)
nnx.Sequential(nnx.Linear(7, 5, rngs=rngs), jax.nn.relu, nnx.Linear(5, 2, rngs=rngs))
nnx.List([nnx.Linear(7, 5, rngs=rngs), nnx.Linear(5, 2, rngs=rngs)])
"""
_START = """\
import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx

key, rngs = jax.random.PRNGKey(0), nnx.Rngs(0)
"""
_PLAIN = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\nkey = jax.random.PRNGKey(0)\n"
EQUINOX, NNX = _EQUINOX.strip().splitlines(), _NNX.strip().splitlines()


def _told(folder: Path, text: str) -> dict[str, tuple[tuple[int | None, ...] | None, str | None]]:
    path = folder / "case.py"
    path.write_text(text)
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    value = project.evaluator.lookup("layer", model.top, model.module_frame)
    assert isinstance(value, Tree)
    return {path: (array.shape, array.dtype) for path, array in value.arrays if isinstance(array, Array)}


@pytest.mark.jax
@pytest.mark.parametrize("expression", EQUINOX)
def test_layers_of_equinox(expression: str, tmp_path: Path) -> None:
    jax, eqx = pytest.importorskip("jax"), pytest.importorskip("equinox")
    text = f"{_PLAIN}layer = {expression}\n"
    names: dict[str, Any] = {}
    exec(text, names)
    real = jax.tree_util.tree_flatten_with_path(eqx.filter(names["layer"], eqx.is_array))[0]
    assert _told(tmp_path, text) == {jax.tree_util.keystr(path): (leaf.shape, str(leaf.dtype)) for path, leaf in real}


@pytest.mark.jax
@pytest.mark.parametrize("expression", NNX)
def test_layers_of_flax(expression: str, tmp_path: Path) -> None:
    nnx = pytest.importorskip("flax.nnx")
    text = f"{_START}layer = {expression}\n"
    names: dict[str, Any] = {}
    exec(text, names)
    real = nnx.to_flat_state(nnx.state(names["layer"], nnx.Not(nnx.RngState)))
    assert _told(tmp_path, text) == {_written(path): (leaf[...].shape, str(leaf[...].dtype)) for path, leaf in real}


def _written(path: tuple[object, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@pytest.mark.parametrize(
    "expression",
    [
        "eqx.nn.Linear(*sizes(), key=key)",
        "eqx.nn.MLP(3, 4, 8, int(input()), key=key)",
        "eqx.nn.MultiheadAttention(4, 8, key=key)",
        "eqx.nn.Embedding(weight=jnp.ones((3, 4)))",
    ],
)
def test_sizes_that_are_not_told(expression: str, tmp_path: Path) -> None:
    assert _told(tmp_path, f"{_PLAIN}layer = {expression}\n") == {"": (None, None)}
