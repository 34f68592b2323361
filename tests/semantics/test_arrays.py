"""Shapes and dtypes of array expressions, against what NumPy and JAX really make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.semantics.evaluation.values import Array, Scalar, Value
from jaxscope.semantics.project import Project

HEAD = """import functools
import math
import jax
import jax.numpy as jnp
import numpy as np
N = 6
rng = np.random.default_rng(0)
key = jax.random.key(0)
a = jnp.zeros((3, 4))
b = np.ones((4, 5), dtype=np.float32)
i = jnp.arange(12)
d = np.zeros((2, 3))
"""
# Expression, shape, dtype. None where the source does not tell.
EXPRESSIONS: list[tuple[str, tuple[int, ...] | None, str | None]] = [
    ("jnp.zeros(N)", (6,), "float32"),
    ("np.zeros((N, 2))", (6, 2), "float64"),
    ("jnp.ones((2, 3), jnp.bfloat16)", (2, 3), "bfloat16"),
    ("np.full((2, 3), 1)", (2, 3), "int64"),
    ("jnp.full(4, 1.5)", (4,), "float32"),
    ("jnp.eye(3, 4)", (3, 4), "float32"),
    ("jnp.identity(5)", (5, 5), "float32"),
    ("np.arange(2, 11, 3)", (3,), "int64"),
    ("jnp.arange(0.0, 1.0, 0.25)", (4,), "float32"),
    ("jnp.arange(N // 2, dtype=jnp.uint8)", (3,), "uint8"),
    ("jnp.linspace(0, 1, 7)", (7,), "float32"),
    ("np.array([[1, 2], [3, 4], [5, 6]])", (3, 2), "int64"),
    ("jnp.array([1.0, 2])", (2,), "float32"),
    ("jnp.asarray(d)", (2, 3), "float32"),
    ("np.asarray(d, dtype='f4')", (2, 3), "float32"),
    ("jnp.asarray(rng.normal(size=(8, 9)).astype(np.float32) * 0.5)", (8, 9), "float32"),
    ("rng.random((2, 2), dtype=np.float32) / 3", (2, 2), "float32"),
    ("rng.integers(0, 10, size=(3,))", (3,), "int64"),
    ("rng.standard_normal((3, 2))", (3, 2), "float64"),
    ("np.random.randn(3, 4)", (3, 4), "float64"),
    ("np.random.uniform(0, 1, (2, 5))", (2, 5), "float64"),
    ("jax.random.normal(key, (3, 5))", (3, 5), "float32"),
    ("jax.random.uniform(key, shape=(2,), dtype=jnp.bfloat16)", (2,), "bfloat16"),
    ("jax.random.randint(key, (4,), 0, 9)", (4,), "int32"),
    ("jax.random.bernoulli(key, 0.5, (7,))", (7,), "bool"),
    ("2 * np.pi * np.arange(N)", (6,), "float64"),
    ("np.sin(np.pi * np.arange(N, dtype=np.float32) / 7)", (6,), "float32"),
    ("np.exp(2j * math.pi * np.arange(N))", (6,), "complex128"),
    ("np.where(np.arange(N) > 3, -np.inf, 0.0)", (6,), "float64"),
    ("jnp.full((2, 3), -jnp.inf)", (2, 3), "float32"),
    ("d[:, np.newaxis] * d[jnp.newaxis, :, 0, None].sum()", (2, 1, 3), "float64"),
    ("a.T", (4, 3), "float32"),
    ("a @ b", (3, 5), "float32"),
    ("a[0]", (4,), "float32"),
    ("a[:, None, 1:3]", (3, 1, 2), "float32"),
    ("a[..., ::2]", (3, 2), "float32"),
    ("a[i % 3]", (12, 4), "float32"),
    ("a.reshape(2, -1)", (2, 6), "float32"),
    ("a.reshape((12,))", (12,), "float32"),
    ("a.ravel()", (12,), "float32"),
    ("a.astype(jnp.int8)", (3, 4), "int8"),
    ("a.sum(axis=0)", (4,), "float32"),
    ("a.mean(axis=-1, keepdims=True)", (3, 1), "float32"),
    ("i.mean()", (), "float32"),
    ("jnp.max(a, axis=(0, 1))", (), "float32"),
    ("a.at[0].set(1.0)", (3, 4), "float32"),
    ("a > 0", (3, 4), "bool"),
    ("i * 2", (12,), "int32"),
    ("i / 2", (12,), "float32"),
    ("np.arange(4) / 2", (4,), "float64"),
    ("np.arange(4) * 1.5", (4,), "float64"),
    ("b * 2.0", (4, 5), "float32"),
    ("d * b[0, 0]", (2, 3), "float64"),
    ("-a", (3, 4), "float32"),
    ("a + jnp.ones((5, 1, 1))", (5, 3, 4), "float32"),
    ("jnp.where(a > 0, a, 0.0)", (3, 4), "float32"),
    ("np.where(np.arange(5) % 2, 1.0, -1.0)", (5,), "float64"),
    ("jnp.stack([a, a], axis=1)", (3, 2, 4), "float32"),
    ("jnp.concatenate([a, a, a])", (9, 4), "float32"),
    ("np.concatenate([b, b], axis=1)", (4, 10), "float32"),
    ("np.vstack([d, d])", (4, 3), "float64"),
    ("np.stack([np.roll(np.arange(8, dtype=np.int32), k) for k in range(40)])", (40, 8), "int32"),
    ("np.repeat(np.arange(3), 2)", (6,), "int64"),
    ("np.repeat(d, 2, axis=1)", (2, 6), "float64"),
    ("jnp.tile(a, (2, 1))", (6, 4), "float32"),
    ("jnp.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1))", (4, 2, 3), "float32"),
    ("jnp.swapaxes(a, 0, 1)", (4, 3), "float32"),
    ("jnp.expand_dims(a, 1)", (3, 1, 4), "float32"),
    ("jnp.squeeze(jnp.zeros((1, 3, 1)))", (3,), "float32"),
    ("jnp.broadcast_to(a, (2, 3, 4))", (2, 3, 4), "float32"),
    ("jnp.outer(jnp.arange(3.0), jnp.arange(4.0))", (3, 4), "float32"),
    ("jnp.einsum('ij,jk->ki', a, b)", (5, 3), "float32"),
    ("jnp.diag(jnp.ones(3))", (3, 3), "float32"),
    ("np.meshgrid(np.arange(3), np.arange(4))[0]", (4, 3), "int64"),
    ("jnp.sin(i)", (12,), "float32"),
    ("np.sqrt(d)", (2, 3), "float64"),
    ("jnp.abs(a)", (3, 4), "float32"),
    ("jnp.zeros_like(i, dtype=float)", (12,), "float32"),
    ("jax.nn.one_hot(i, 10)", (12, 10), "float32"),
    ("jax.nn.relu(a)", (3, 4), "float32"),
    ("jax.device_put(d)", (2, 3), "float32"),
    ("jax.tree.map(jnp.asarray, {'x': d})['x']", (2, 3), "float32"),
    ("np.float32(3)", (), "float32"),
    ("jnp.zeros(a.shape[::-1])", (4, 3), "float32"),
    ("jnp.zeros((math.prod(a.shape), len(d)))", (12, 2), "float32"),
    ("jnp.zeros(tuple(s * 2 for s in (3, 4)))", None, "float32"),
    ("(a if N > 3 else jnp.zeros((3, 5)))", None, "float32"),
]


def bound(folder: Path, expression: str) -> Value:
    path = folder / "case.py"
    path.write_text(f"{HEAD}result = {expression}\n")
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    return project.evaluator.lookup("result", model.top, model.module_frame)


def evaluated(folder: Path, expression: str) -> Array:
    value = bound(folder, expression)
    assert isinstance(value, Array), value
    return value


@pytest.mark.parametrize(("expression", "shape", "dtype"), EXPRESSIONS)
def test_expression(tmp_path: Path, expression: str, shape: tuple[int, ...] | None, dtype: str | None) -> None:
    value = evaluated(tmp_path, expression)
    known = value.shape is not None and None not in value.shape
    assert (value.shape if known else None, value.dtype) == (shape, dtype)


@pytest.mark.jax
def test_expectations_are_what_jax_says() -> None:
    pytest.importorskip("jax")
    names: dict[str, object] = {}
    exec(HEAD, names)
    for expression, shape, dtype in EXPRESSIONS:
        value = eval(expression, names)
        assert shape in (value.shape, None), expression
        assert dtype in (str(value.dtype), None), expression


UNKNOWN = ["jnp.load('x.npy')", "np.asarray(unknown)", "rng.random(unknown)", "jnp.zeros(unknown)", "a[a > 0]"]


@pytest.mark.parametrize("expression", UNKNOWN)
def test_what_is_not_known_is_not_guessed(tmp_path: Path, expression: str) -> None:
    value = evaluated(tmp_path, expression)
    assert value.shape is None or None in value.shape


# Expression and Python type; a number of Python's own takes the dtype of the array that it meets.
NUMBERS = [
    ("np.random.normal()", float),
    ("np.random.normal(0.0, scale=N)", float),
    ("np.random.uniform(-1, 1)", float),
    ("np.random.rand()", float),
    ("np.random.randint(3, 9)", int),
    ("np.random.randint(9, dtype=int)", int),
    ("np.random.binomial(5, 0.5, size=None)", int),
    ("np.random.RandomState(0).poisson()", int),
    ("np.random.choice(N)", int),
    ("rng.random()", float),
    ("rng.standard_normal(dtype=np.float32)", float),
    ("rng.gamma(shape=2.0)", float),
    ("rng.geometric(0.5)", int),
    ("rng.choice(5)", int),
]
# The same for what NumPy gives as its own: an array, of any shape, or a scalar with a dtype.
OF_NUMPY: list[tuple[str, tuple[int, ...] | None, str | None]] = [
    ("rng.integers(9)", (), "int64"),
    ("rng.integers(9, dtype=np.int32)", (), "int32"),
    ("np.random.randint(9, dtype=np.uint8)", (), "uint8"),
    ("rng.normal(size=())", (), "float64"),
    ("rng.normal(d)", None, "float64"),
    ("np.random.normal([0.0, 1.0])", None, "float64"),
    ("rng.random(out=np.zeros(3))", None, "float64"),
    ("np.random.choice([1.0, 2.0])", (), "float64"),
    ("np.random.choice([1.0, 2.0], 3)", (3,), "float64"),
]


@pytest.mark.parametrize(("expression", "kind"), NUMBERS, ids=[one[0] for one in NUMBERS])
def test_one_random_number_is_of_pythons_own_types(tmp_path: Path, expression: str, kind: type) -> None:
    assert bound(tmp_path, expression) == Scalar(kind.__name__)


@pytest.mark.parametrize(("expression", "shape", "dtype"), OF_NUMPY, ids=[one[0] for one in OF_NUMPY])
def test_what_numpy_draws_as_its_own(
    tmp_path: Path, expression: str, shape: tuple[int, ...] | None, dtype: str | None
) -> None:
    value = evaluated(tmp_path, expression)
    assert (value.shape, value.dtype) == (shape, dtype)


@pytest.mark.parametrize("drawn", ["rng.normal(unknown)", "np.random.randint(unknown)", "rng.choice(unknown)"])
def test_a_number_or_an_array(tmp_path: Path, drawn: str) -> None:
    assert not isinstance(bound(tmp_path, drawn), (Array, Scalar))


@pytest.mark.jax
def test_numpy_draws_as_expected() -> None:
    pytest.importorskip("numpy")
    names: dict[str, object] = {}
    exec("import numpy as np\nN = 6\nrng = np.random.default_rng(0)\nd = np.zeros((2, 3))", names)
    for expression, kind in NUMBERS:
        assert type(eval(expression, names)) is kind, expression
    for expression, shape, dtype in OF_NUMPY:
        value = eval(expression, names)
        assert (shape in (value.shape, None), str(value.dtype)) == (True, dtype), expression
