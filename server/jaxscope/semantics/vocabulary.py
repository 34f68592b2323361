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
    per_argument: tuple[str, ...] = ()
    """Options with one entry (or one for all) per positional argument: `in_axes`, `in_specs`, `in_shardings`."""
    option_positions: tuple[tuple[int, str], ...] = ()
    """Options that may be given by position: (position, name)."""
    static: tuple[str, ...] = ()
    """Options that say which parameters are static, by position or by name."""
    takes_self: bool = False
    """It takes objects apart by itself (`eqx.filter_jit`, `nnx.jit`): a bound `self` or a callable object becomes an
    argument, not a constant."""
    static_numbers: bool = False
    """Only arrays are arguments of what it compiles (`eqx.filter_jit`): it compiles anew for each Python number."""
    carry: int = -1
    """Position of the initial carry, which a new loop parameter would join."""
    differentiates: bool = False
    """Derivative rules of functions with their own (`custom_vjp`) run."""
    members: tuple[str, ...] = ()
    """Its result is no function but holds several that run it: `hk.transform(f).apply`."""
    leading: int = 0
    """Arguments that its result takes in front of those of the function, or with a minus no longer takes."""

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
_STATIC = ("static_argnums", "static_argnames")
_GRAD = ((1, "argnums"), (2, "has_aux"))
_PURE = ("init", "apply")

