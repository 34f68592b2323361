"""The one table of JAX's transforms: what each takes as the function, which options name parameters by position or by
name, which options follow the shape of the argument list, and what it does with the function.

Names are canonical dotted ones; `CANONICAL` maps the other places where users find the same thing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Body:
    """A parameter of a transform that takes a function."""

    position: int
    name: str
    arguments: str = "call"
    """What it is called with: `call` (what the transformed function is called with), `carry-x` (scan),
    `index-carry` (fori_loop), `carry` (while_loop), `operands` (cond, switch), `element` (map), `pair`
    (associative_scan), `given` (the transform's own trailing arguments)."""
    many: bool = False
    """It is a sequence of functions (switch)."""


@dataclass(frozen=True, slots=True)
class Transform:
    """One transform and its options."""

    name: str
    bodies: tuple[Body, ...]
    compiles: bool = False
    """Arrays that the function reads from outside become constants of a compiled program."""
    traces_only: bool = False
    """The function is traced, but nothing is compiled of it (`eval_shape`, `make_jaxpr`)."""
    loop: bool = False
    """Structured control flow: takes its operands in the same call, and the body is traced on the spot."""
    argnums: tuple[str, ...] = ()
    """Options that hold positions of parameters; they shift when a parameter is inserted."""
    argnames: tuple[str, ...] = ()
    """Options that hold names of parameters."""
    per_argument: tuple[str, ...] = ()
    """Options with one entry (or one for all) per positional argument: `in_axes`, `in_specs`, `in_shardings`."""
    option_positions: tuple[tuple[int, str], ...] = ()
    """Options that may be given by position: (position, name)."""
    static: tuple[str, ...] = ()
    """Those of `argnums` and `argnames` whose parameters are static."""
    takes_self: bool = False
    """It takes objects apart by itself (`eqx.filter_jit`, `nnx.jit`): a bound `self` or a callable object becomes an
    argument, not a constant."""
    carry: int = -1
    """Position of the initial carry, which a new loop parameter would join."""

    @property
    def is_jit(self) -> bool:
        """Does calling its result run a compiled program of its own?"""
        return self.compiles and not self.loop


def words(text: str) -> tuple[str, ...]:
    """The words of `text`."""
    return tuple(text.split())


_FUN = (Body(0, "fun"),)
_F = (Body(0, "f"),)
_JIT_NUMS = ("static_argnums", "donate_argnums")
_JIT_NAMES = ("static_argnames", "donate_argnames")
_STATIC = ("static_argnums", "static_argnames")

_TABLE = (
    Transform("jax.jit", _FUN, True, False, False, _JIT_NUMS, _JIT_NAMES, ("in_shardings",), static=_STATIC),
    Transform(
        "jax.experimental.pjit.pjit",
        _FUN,
        True,
        argnums=_JIT_NUMS,
        argnames=_JIT_NAMES,
        per_argument=("in_shardings", "in_axis_resources"),
        option_positions=((1, "in_shardings"), (2, "out_shardings")),
        static=_STATIC,
    ),
    Transform(
        "jax.pmap",
        _FUN,
        True,
        argnums=("static_broadcasted_argnums", "donate_argnums"),
        per_argument=("in_axes",),
        option_positions=((1, "axis_name"),),
        static=("static_broadcasted_argnums",),
    ),
    Transform("equinox.filter_jit", _FUN, True, takes_self=True),
    Transform("equinox.filter_pmap", _FUN, True, per_argument=("in_axes",), takes_self=True),
    Transform(
        "flax.nnx.jit",
        _FUN,
        True,
        argnums=_JIT_NUMS,
        argnames=_JIT_NAMES,
        per_argument=("in_shardings",),
        static=_STATIC,
        takes_self=True,
    ),
    Transform(
        "flax.linen.jit",
        (Body(0, "target"),),
        True,
        argnums=_JIT_NUMS,
        static=("static_argnums",),
        takes_self=True,
    ),
    Transform("haiku.jit", _FUN, True, takes_self=True),
    Transform(
        "jax.vmap",
        _FUN,
        per_argument=("in_axes",),
        option_positions=((1, "in_axes"), (2, "out_axes")),
    ),
    Transform("equinox.filter_vmap", _FUN, per_argument=("in_axes",)),
    Transform("jax.grad", _FUN, argnums=("argnums",), option_positions=((1, "argnums"), (2, "has_aux"))),
    Transform("jax.value_and_grad", _FUN, argnums=("argnums",), option_positions=((1, "argnums"), (2, "has_aux"))),
    Transform("equinox.filter_grad", _FUN),
    Transform("equinox.filter_value_and_grad", _FUN),
    Transform("flax.nnx.grad", _F, argnums=("argnums",)),
    Transform("flax.nnx.value_and_grad", _F, argnums=("argnums",)),
    Transform("jax.jacfwd", _FUN, argnums=("argnums",), option_positions=((1, "argnums"),)),
    Transform("jax.jacrev", _FUN, argnums=("argnums",), option_positions=((1, "argnums"),)),
    Transform("jax.hessian", _FUN, argnums=("argnums",), option_positions=((1, "argnums"),)),
    Transform("jax.jvp", (Body(0, "fun", "given"),), per_argument=("primals", "tangents")),
    Transform("jax.vjp", (Body(0, "fun", "given"),)),
    Transform("jax.linearize", (Body(0, "fun", "given"),)),
    Transform("jax.checkpoint", _FUN, argnums=("static_argnums",), static=("static_argnums",)),
    Transform(
        "jax.shard_map",
        _F,
        per_argument=("in_specs",),
        option_positions=((1, "mesh"), (2, "in_specs"), (3, "out_specs")),
    ),
    Transform(
        "jax.custom_vjp",
        _FUN,
        argnums=("nondiff_argnums",),
        argnames=("nondiff_argnames",),
        option_positions=((1, "nondiff_argnums"),),
    ),
    Transform(
        "jax.custom_jvp",
        _FUN,
        argnums=("nondiff_argnums",),
        argnames=("nondiff_argnames",),
        option_positions=((1, "nondiff_argnums"),),
    ),
    Transform("jax.named_call", _FUN),
    Transform("jax.lax.scan", (Body(0, "f", "carry-x"),), True, loop=True, carry=1),
    Transform("jax.lax.fori_loop", (Body(2, "body_fun", "index-carry"),), True, loop=True, carry=3),
    Transform(
        "jax.lax.while_loop",
        (Body(0, "cond_fun", "carry"), Body(1, "body_fun", "carry")),
        True,
        loop=True,
        carry=2,
    ),
    Transform("jax.lax.cond", (Body(1, "true_fun", "operands"), Body(2, "false_fun", "operands")), True, loop=True),
    Transform("jax.lax.switch", (Body(1, "branches", "operands", many=True),), True, loop=True),
    Transform("jax.lax.map", (Body(0, "f", "element"),), True, loop=True),
    Transform("jax.lax.associative_scan", (Body(0, "fn", "pair"),), loop=True),
    Transform("jax.lax.custom_root", (Body(0, "f"), Body(2, "solve"), Body(3, "tangent_solve")), loop=True),
    Transform("jax.eval_shape", (Body(0, "fun", "given"),), traces_only=True),
    Transform("jax.make_jaxpr", _FUN, traces_only=True, argnums=("static_argnums",), static=("static_argnums",)),
    Transform("jax.pure_callback", (Body(0, "callback", "given"),), traces_only=True),
    Transform("jax.experimental.io_callback", (Body(0, "callback", "given"),), traces_only=True),
    Transform("jax.debug.callback", (Body(0, "callback", "given"),), traces_only=True),
)

TRANSFORMS: dict[str, Transform] = {entry.name: entry for entry in _TABLE}

CANONICAL: dict[str, str] = {
    "jax.api.jit": "jax.jit",
    "jax.experimental.pjit": "jax.experimental.pjit.pjit",
    "jax.pjit": "jax.experimental.pjit.pjit",
    "jax.remat": "jax.checkpoint",
    "jax.ad_checkpoint.checkpoint": "jax.checkpoint",
    "jax.ad_checkpoint.remat": "jax.checkpoint",
    "jax.experimental.shard_map.shard_map": "jax.shard_map",
    "equinox.filter_checkpoint": "jax.checkpoint",
    "equinox.filter_eval_shape": "jax.eval_shape",
    "equinox.internal.while_loop": "jax.lax.while_loop",
    "flax.nnx.vmap": "jax.vmap",
    "flax.nnx.pmap": "jax.pmap",
    "flax.nnx.remat": "jax.checkpoint",
    "flax.nnx.scan": "jax.lax.scan",
    "flax.linen.remat": "jax.checkpoint",
    "jax.tree.map": "jax.tree_util.tree_map",
    "jax.tree_map": "jax.tree_util.tree_map",
    "jax.tree.leaves": "jax.tree_util.tree_leaves",
    "jax.tree_leaves": "jax.tree_util.tree_leaves",
    "jax.util.Partial": "jax.tree_util.Partial",
    "jax.core.Array": "jax.Array",
    "jax.numpy.ndarray": "jax.Array",
}

METADATA = frozenset(
    words(
        "shape dtype ndim size nbytes itemsize sharding aval weak_type devices device is_deleted "
        "is_fully_addressable addressable_shards committed __class__"
    )
)
"""Attributes of an array that need none of its elements."""

LOOKS_ONLY = frozenset(
    [
        *("len", "isinstance", "type", "hasattr", "id", "callable", "repr", "print"),
        *(f"{module}.{name}" for module in ("numpy", "jax.numpy") for name in ("shape", "ndim", "size", "result_type")),
        *("jax.eval_shape", "jax.ShapeDtypeStruct", "jax.numpy.zeros_like", "jax.numpy.ones_like"),
        *("jax.numpy.full_like", "jax.numpy.empty_like", "jax.typeof", "jax.numpy.issubdtype"),
        *("jax.tree_util.tree_structure", "jax.tree.structure", "jax.dtypes.result_type"),
    ]
)
"""Functions whose result needs none of their array argument's elements."""

CONSTANTS: dict[str, float | None] = {
    f"{module}.{name}": value
    for module in ("math", "numpy", "jax.numpy")
    for name, value in {
        **{"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan},
        **({"tau": math.tau} if module == "math" else {"newaxis": None, "euler_gamma": 0.5772156649015329}),
    }.items()
}
"""Numbers, and `newaxis`, that libraries give names to."""

ARRAY_TYPES = frozenset(
    [
        *("jax.Array", "jax.numpy.ndarray", "numpy.ndarray", "jax.typing.ArrayLike", "chex.Array", "chex.ArrayDevice"),
        *("jaxtyping.Array", "jax.core.Tracer", "chex.ArrayNumpy"),
    ]
)
"""Types that say of an annotated name that it is an array."""


def canonical(name: str) -> str:
    """The name under which the table knows `name`."""
    if name.startswith("jax._src.numpy"):
        name = "jax.numpy" + name[len("jax._src.numpy") :]
    return CANONICAL.get(name, name)


def transform(name: str) -> Transform | None:
    """The transform with that dotted name."""
    return TRANSFORMS.get(canonical(name))
