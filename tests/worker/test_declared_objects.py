"""Declared signatures that name classes of the user's, keywords, and functions without a name of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import DeclaredSignature, TraceReply

from support import line_of, one, trace

PROGRAM = """
    import dataclasses
    import functools
    from typing import Any, NamedTuple

    import jax
    import jax.numpy as jnp


    class State(NamedTuple):
        w: Any
        step: Any


    @functools.partial(
        jax.tree_util.register_dataclass, data_fields=["w", "inner"], meta_fields=["act"]
    ) if hasattr(jax.tree_util, "register_dataclass") and jax.__version_info__ > (0, 4, 36) else (lambda cls: cls)
    @dataclasses.dataclass
    class Layer:
        w: Any
        inner: Any
        act: str = "tanh"


    if jax.__version_info__ <= (0, 4, 36):
        jax.tree_util.register_pytree_with_keys(
            Layer,
            lambda l: (((jax.tree_util.GetAttrKey("w"), l.w), (jax.tree_util.GetAttrKey("inner"), l.inner)), l.act),
            lambda act, children: Layer(*children, act),
        )


    @jax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, a, b, scale):
            self.a, self.b, self.scale = a, b, float(scale)

        def tree_flatten(self):
            return (self.a, self.b), self.scale

        @classmethod
        def tree_unflatten(cls, scale, children):
            return cls(*children, scale)


    @jax.tree_util.register_pytree_node_class
    class Never(Pair):
        pass


    PAIRS = {"one": Pair(jnp.ones(3), jnp.ones(3), 2)}


    @jax.jit
    def step(state, x):
        return State(state.w + x, state.step + 1)


    @jax.jit
    def apply(layer, x):
        return getattr(jnp, layer.act)(x @ layer.w + layer.inner["b"])


    @jax.jit
    def both(pair):
        return pair.a * pair.scale + pair.b


    def named(x, *, y, mode="a"):
        return x + y if mode == "a" else x * y


    call_named = jax.jit(named, static_argnames="mode")

    double = jax.jit(lambda x: x * 2)  # double
    treble = jax.jit(lambda x: x * 3)


    def make(n):
        def inner(x):
            return x * n

        return jax.jit(inner)


    made = make(4)


    class Model:
        scale = 3.0

        def __init__(self):
            self.w = jnp.ones((4, 4))
            self.step = jax.jit(self._step)

        def _step(self, x):
            return x @ self.w

        @staticmethod
        @jax.jit
        def twice(x):
            return x * 2

        @classmethod
        def scaled(cls, x):
            return x * cls.scale


    REGISTRY = {"model": Model()}
