"""Captures are found, named and placed inside transforms that are met less often, on every JAX."""

from __future__ import annotations

import pytest
from jaxscope_worker.wire.messages import TraceReply

from support import line_of, trace

PROGRAM = """
    from functools import partial

    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import checkify, pallas as pl
    from jax.experimental.pjit import pjit
    from jax.sharding import Mesh, PartitionSpec as P

    if hasattr(jax, "shard_map"):
        shard_map = jax.shard_map
    else:
        from jax.experimental.shard_map import shard_map

    W = jnp.asarray(np.random.default_rng(0).random((64, 64), dtype=np.float32))
    V = np.random.default_rng(1).random((65, 64), dtype=np.float32)
    mesh = Mesh(np.array(jax.devices()), ("data",))


    @jax.jit
    @partial(shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    def sharded(x):
        return x @ W  # sharded


    @jax.jit
    @partial(shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
    def sharded_argument(x, w):
        return x @ w


    @partial(jax.pmap, axis_name="batch")
    def parallel(x):
        return jax.lax.pmean(x @ W, "batch")  # parallel


    @pjit
    def partitioned(x):
        return x @ W  # partitioned


    @jax.jit
    def linearized(x):
        return jax.linearize(lambda x: jnp.sin(x @ W), x)[1](x)  # linearized


    @jax.jit
    def pulled_back(x):
        return jax.vjp(lambda x: jnp.sin(x @ W), x)[1](x)  # pulled_back


    def loss(w):
        return jnp.mean((V @ w) ** 3)  # curvature


    curvature = jax.jit(jax.hessian(loss))


    @jax.jit
    def mapped(xs):
        return jax.lax.map(lambda x: W @ x, xs)  # mapped


    @jax.jit
    def combined(xs):
        return jax.lax.associative_scan(lambda a, b: a + b * W[0], xs)  # combined


    @jax.jit
    def rooted(x):
        return jax.lax.custom_root(lambda y: W @ y - x, x, lambda f, y: y - f(y), lambda g, y: y)  # rooted


    @jax.jit
    @jax.named_call
    def named(x):
        return x @ W  # named


    def checked(x):
        checkify.check(x.sum() > 0, "negative")
        return x @ W  # checked


    run_checked = jax.jit(checkify.checkify(checked))


    def add_kernel(x_ref, y_ref, out_ref):
        out_ref[...] = x_ref[...] + y_ref[...]  # kernel


    @jax.jit
    def kernel(x):
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(add_kernel, out_shape=out, interpret=True)(x, W)


    def wrapping_jit(function):
        compiled = jax.jit(function)

        def wrapper(*args):
            return compiled(*args)

        return wrapper


    @wrapping_jit
    def wrapped(x):
        return x @ W  # wrapped


    @jax.jit
    def exported(x):
        return x @ W  # exported


    def main():
        x, many = jnp.ones(64), jnp.ones((4, 64))
        sharded(many), sharded_argument(many, W)
        parallel(jnp.ones((jax.local_device_count(), 2, 64)))
        partitioned(many), linearized(x), pulled_back(x), curvature(x), mapped(many), combined(many), rooted(x)
        named(x), run_checked(x), kernel(jnp.ones((64, 64))), wrapped(x)
        try:
            from jax import export
        except ImportError:  # 0.4.30 wants absl for it
            exported(many)
        else:
            export.export(exported)(jax.ShapeDtypeStruct((2, 64), jnp.float32))
"""

CAPTURING = {
    **dict.fromkeys(
        ("sharded", "parallel", "partitioned", "linearized", "pulled_back", "mapped", "combined", "rooted"), "W"
    ),
    **dict.fromkeys(("named", "checked", "kernel", "wrapped", "exported"), "W"),
    "loss": "V",
}
MARKS = {"loss": "# curvature"}


@pytest.fixture(scope="module", params=[1, 4], ids=["one device", "four devices"])
def reply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TraceReply:
    folder = tmp_path_factory.mktemp("less_usual")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", f"--xla_force_host_platform_device_count={request.param}")
        found = trace(folder, {"program.py": PROGRAM}, entries=("main",), min_bytes=1024)
    assert found.failure is None, found.failure
    return found


@pytest.mark.parametrize(("function", "name"), CAPTURING.items())
def test_captured(reply: TraceReply, function: str, name: str) -> None:
    traced = [f for f in reply.functions if f.function == function]
    held = {(c.name, c.shape) for f in traced for c in f.constants}
    assert held == {(name, (65 if name == "V" else 64, 64))}, [f.function for f in reply.functions]
    line = line_of(PROGRAM, MARKS.get(function, f"# {function}"))
    lines = {place.line for f in traced for c in f.constants for read in c.reads for place in read.frames[:1]}
    assert line in lines


def test_arguments_are_no_constants(reply: TraceReply) -> None:
    assert not [c for f in reply.functions if f.function == "sharded_argument" for c in f.constants]
    passed = [f for f in reply.functions if f.function == "sharded_argument"]
    assert [p.name for p in passed[0].parameters] == ["x", "w"]