_TABLE = (
    Transform("jax.jit", _FUN, True, False, False, _JIT_NUMS, ("in_shardings",), static=_STATIC),
    Transform(
        "jax.experimental.pjit.pjit",
        _FUN,
        True,
        argnums=_JIT_NUMS,
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
    Transform("equinox.filter_jit", _FUN, True, takes_self=True, static_numbers=True),
    Transform("equinox.filter_pmap", _FUN, True, per_argument=("in_axes",), takes_self=True, static_numbers=True),
    Transform(
        "flax.nnx.jit",
        _FUN,
        True,
        argnums=_JIT_NUMS,
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
    Transform("haliax.named_jit", (Body(0, "fn"),), True, takes_self=True, static_numbers=True),
    Transform("jax_dataclasses.jit", _FUN, True),
    Transform("haiku.transform", _F, members=_PURE, leading=2),
    Transform("haiku.transform_with_state", _F, members=_PURE, leading=3),
    Transform("haiku.without_apply_rng", _F, members=_PURE, leading=-1),
    Transform("haiku.without_state", _F, members=_PURE, leading=-1),
    Transform("haiku.with_empty_state", _F, members=_PURE, leading=1),
    Transform("flax.linen.Module.apply", _F, leading=1),
    Transform("jax.experimental.checkify.checkify", _F),
    Transform("jax.custom_gradient", _FUN),
    Transform(
        "jax.vmap",
        _FUN,
        per_argument=("in_axes",),
        option_positions=((1, "in_axes"), (2, "out_axes")),
    ),
    Transform("equinox.filter_vmap", _FUN, per_argument=("in_axes",)),
    Transform("jax.grad", _FUN, argnums=("argnums",), option_positions=_GRAD, differentiates=True),
    Transform("jax.value_and_grad", _FUN, argnums=("argnums",), option_positions=_GRAD, differentiates=True),
    Transform("equinox.filter_grad", _FUN, differentiates=True),
    Transform("equinox.filter_value_and_grad", _FUN, differentiates=True),
    Transform("flax.nnx.grad", _F, argnums=("argnums",), differentiates=True),
    Transform("flax.nnx.value_and_grad", _F, argnums=("argnums",), differentiates=True),
    Transform("jax.jacfwd", _FUN, argnums=("argnums",), option_positions=((1, "argnums"),), differentiates=True),
    Transform("jax.jacrev", _FUN, argnums=("argnums",), option_positions=((1, "argnums"),), differentiates=True),
    Transform("jax.hessian", _FUN, argnums=("argnums",), option_positions=((1, "argnums"),), differentiates=True),
    Transform("jax.jvp", (Body(0, "fun", "given"),), per_argument=("primals", "tangents"), differentiates=True),
    Transform("jax.vjp", (Body(0, "fun", "given"),), differentiates=True),
    Transform("jax.linearize", (Body(0, "fun", "given"),), differentiates=True),
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
        option_positions=((1, "nondiff_argnums"),),
    ),
    Transform(
        "jax.custom_jvp",
        _FUN,
        argnums=("nondiff_argnums",),
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

_ABROAD = {
    "haiku": words("grad value_and_grad vmap eval_shape"),
    "flax.nnx": words("vmap pmap jvp vjp custom_vjp shard_map eval_shape make_jaxpr"),
    "equinox": words(
        "filter_hessian filter_jacfwd filter_jacrev filter_jvp filter_vjp filter_custom_jvp filter_custom_vjp "
        "filter_make_jaxpr"
    ),
}
_LOOPS_ABROAD = {
    "haiku": words("scan cond switch while_loop fori_loop map"),
    "flax.nnx": words("scan cond switch while_loop fori_loop"),
}
"""Where libraries have JAX's own under the same names, for functions that use their modules."""

CANONICAL: dict[str, str] = {
    **{f"{home}.{name}": f"jax.{name.removeprefix('filter_')}" for home, names in _ABROAD.items() for name in names},
    **{f"{home}.{name}": f"jax.lax.{name}" for home, names in _LOOPS_ABROAD.items() for name in names},
    "haiku.remat": "jax.checkpoint",
    "equinox.filter_pure_callback": "jax.pure_callback",
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
    "flax.nnx.remat": "jax.checkpoint",
    "flax.linen.remat": "jax.checkpoint",
    "jax.tree.map": "jax.tree_util.tree_map",
    "jax.tree_map": "jax.tree_util.tree_map",
    "jax.tree.leaves": "jax.tree_util.tree_leaves",
    "jax.tree_leaves": "jax.tree_util.tree_leaves",
    "jax.util.Partial": "jax.tree_util.Partial",
    "jax.core.Array": "jax.Array",
    "jax.numpy.ndarray": "jax.Array",
}

CUSTOM_DERIVATIVES = frozenset(("jax.custom_vjp", "jax.custom_jvp"))
"""Transforms after which a function has derivatives of its own."""

DERIVATIVE_RULES = words("defvjp defjvp defjvps def_fwd def_bwd def_jvp")
"""Methods that give a function with derivatives of its own the functions for them."""

CALLBACKS = frozenset(("jax.pure_callback", "jax.experimental.io_callback", "jax.debug.callback"))
"""Functions whose first argument runs outside of the program, with values."""

LINEN_MODULE = "flax.linen.Module"
LINEN_RUNNERS = words("apply init init_with_output")
"""Methods of a linen module that run its `__call__`, after the variables or keys."""

LINEN_LIFTS = frozenset(f"flax.linen.{name}" for name in words("scan vmap remat_scan map_variables add_metadata_axis"))
"""Transforms that make a class of modules of a class of modules."""

PARTIALS = ("functools.partial", "jax.tree_util.Partial")

REGISTERING = words(
    "register_dataclass register_pytree_node register_pytree_node_class register_pytree_with_keys "
    "register_pytree_with_keys_class register_static"
)
"""Functions that make pytrees of a class's objects."""

METADATA = frozenset(
    words(
        "shape dtype ndim size nbytes itemsize sharding aval weak_type devices device is_deleted "
        "is_fully_addressable addressable_shards committed __class__"
    )
)
"""Attributes of an array that need none of its elements."""

ARRAY_METHODS = words(
    "all any argmax argmin argsort astype clip conj conjugate cumprod cumsum diagonal dot flatten max mean min prod "
    "ptp ravel repeat reshape round sort squeeze std sum swapaxes take trace transpose var"
)
"""Methods of an array whose result is one array."""

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

ITERATES = frozenset(words("enumerate zip list tuple set sorted reversed iter map filter max min sum any all"))
"""Builtins that take their argument apart."""

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


FILLS = frozenset(
    ("append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "__setitem__")
)
"""Methods that put something into a container."""
EMPTIES = frozenset(
    (
        *("pop", "popleft", "popitem", "remove", "discard", "clear", "sort", "reverse", "rotate", "move_to_end"),
        *("difference_update", "intersection_update", "symmetric_difference_update"),
    )
)
"""Methods that change a container otherwise."""
MUTATING = (FILLS | EMPTIES | {"fill", "put", "itemset", "partition", "resize"}) - {"rotate"}
"""Methods that change a list, dict, set, deque or NumPy array; what turns a picture or an object gives a new one."""
