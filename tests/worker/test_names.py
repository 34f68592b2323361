"""Captured arrays get the name by which the user's code reads them, however they came to be there."""

from __future__ import annotations

import sys

import pytest
from jaxscope_worker.wire.messages import TraceReply

from support import constant, line_of, one, trace

PROGRAM = """
    import dataclasses
    import functools
    import typing

    import jax
    import jax.numpy as jnp
    import numpy as np

    import tables
    from helpers import bias_of, weigh

    RNG = np.random.default_rng(0)
    W = jnp.asarray(RNG.random((30, 20), dtype=np.float32))
    N = RNG.random((30, 20), dtype=np.float32)
    N64 = RNG.random((30, 20))
    TABLES64 = [RNG.random((30, 20)) for _ in range(2)]
    INTS = np.arange(600).reshape(30, 20)
    PARAMS = {"layers": [{"w": jnp.ones((30, 20)) * 2}], "name": "net"}


    class Pair(typing.NamedTuple):
        left: jax.Array
        right: jax.Array


    PAIR = Pair(jnp.ones((30, 20)) * 3, jnp.ones(2))


    @jax.jit
    def global_array(x):
        return x @ W


    @jax.jit
    def host_array(x):
        return x @ N


    @jax.jit
    def viewed(x):
        return x @ N.T


    @jax.jit
    def truncated(x):
        return x @ N64


    @jax.jit
    def truncated_integers(x):
        return x + INTS.sum() + (INTS * x[0, 0]).sum()


    @jax.jit
    def copied(x):
        return x @ jnp.array(N)


    @jax.jit
    def leaf(x):
        return x @ PARAMS["layers"][0]["w"]


    @jax.jit
    def field(x):
        return x @ PAIR.left


    @jax.jit
    def module_attribute(x):
        return x @ tables.MASK


    @jax.jit
    def through_helper(x):
        return weigh(x)


    @jax.jit
    def handed_to_helper(x):
        return bias_of(x, PARAMS)


    @jax.jit
    def default(x, table=W):
        return x @ table


    def apply(params, x, scale=1.0):
        return scale * (x @ params["w"])


    bound = jax.jit(functools.partial(apply, {"w": W}))


    def keyword(x, *, kernel):
        return x @ kernel


    bound_by_keyword = jax.jit(functools.partial(keyword, kernel=W))


    class Model:
        def __init__(self):
            self.w = W + 1
            self.inner = dataclasses.make_dataclass("Inner", ["kernel"])(W + 2)

        def method(self, x):
            return x @ self.w

        def __call__(self, x):
            return x @ self.inner.kernel

        @functools.partial(jax.jit, static_argnums=0)
        def static_self(self, x):
            return x @ self.w

        def helper_method(self, x):
            return x @ self.w


    MODEL = Model()
    bound_method = jax.jit(MODEL.method)
    callable_object = jax.jit(MODEL)


    @jax.jit
    def calls_method(x):
        return MODEL.helper_method(x)


    def use(model, x):
        return x @ model.w


    @jax.jit
    def hands_on_object(x):
        return use(MODEL, x)


    @dataclasses.dataclass(frozen=True, eq=False)
    class Box:
        array: np.ndarray


    @functools.partial(jax.jit, static_argnames="box")
    def static_argument(x, box):
        return x @ box.array


    def make(n):
        kernel = jnp.arange(30.0 * n).reshape(30, n)

        def closing(x):
            def step(carry, _):
                return carry, carry @ kernel

            return jax.lax.scan(step, x, None, length=2)

        return closing


    closing = jax.jit(make(20))


    @jax.jit
    def made(x):
        basis = np.ones((30, 20), np.float32)
        basis = basis + 1  # rebound here
        for _ in range(2):
            x = x @ basis @ basis.T
        return x


    @jax.jit
    def made_and_truncated(x):
        noise = np.linspace(0, 1, 600).reshape(30, 20)  # bound here
        return x @ noise


    @jax.jit
    def made_for_a_loop(x):
        kernel = np.full((30, 30), 2.0, np.float32)  # kernel bound

        def body(i, carry):
            return carry @ kernel

        return jax.lax.fori_loop(0, 3, body, x)


    @jax.jit
    def cast(x):
        return x @ jnp.asarray(N64, dtype=jnp.bfloat16)


    @jax.jit
    def equal_values(x):
        low = np.zeros((30, 20))
        high = np.zeros((30, 20))
        return x @ low + x @ high


    @jax.jit
    def looped(x):
        for table in TABLES64:
            x = x @ table @ W.T
        return x


    @jax.jit
    def made_unnamed(x):
        return x @ np.full((30, 20), 0.5, np.float32)  # unnamed


    def branch(x):
        return x @ W


    @jax.jit
    def in_branches(flag, x):
        return jax.lax.cond(flag, branch, lambda x: x @ N, x)


    @jax.jit
    def both(x):
        y = x @ W
        return y + (2 * x) @ W


    def main():
        x = jnp.ones((3, 30))
        for function in (
            global_array, host_array, truncated, copied, leaf, field, module_attribute, through_helper,
            handed_to_helper, default, bound, bound_by_keyword, bound_method, callable_object, calls_method,
            hands_on_object, closing, made, made_and_truncated, made_for_a_loop, made_unnamed, both,
            cast, equal_values, looped,
            MODEL.static_self,
        ):
            function(x)
        truncated_integers(jnp.ones((1, 1)))
        viewed(jnp.ones((3, 20)))
        static_argument(x, Box(N + 1))
        in_branches(True, x)
"""

