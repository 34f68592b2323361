"""Functions are traced under signatures that were written down."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import DeclaredSignature, TraceReply

from support import constant, line_of, one, trace

PROGRAM = """
    import functools

    import jax
    import jax.numpy as jnp

    W = jnp.ones((20, 30))


    @jax.jit
    def jitted(x):
        return x @ W


    def plain(x, key):  # def plain
        return x @ W + jax.random.normal(key, (30,))


    @jax.jit
    def tree(params, pair, items):
        return params["layer"]["w"] @ params["b"] + pair[0] + items[1]


    @functools.partial(jax.jit, static_argnames=("mode", "count"))
    def static(x, mode, count):
        return x * count if mode == "double" else x


    class Model:
        def __init__(self):
            self.w = W * 2

        def forward(self, x):
            return x @ self.w

        @functools.partial(jax.jit, static_argnums=0)
        def jitted(self, x):
            return x @ self.w


    class Unmade:
        def forward(self, x):
            return x


    MODEL = Model()


    def wrong(x):
        return x @ W.T  # does not fit


    def factory():
        def local(x):
            return x

        return local
"""


def declare(tmp_path: Path, **signatures: str) -> TraceReply:
    declared = tuple(
        DeclaredSignature(name.replace("__", "."), signature, "declared", f"program.py:{i}")
        for i, (name, signature) in enumerate(signatures.items())
    )
    reply = trace(tmp_path, {"program.py": PROGRAM}, declared=declared)
    assert reply.failure is None, reply.failure
    return reply


def test_functions_are_traced_under_declared_signatures(tmp_path: Path) -> None:
    reply = declare(
        tmp_path,
        jitted="f32[3,20]",
        plain="f32[3,20], key",
        tree="{layer: {w: f32[4,5]}, b: f32[5]}, (f32[4], i32[2]), [f32[], bf16[4]]",
        static="f32[7], 'double', 3",
        Model__forward="f32[20]",
        Model__jitted="f32[5,20]",
    )
    assert reply.not_traced == ()
    assert one(reply, "jitted").parameters[0].type == "f32[3,20]"
    assert one(reply, "jitted").out == ("f32[3,30]",)
    assert [p.type for p in one(reply, "plain").parameters] == ["f32[3,20]", "key<fry>[]"]
    assert [p.type for p in one(reply, "tree").parameters] == [
        "{layer: {w: f32[4,5]}, b: f32[5]}", "(f32[4], i32[2])", "[f32[], bf16[4]]",
    ]  # fmt: skip
    assert one(reply, "static").equations == 1
    assert constant(reply, "jitted").name == constant(reply, "plain").name == "W"
    assert constant(reply, "Model.forward").name == constant(reply, "Model.jitted").name == "self.w"
    assert one(reply, "jitted").source == "declared" and one(reply, "jitted").origin == "program.py:0"
    assert one(reply, "plain").line == line_of(PROGRAM, "# def plain")
    # Nothing in the program jits these two; to be traced they had to be.
    assert {item.function for item in reply.functions if not item.jitted} == {"plain", "Model.forward"}


@pytest.mark.parametrize(
    ("function", "signature", "reason"),
    [
        ("jitted", "f32[3", "is not a shape"),
        ("jitted", "f32[3] f32[4]", "',' is wanted"),
        ("jitted", "float99[3]", "is no dtype"),
        ("jitted", "{w: f32[3]", "'}' is wanted"),
        ("jitted", "f32[3,20]; import os", "is not a shape"),
        ("jitted", "f32[3,20], f32[3]", "TypeError"),
        ("missing", "f32[3]", "has no missing"),
        ("Unmade__forward", "f32[3]", "no instance of Unmade"),
        ("factory__<locals>__local", "f32[3]", "exists only while factory runs"),
    ],
)
def test_signatures_that_cannot_be_used_are_explained(
    tmp_path: Path, function: str, signature: str, reason: str
) -> None:
    reply = declare(tmp_path, **{function: signature})
    assert reply.functions == ()
    (found,) = reply.not_traced
    assert reason in found.reason
    assert (found.function, found.source) == (function.replace("__", "."), "declared")


def test_a_function_that_does_not_trace_names_its_line(tmp_path: Path) -> None:
    reply = declare(tmp_path, wrong="f32[3,20]", jitted="f32[3,20]")
    (found,) = reply.not_traced
    assert found.failure is not None and found.failure.place is not None
    assert found.failure.place.line == line_of(PROGRAM, "# does not fit")
    assert (found.function, found.signature) == ("wrong", "x: f32[3,20]")
    assert one(reply, "jitted")
