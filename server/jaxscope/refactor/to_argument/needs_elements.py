"""Functions and methods that need an array's elements while tracing, or that tell an array from a traced one."""

from __future__ import annotations

import ast

from jaxscope.semantics.vocabulary import words

PYTHON = frozenset(
    f"builtins.{name}"
    for name in words(
        "int float bool complex range str hash slice print set frozenset dict sorted max min type id repr hasattr "
        "callable any all format ascii bytes bytearray divmod round hex bin oct chr filter memoryview"
    )
)
METHODS = frozenset(
    words(
        "item tolist tobytes tofile dump dumps copy_to_host __array__ nonzero unique __int__ __float__ __bool__ "
        "__index__ getfield byteswap newbyteorder setflags on_device_size_in_bytes"
    )
)
LOOKED_AT = frozenset(
    words(
        "sharding aval weak_type devices device is_deleted is_fully_addressable addressable_shards committed __class__ "
        "flags base ctypes strides flat __array_interface__ __cuda_array_interface__ unsafe_buffer_pointer "
        "addressable_data global_shards is_fully_replicated"
    )
)
"""Attributes that an array has and a traced one has not, or has otherwise."""
OF_DTYPE = frozenset(["dtype", "nbytes", "itemsize"])
LAYOUT_ONLY = frozenset(words("astype reshape T mT transpose ravel flatten squeeze swapaxes copy view real imag at"))
"""Methods that compute nothing."""
KNOWN_LIBRARIES = (
    "flax.",
    "haiku.",
    "optax.",
    "equinox.",
    "einops.",
    "jaxtyping.",
    "chex.",
    "operator.",
    "functools.reduce",
)
ARRAY_METHODS = frozenset(
    words(
        "dot matmul set add multiply mul divide min max power apply get take searchsorted astype sum mean subtract "
        "__matmul__ __rmatmul__ __mul__ __add__ clip choose"
    )
)
"""Methods of a traced array that take another one."""

_ANY = frozenset(
    f"jax.numpy.{name}"
    for name in words(
        "unique nonzero argwhere flatnonzero union1d intersect1d setdiff1d setxor1d compress extract unique_values "
        "unique_counts unique_inverse unique_all trim_zeros roots save savez array_str array_repr place putmask "
        "ravel_multi_index choose from_dlpack ix_ mask_indices"
    )
) | frozenset(
    [
        *("jax.device_get", "jax.experimental.sparse.BCOO.fromdense", "jax.experimental.sparse.BCSR.fromdense"),
        *("jax.block_until_ready", "jax.device_put_sharded", "jax.device_put_replicated", "jax.dlpack.to_dlpack"),
        *("jax.debug.visualize_array_sharding", "jax.experimental.sparse.COO.fromdense"),
    ]
)
_SHAPES = frozenset(f"jax.numpy.{name}" for name in words("zeros ones empty eye arange full identity linspace tri"))
_FROM_SECOND = frozenset(
    f"jax.numpy.{name}"
    for name in words(
        "broadcast_to reshape tile delete insert split array_split hsplit vsplit dsplit transpose expand_dims squeeze "
        "resize pad rot90 moveaxis swapaxes"
    )
)
_COUNTED = {
    "jax.numpy.bincount": (0, ("length",)),
    "jax.numpy.repeat": (1, ("total_repeat_length",)),
    **{f"jax.ops.segment_{kind}": (1, ("num_segments",)) for kind in ("sum", "prod", "max", "min")},
}


def needs_elements(name: str, call: ast.Call, position: int | None, keyword: str | None) -> bool:
    """Does JAX's function `name` need the elements of the argument at `position`, or given as `keyword`?"""
    if name in _ANY:
        return not any(option.arg == "size" for option in call.keywords)
    if name in _SHAPES:
        return not (name == "jax.numpy.full" and (position == 1 or keyword == "fill_value"))
    if name in _FROM_SECOND:
        second = position is not None and position > 0
        return second or keyword in ("shape", "newshape", "reps", "obj", "indices_or_sections", "axes", "axis")
    if name in _COUNTED:
        place, options = _COUNTED[name]
        named = {option.arg for option in call.keywords}
        given = any(option in named for option in options) or len(call.args) > place + 1
        return (position == place or keyword is not None) and not given
    if name == "jax.numpy.where":
        return len(call.args) + len(call.keywords) == 1
    return name.startswith("jax.random.") and position is not None and position > 0 and name not in _RANDOM_OF_ARRAYS


_RANDOM_OF_ARRAYS = frozenset(
    f"jax.random.{name}"
    for name in words(
        "choice permutation shuffle categorical bernoulli poisson gamma beta dirichlet multivariate_normal "
        "randint truncated_normal binomial fold_in chisquare t loggamma geometric"
    )
)