TABLES = """
    import jax.numpy as jnp

    MASK = jnp.ones((30, 20)) * 5
"""

HELPERS = """
    import jax.numpy as jnp

    TABLE = jnp.ones((30, 20)) * 7


    def weigh(x):
        return _inner(x)


    def _inner(x):
        return x @ TABLE  # read here


    def bias_of(x, params):
        return x @ params["layers"][0]["w"]
"""


@pytest.fixture(scope="module")
def reply(tmp_path_factory: pytest.TempPathFactory) -> TraceReply:
    files = {"program.py": PROGRAM, "tables.py": TABLES, "helpers.py": HELPERS}
    reply = trace(tmp_path_factory.mktemp("names"), files, entries=("main",))
    assert reply.failure is None, reply.failure
    return reply


@pytest.mark.parametrize(
    ("function", "name", "holder", "owner", "representation"),
    [
        ("global_array", "W", "global", "global_array", "same jax.Array"),
        ("host_array", "N", "global", "host_array", "same numpy array"),
        ("viewed", "N", "global", "viewed", "view of N"),
        ("truncated", "N64", "global", "truncated", "truncated from float64"),
        ("truncated_integers", "INTS", "global", "truncated_integers", "truncated from int64"),
        ("leaf", 'PARAMS["layers"][0]["w"]', "global", "leaf", "same jax.Array"),
        ("field", "PAIR.left", "global", "field", "same jax.Array"),
        ("module_attribute", "tables.MASK", "module", "module_attribute", "same jax.Array"),
        ("through_helper", "TABLE", "global", "_inner", "same jax.Array"),
        ("handed_to_helper", 'PARAMS["layers"][0]["w"]', "global", "handed_to_helper", "same jax.Array"),
        ("default", "table", "default", "default", "same jax.Array"),
        ("apply", 'params["w"]', "partial", "apply", "same jax.Array"),
        ("keyword", "kernel", "partial", "keyword", "same jax.Array"),
        ("Model.method", "self.w", "self", "Model.method", "same jax.Array"),
        ("Model.__call__", "self.inner.kernel", "callable", "Model.__call__", "same jax.Array"),
        ("Model.static_self", "self.w", "self", "Model.static_self", "same jax.Array"),
        ("calls_method", "self.w", "self", "Model.helper_method", "same jax.Array"),
        ("hands_on_object", "MODEL.w", "global", "hands_on_object", "same jax.Array"),
        ("static_argument", "box.array", "static", "static_argument", "same numpy array"),
        ("make.<locals>.closing", "kernel", "closure", "make.<locals>.closing.<locals>.step", "same jax.Array"),
        ("made", "basis", "made", "made", "same numpy array"),
        ("made_and_truncated", "noise", "made", "made_and_truncated", "truncated from float64"),
        ("made_for_a_loop", "kernel", "made", "made_for_a_loop", "same numpy array"),
        ("made_unnamed", None, "made", "made_unnamed", "same numpy array"),
        ("both", "W", "global", "both", "same jax.Array"),
    ],
)
def test_name(reply: TraceReply, function: str, name: str, holder: str, owner: str, representation: str) -> None:
    constants = one(reply, function).constants
    found = constants[0]
    assert (found.name, found.holder, found.owner, found.representation) == (name, holder, owner, representation)
    extra = [c for c in constants[1:] if c.name != name]
    assert not extra, extra


