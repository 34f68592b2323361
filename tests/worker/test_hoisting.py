"""A traced program staged again with its constants as arguments computes the same, and holds no constant any more."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import support  # noqa: F401  (puts the worker on the path)

_before = {name: os.environ.get(name) for name in ("JAX_PLATFORMS", "XLA_FLAGS")}
os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=4")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

jax.devices()
for _name, _value in _before.items():  # the workers of other tests get what they would have got
    os.environ.pop(_name) if _value is None else os.environ.__setitem__(_name, _value)

from jaxscope_worker import arrays, hoisting, measuring, walking  # noqa: E402

N = 12
RNG = np.random.default_rng(3)
W = jnp.asarray(RNG.normal(size=(N, N)) / 4, jnp.float32)
V = (RNG.normal(size=(N, N)) / 4).astype(np.float32)
X = np.linspace(-1, 1, N).astype(np.float32)
MIB = 1 << 20


@jax.jit
def nested(x: Any) -> Any:
    """Holds its constant in a jaxpr of its own, wherever it is called."""
    return jnp.sin(x @ W)


@jax.custom_vjp
def scaled(x: Any) -> Any:
    return nested(x) * V[0]


scaled.defvjp(lambda x: (scaled(x), x), lambda x, g: (g * nested(x) + V[1],))


@jax.custom_jvp
def soft(x: Any) -> Any:
    return jnp.log1p(jnp.exp(x)) @ V


@soft.defjvp
def _soft_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return soft(x), (jax.nn.sigmoid(x) * t) @ W


def loss(x: Any) -> Any:
    return jnp.tanh(x @ W + V[0]).sum()


def loops(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        return jnp.tanh(carry @ W + nested(row)), carry.sum()

    carry, sums = jax.lax.scan(step, x, jnp.ones((5, N)), reverse=True, unroll=2)
    _, carry = jax.lax.while_loop(
        lambda c: (c[0] < 9) & (nested(c[1]).sum() < 1e9), lambda c: (c[0] + 1, nested(c[1])), (0, carry)
    )
    return jax.lax.fori_loop(0, 3, lambda i, c: c * jnp.asarray(V)[i], carry), sums


def branches(x: Any) -> Any:
    y = jax.lax.cond(x.sum() > 0, nested, lambda x: x @ V, x)
    return jax.lax.switch((y.sum() > 0).astype(int) + 1, [lambda x: x, nested, lambda x: nested(x) @ V], y)


def keys(x: Any) -> Any:
    key = jax.random.fold_in(KEY, 3)
    return x + jax.random.normal(key, (N,)) + jax.random.uniform(KEYS[1], (N,))


KEY = jax.random.key(5)
KEYS = jax.random.split(KEY, 9)
BF16 = jnp.asarray(V, jnp.bfloat16)
F64 = RNG.normal(size=(N, N))
I64 = np.arange(N * N).reshape(N, N)
BOOL = V > 0
COMPLEX = V + 1j * V.T

CASES: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda x: jnp.tanh(x @ W) @ V,
    "one array twice": lambda x: (x @ W) @ W + W[0],
    "returned as it is": lambda x: (x, W, V),
    "nested jit": lambda x: nested(nested(x) + V[0]),
    "loops": loops,
    "branches": branches,
    "grad": jax.grad(loss),
    "grad of scan": jax.grad(
        lambda x: jax.lax.scan(lambda c, _: (jnp.tanh(nested(c) @ V), None), x, None, 4)[0].sum()
    ),
    "vmap of grad": lambda x: jax.vmap(jax.grad(lambda a, b: loss(a * b) + nested(a).sum()), (None, 0))(x, jnp.eye(N)),
    "hessian": jax.hessian(loss),
    "jvp": lambda x: jax.jvp(loss, (x,), (jnp.ones(N),)),
    "custom_vjp": scaled,
    "custom_vjp differentiated": jax.grad(lambda x: scaled(x).sum()),
    "custom_jvp": soft,
    "custom_jvp differentiated": jax.grad(lambda x: soft(x).sum()),
    "remat": lambda x: jax.checkpoint(lambda x: nested(x) @ W)(x),
    "remat differentiated": jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(nested(x) @ V))(x).sum()),
    "keys": keys,
    "bfloat16": lambda x: x.astype(jnp.bfloat16) @ BF16,
    "float64, truncated": lambda x: x @ F64,
    "int64, truncated": lambda x: x.astype(int) @ I64,
    "bool": lambda x: jnp.where(BOOL, x, -x),
    "complex": lambda x: x @ COMPLEX,
    "numpy result": lambda x: x @ np.full((N, N), 0.5, np.float32),
    "gather": lambda x: jnp.asarray(V)[jnp.argsort(x)],
    "sort and cumsum": lambda x: jnp.cumsum(jnp.sort(W, axis=0), axis=1) @ x,
    "conv": lambda x: jnp.convolve(x, W.ravel()),
    "linear solve": lambda x: jnp.linalg.solve(jnp.asarray(V) + N * jnp.eye(N), x),
    "map": lambda x: jax.lax.map(lambda row: nested(row) + x, jnp.asarray(V)),
    "associative scan": lambda x: jax.lax.associative_scan(jnp.add, jnp.asarray(V) * x),
    "callback": lambda x: jax.pure_callback(lambda a: a * 2, jax.ShapeDtypeStruct((N,), np.float32), x * V[0]),
    "vmap of nested": lambda x: jax.vmap(nested)(jnp.stack([x, x + 1])),
}  # fmt: skip


def held(program: Any) -> list[tuple[int, ...]]:
    """Shapes of the constants over 32 bytes that a program holds anywhere."""
    inner, bound = walking.parts(program)
    found = [np.shape(v) for _, v in bound if np.ndim(v) and arrays.size_of(np.shape(v), v.dtype) > 32]
    return found + [shape for eqn in inner.eqns for _, body in walking.nested(eqn) for shape in held(body)]


def leaves(tree: Any) -> list[np.ndarray]:
    found = jax.tree_util.tree_leaves(tree)
    return [np.asarray(jax.random.key_data(x) if "key<" in str(x.dtype) else x) for x in found]


def check(function: Any, *args: Any) -> hoisting.Staged:
    jitted = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*args)
    assert held(traced.jaxpr)
    staged = hoisting.stage(traced.jaxpr, "f")
    again = staged.trace()
    assert (staged.missed, held(again.jaxpr)) == ((), [])
    assert len(staged.constants) == len({arrays.key_of(c) for c in staged.constants})
    expected = leaves(jitted(*args))
    compiled = again.lower().compile()
    got = leaves(compiled(tuple(map(hoisted_value, staged.constants, staged.constant_avals)), *args))
    assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in expected]
    for a, b in zip(got, expected, strict=False):
        np.testing.assert_allclose(a.astype(complex), b.astype(complex), rtol=2e-3, atol=2e-4)
    return staged


def hoisted_value(constant: Any, aval: Any) -> Any:
    constant = getattr(constant, "val", constant)
    return constant if isinstance(constant, jax.Array) else jnp.asarray(constant).astype(aval.dtype)


@pytest.mark.parametrize("case", CASES)
def test_computes_the_same_without_constants(case: str) -> None:
    check(CASES[case], X)


def test_the_objects_are_the_users_own() -> None:
    staged = check(CASES["matmul"], X)
    assert staged.constants[0] is W
    assert arrays.key_of(staged.constants[1]) == arrays.key_of(V)


def test_equal_arrays_stay_two() -> None:
    twin = W + 0
    assert len(check(lambda x: x @ W + x @ twin, X).constants) == 2


def test_small_constants_and_scalars_stay() -> None:
    small = jnp.arange(8.0)
    traced = jax.jit(lambda x: x @ W + small.sum() + jnp.float32(3) * x).trace(X)
    staged = hoisting.stage(traced.jaxpr, "f")
    assert [c.shape for c in staged.constants] == [(N, N)]


def test_nothing_hoisted_is_the_same_program() -> None:
    traced = jax.jit(CASES["loops"]).trace(X)
    staged = hoisting.stage(traced.jaxpr, "f", hoisting.NOTHING)
    assert staged.constants == ()
    assert sorted(held(staged.trace().jaxpr)) == sorted(held(traced.jaxpr))


def test_a_donated_argument_is_not_donated_again() -> None:
    traced = partial(jax.jit, donate_argnums=0)(lambda x: x @ W).trace(X)
    staged = hoisting.stage(traced.jaxpr, "f")
    x = jnp.asarray(X)
    compiled = staged.trace().lower().compile()
    first, second = compiled((W,), x), compiled((W,), x)
    np.testing.assert_array_equal(first[0], second[0])


def test_sharding_of_a_constant_is_kept() -> None:
    mesh = Mesh(np.array(jax.devices()), ("d",))
    spread = jax.device_put(jnp.ones((16, N)) * 3, NamedSharding(mesh, PartitionSpec("d")))
    traced = jax.jit(lambda x: spread @ x).trace(X)
    staged = hoisting.stage(traced.jaxpr, "f")
    assert staged.constant_avals[0].sharding == spread.sharding
    compiled = staged.trace().lower().compile()
    assert len(compiled.input_shardings[0][0][0].device_set) == 4
    np.testing.assert_allclose(compiled((spread,), X)[0], spread @ X, rtol=1e-5)


def test_shard_map() -> None:
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        from jax.experimental.shard_map import shard_map
    mesh = Mesh(np.array(jax.devices()), ("d",))
    specs = {"mesh": mesh, "in_specs": PartitionSpec("d"), "out_specs": PartitionSpec("d")}
    outside = jnp.asarray(V)

    def body(x: Any) -> Any:
        return jax.lax.psum(x.sum(), "d") * nested(outside)[: x.shape[0], 0] + x

    check(lambda x: shard_map(body, **specs)(x), X)


def test_shardings_of_a_nested_jit_are_kept() -> None:
    mesh = Mesh(np.array(jax.devices()), ("d",))
    spread = NamedSharding(mesh, PartitionSpec("d"))
    inner = jax.jit(lambda x: x @ W, in_shardings=NamedSharding(mesh, PartitionSpec()), out_shardings=spread)
    staged = check(lambda x: inner(x) + 1, X)
    text = staged.trace().lower().as_text()
    assert ("sharding" in text and "devices=[4]" in text) or '{"d"}' in text


def test_names_and_lines_stay() -> None:
    def body(x: Any) -> Any:
        return jnp.tanh(x @ W)  # the line

    lowered = hoisting.stage(jax.jit(body).trace(X).jaxpr, "body").trace().lower()
    text = lowered.compiler_ir().operation.get_asm(enable_debug_info=True)
    text = text.decode() if isinstance(text, bytes) else text
    line = body.__code__.co_firstlineno + 1
    assert "module @jit_body" in text
    assert f'test_hoisting.py":{line}:' in text
    assert "jit(body)/" in text and "tanh" in text


def test_a_large_constant_is_not_copied() -> None:
    large = np.zeros((64, MIB), np.float32)  # 256 MiB
    large[:, 0] = 1
    traced = jax.jit(lambda x: large @ x).trace(jax.ShapeDtypeStruct((MIB,), np.float32))
    with measuring.peak_memory() as peak:
        lowered = hoisting.stage(traced.jaxpr, "f").trace().lower()
        lowered.compile()
    assert peak.bytes is not None and peak.bytes < 64 * MIB


def test_what_cannot_be_hoisted_is_said() -> None:
    """A nested jit's constant inside a linear solve lies in a jaxpr that only the solve may open."""

    def solve(x: Any) -> Any:
        return jax.lax.custom_linear_solve(lambda v: nested(v) * 0 + 2 * v, x, lambda mv, b: b / 2)

    traced = jax.jit(solve).trace(X)
    staged = hoisting.stage(traced.jaxpr, "f")
    if not staged.missed:
        pytest.skip("this JAX hoists the constant out of the solve by itself")
    assert staged.missed == ("custom_linear_solve",)
    assert staged.constants == ()
    np.testing.assert_allclose(staged.trace().lower().compile()((), X)[0], X / 2)