"""


def declare(tmp_path: Path, *signatures: tuple[str, str] | tuple[str, str, int]) -> TraceReply:
    declared = tuple(
        DeclaredSignature(name, signature, "declared", f"program.py:{i}", *line)  # type: ignore[arg-type]
        for i, (name, signature, *line) in enumerate(signatures)
    )
    reply = trace(tmp_path, {"program.py": PROGRAM}, declared=declared)
    assert reply.failure is None, reply.failure
    return reply


def types(reply: TraceReply, function: str) -> list[str]:
    return [parameter.type for parameter in one(reply, function).parameters]


def test_objects_are_made_and_written_back(tmp_path: Path) -> None:
    texts = {
        "step": "State(w: f32[3], step: i32[]), f32[3]",
        "apply": "Layer(w: f32[5,4], inner: {b: f32[4]}), f32[2,5]",
        "both": "Pair(f32[3], f32[3])",
    }
    reply = declare(tmp_path, *texts.items())
    assert reply.not_traced == ()
    assert {name: ", ".join(types(reply, name)) for name in texts} == texts
    assert one(reply, "step").out == ("f32[3]", "i32[]")
    assert one(reply, "apply").out == ("f32[2,4]",)


def test_braces_and_static_fields_may_be_written(tmp_path: Path) -> None:
    reply = declare(tmp_path, ("apply", "Layer{w: f32[5,4], inner: {b: f32[4]}, act: 'sin'}, f32[2,5]"))
    assert reply.not_traced == ()
    assert types(reply, "apply")[0] == "Layer(w: f32[5,4], inner: {b: f32[4]})"


@pytest.mark.parametrize(
    ("function", "signature", "reason"),
    [
        ("step", "Stat(w: f32[3]), f32[3]", "Stat cannot be made (no class of that name is in program) at column 1"),
        ("step", "State(v: f32[3]), f32[3]", "State cannot be made (it has no field v) at column 1"),
        ("step", "State(w: f32[3]), f32[3]", "State cannot be made (it has no value for step) at column 1"),
        ("apply", "Layer(w: f32[3]), f32[3]", "Layer cannot be made (it has no value for inner) at column 1"),
        ("both", "Pair(f32[3])", "Pair cannot be made (it has 2 children, not 1) at column 1"),
        (
            "both",
            "Never(f32[3], f32[3])",
            "Never cannot be made (the module holds no object of it to copy) at column 1",
        ),
    ],
)
def test_objects_that_cannot_be_made_are_explained(tmp_path: Path, function: str, signature: str, reason: str) -> None:
    (found,) = declare(tmp_path, (function, signature)).not_traced
    assert found.reason == f"{reason} of {signature!r}"


def test_keywords_and_the_options_of_the_jit_that_the_module_made(tmp_path: Path) -> None:
    reply = declare(tmp_path, ("named", "f32[3], y=f32[3], mode='b'"))
    assert reply.not_traced == ()
    assert [(p.name, p.type, p.static) for p in one(reply, "named").parameters] == [
        ("x", "f32[3]", False), ("y", "f32[3]", False), ("mode", "'b'", True),
    ]  # fmt: skip


def test_functions_that_the_module_only_holds(tmp_path: Path) -> None:
    line = line_of(PROGRAM, "# double")
    reply = declare(
        tmp_path,
        ("<lambda>", "f32[3]", line),
        ("make.<locals>.inner", "f32[5]"),
        ("Model._step", "f32[4]"),
        ("Model.twice", "f32[6]"),
        ("Model.scaled", "f32[7]"),
    )
    assert reply.not_traced == ()
    assert {(f.function, f.parameters[0].type, f.out[0]) for f in reply.functions} == {
        ("<lambda>", "f32[3]", "f32[3]"),
        ("make.<locals>.inner", "f32[5]", "f32[5]"),
        ("Model._step", "f32[4]", "f32[4]"),
        ("Model.twice", "f32[6]", "f32[6]"),
        ("Model.scaled", "f32[7]", "f32[7]"),
    }
    assert one(reply, "<lambda>").line == line


NAMED_SIZES = """
    import jax
    import jax.numpy as jnp

    TABLES = {"w": jnp.ones((40, 6))}


    @jax.jit
    def product(x, y):
        return x @ TABLES["w"] + y


    @jax.jit
    def free(x):
        return x * 2


    @jax.jit
    def wrong(x):  # def wrong
        return x @ TABLES["w"] @ TABLES["w"]
"""


def test_sizes_that_are_only_named_are_those_that_fit(tmp_path: Path) -> None:
    declared = (
        DeclaredSignature("product", "f32[batch,d], f32[batch,k]", "annotation", "program.py:9"),
        DeclaredSignature("free", "bf16[3,n,n]", "declared", "program.py:14"),
        DeclaredSignature("wrong", "f32[batch,d]", "annotation", "program.py:19"),
    )
    reply = trace(tmp_path, {"program.py": NAMED_SIZES}, declared=declared)
    assert types(reply, "product") == ["f32[8,40]", "f32[8,6]"]
    assert types(reply, "free") == ["bf16[3,8,8]"]
    (found,) = reply.not_traced
    assert found.failure is not None and "contracting" in found.reason and found.source == "annotation"