def test_a_copy_keeps_the_name_of_what_it_copies(reply: TraceReply) -> None:
    found = constant(reply, "copied")
    assert found.name == "N"
    assert found.representation in ("copy", "same numpy array")


def test_a_copy_in_another_dtype_keeps_the_name(reply: TraceReply) -> None:
    found = constant(reply, "cast")
    assert (found.name, found.dtype, found.source_dtype) == ("N64", "bfloat16", "float64")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows no columns")
def test_of_equal_arrays_each_has_its_own_name(reply: TraceReply) -> None:
    assert [c.name for c in one(reply, "equal_values").constants] == ["low", "high"]


def test_a_local_that_is_a_captured_array_is_named_by_what_captures_it(reply: TraceReply) -> None:
    names = {c.name for c in one(reply, "looped").constants}
    assert names == {"TABLES64[0]", "TABLES64[1]", "W"}


def test_shape_dtype_and_bytes_are_those_of_the_program(reply: TraceReply) -> None:
    found = constant(reply, "truncated")
    assert (found.shape, found.dtype, found.bytes, found.source_dtype) == ((30, 20), "float32", 2400, "float64")
    assert constant(reply, "global_array").source_dtype == "float32"


def test_the_same_array_has_the_same_key_everywhere(reply: TraceReply) -> None:
    assert constant(reply, "global_array").key == constant(reply, "default").key == constant(reply, "apply").key
    assert constant(reply, "global_array").key != constant(reply, "leaf").key


def test_made_arrays_know_the_line_that_bound_them(reply: TraceReply) -> None:
    assert one(reply, "made").constants[0].bound is not None
    bound = {f: c.bound.line for f in ("made", "made_and_truncated", "made_for_a_loop", "made_unnamed")
             for c in one(reply, f).constants[:1] if c.bound is not None}  # fmt: skip
    assert bound == {
        "made": line_of(PROGRAM, "# rebound here"),
        "made_and_truncated": line_of(PROGRAM, "# bound here"),
        "made_for_a_loop": line_of(PROGRAM, "# kernel bound"),
        "made_unnamed": line_of(PROGRAM, "# unnamed"),
    }


def test_every_branch_is_looked_into(reply: TraceReply) -> None:
    found = {c.name: c.owner for c in one(reply, "in_branches").constants}
    assert found == {"W": "branch", "N": "in_branches.<locals>.<lambda>"}


def test_reads_are_at_the_primitive_that_consumes(reply: TraceReply) -> None:
    (read,) = constant(reply, "through_helper").reads
    assert read.primitive == "dot_general"
    assert [place.function for place in read.frames] == ["_inner", "weigh", "through_helper"]
    assert read.frames[0].line == line_of(HELPERS, "# read here")
    assert read.frames[0].path.endswith("helpers.py")


def test_reads_inside_loops_lead_out_to_the_traced_function(reply: TraceReply) -> None:
    (read,) = constant(reply, "make.<locals>.closing").reads
    functions = [place.function for place in read.frames]
    assert functions[0] == "make.<locals>.closing.<locals>.step"
    assert functions[-1] == "make.<locals>.closing"


def test_two_reads_of_one_array_are_one_constant(reply: TraceReply) -> None:
    (found,) = one(reply, "both").constants
    assert len(found.reads) == 2
