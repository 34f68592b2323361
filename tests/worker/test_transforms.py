"""Captures are found and named inside every transform, and where JAX reuses an earlier trace."""

from __future__ import annotations

import pytest
from jaxscope_worker.wire.messages import TraceReply

from support import line_of, one, trace

PROGRAM = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    W = jnp.asarray(np.random.default_rng(0).random((64, 64), dtype=np.float32))
    N = np.random.default_rng(1).random((64, 64))


    @jax.custom_vjp
    def custom(x):
        return x @ W


    custom.defvjp(lambda x: (custom(x), x), lambda _, g: (g @ W.T,))


    @jax.jit
    def custom_gradient(x):
        return jax.grad(lambda x: custom(x).sum())(x)


    @jax.custom_jvp
    def custom_forward(x):
        return jnp.sin(x @ W)


    @custom_forward.defjvp
    def custom_forward_rule(primals, tangents):
        return custom_forward(*primals), tangents[0] @ W


    @jax.jit
    def custom_jvp(x):
        return custom_forward(x)


    @jax.jit
    @jax.checkpoint
    def rematerialized(x):
        return jnp.sin(x @ W)


    parallel = jax.pmap(lambda rows: rows @ W)  # parallel


    @jax.jit
    def inner(x):
        return x @ W


    EARLIER = inner(jnp.ones((2, 64)))


    @jax.jit
    def reuses(x):
        return inner(x) * 2


    @jax.jit
    def reuses_in_loop(x):
        return jax.lax.scan(lambda carry, _: (inner(carry), None), x, None, length=3)[0]


    @jax.jit
    def scanned_over(x):
        return jax.lax.scan(lambda carry, row: (carry + row, None), x, W)[0]


    @jax.jit
    def returned(x):
        return x, W


    @jax.jit
    def looped(x):
        return jax.lax.while_loop(lambda c: (c @ W).sum() < 0, lambda c: c + 1, x)


    @jax.jit
    def switched(i, x):
        return jax.lax.switch(i, [lambda x: x, lambda x: x @ W, lambda x: -x], x)


    @jax.jit
    def view_in_comprehension(x):
        return [x @ part for part in (N[:, ::2],)]


    CACHE = {}


    @jax.jit
    def cached(x):
        if "table" not in CACHE:
            CACHE["table"] = np.sin(np.arange(4096.0).reshape(64, 64)).astype(np.float32)
        return x @ CACHE["table"]


    @jax.jit
    def two_on_a_line(x):
        first, second = np.ones((64, 64), np.float32), np.full((64, 64), 2, np.float32)  # two
        return x @ first @ second


    @jax.jit
    def same_name(x):
        w = W  # hides nothing
        return x @ w


    class Slotted:
        __slots__ = ("kernel",)

        def __init__(self, kernel):
            self.kernel = kernel


    SLOTTED = Slotted(W + 1)


    @jax.jit
    def slotted(x):
        return x @ SLOTTED.kernel


    def main():
        x = jnp.ones((2, 64))
        for function in (
            custom_gradient, custom_jvp, rematerialized, reuses, reuses_in_loop, returned,
            view_in_comprehension, cached, two_on_a_line, same_name, slotted,
        ):
            function(x)
        parallel(x[None])
        scanned_over(x[0])
        looped(x[0])
        switched(1, x)
        jax.jit(jax.vmap(jax.grad(lambda v: (v @ W).sum())))(x)  # composed
"""


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> TraceReply:
    reply = trace(tmp_path_factory.mktemp("transforms"), {"program.py": PROGRAM}, entries=("main",))
    assert reply.failure is None, reply.failure
    return reply


@pytest.mark.parametrize(
    ("function", "owner"),
    [
        ("custom_gradient", "custom"),
        ("custom_jvp", "custom_forward"),
        ("rematerialized", "rematerialized"),
        ("<lambda>", "<lambda>"),
        ("inner", "inner"),
        ("reuses", "inner"),
        ("reuses_in_loop", "inner"),
        ("scanned_over", "scanned_over"),
        ("returned", "returned"),
        ("looped", "looped.<locals>.<lambda>"),
        ("switched", "switched.<locals>.<lambda>"),
        ("same_name", "same_name"),
        ("main.<locals>.<lambda>", "main.<locals>.<lambda>"),
    ],
)
def test_the_captured_global_is_found(reply: TraceReply, function: str, owner: str) -> None:
    names = {(c.name, c.holder, c.owner, c.shape) for c in one(reply, function).constants}
    assert names == {("W", "global", owner, (64, 64))}


def test_pmap_has_its_parameter_and_line(reply: TraceReply) -> None:
    found = one(reply, "<lambda>")
    assert [(p.name, p.type) for p in found.parameters] == [("rows", "f32[1,2,64]")]
    assert found.line == line_of(PROGRAM, "# parallel")


def test_reused_traces_lead_out_to_their_new_caller(reply: TraceReply) -> None:
    (read,) = one(reply, "reuses").constants[0].reads
    assert [place.function for place in read.frames] == ["inner", "reuses"]
    (read,) = one(reply, "reuses_in_loop").constants[0].reads
    assert [place.function for place in read.frames] == ["inner", "reuses_in_loop.<locals>.<lambda>", "reuses_in_loop"]


def test_output_counts_as_a_read(reply: TraceReply) -> None:
    assert [read.primitive for read in one(reply, "returned").constants[0].reads] == ["output"]


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("view_in_comprehension", [("N", "global")]),
        ("cached", [('CACHE["table"]', "global")]),
        ("two_on_a_line", [("first", "made"), ("second", "made")]),
        ("slotted", [("SLOTTED.kernel", "global")]),
    ],
)
def test_other_ways_to_hold_an_array(reply: TraceReply, function: str, names: list[tuple[str, str]]) -> None:
    assert sorted((c.name, c.holder) for c in one(reply, function).constants) == names


def test_lines_of_arrays_bound_together(reply: TraceReply) -> None:
    bound = {c.bound.line for c in one(reply, "two_on_a_line").constants if c.bound is not None}
    assert bound == {line_of(PROGRAM, "# two")}
