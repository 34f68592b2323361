"""What calls of NumPy's, jax.numpy's and jax.random's functions give, by the function's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from jaxscope.semantics.arrays import (
    Call,
    Handler,
    arange,
    as_array,
    as_int,
    as_shape,
    broadcast,
    elementwise,
    matmul,
    permuted,
    reduce_axes,
    reshaped,
    stacked,
)
from jaxscope.semantics.dtypes import from_value, kind
from jaxscope.semantics.values import UNKNOWN, Array, Const, Scalar, Sequence, Shape, Value
from jaxscope.semantics.vocabulary import words

_TABLE: dict[str, Handler] = {}


def _named(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            _TABLE[name] = handler
        return handler

    return register


def array_function(name: str) -> Handler | None:
    """The handler of `numpy.NAME` or `jax.numpy.NAME`."""
    return _TABLE.get(name)


def _first(call: Call) -> Array | None:
    value = call.args[0] if call.args else call.get("a") or call.get("x") or call.get("arr")
    return None if value is None else as_array(value, call)


# ---------------------------------------------------------------- construction


@_named("zeros", "ones", "empty")
def _filled(call: Call) -> Value:
    return call.array(as_shape(call.get("shape", 0)), call.dtype(1, call.float))


@_named("full")
def _full(call: Call) -> Value:
    fill = call.get("fill_value", 1)
    like = as_array(fill, call) if fill is not None else None
    return call.array(as_shape(call.get("shape", 0)), call.dtype(2, like.dtype if like else None))


@_named("zeros_like", "ones_like", "empty_like", "full_like")
def _like(call: Call) -> Value:
    array = _first(call)
    if array is None:
        return call.array(None, call.dtype(None, None))
    shape = call.get("shape")
    return call.array(array.shape if shape is None else as_shape(shape), call.dtype(None, array.dtype))


@_named("eye")
def _eye(call: Call) -> Value:
    rows = as_int(call.get("N", 0))
    columns = call.get("M", 1)
    wide = rows if columns is None or columns == Const(None) else as_int(columns)
    return call.array((rows, wide), call.dtype(3, call.float))


@_named("identity", "tri")
def _identity(call: Call) -> Value:
    size = as_int(call.get("n", 0) or call.get("N", 0))
    return call.array((size, size), call.dtype(1, call.float))


_TABLE["arange"] = arange


@_named("linspace", "logspace", "geomspace")
def _linspace(call: Call) -> Value:
    number = call.get("num", 2)
    count = 50 if number is None else as_int(number)
    ends = [as_array(value, call) for value in call.args[:2]]
    if any(end is None or end.shape != () for end in ends):
        return call.array(None, call.dtype(None, None))
    return call.array((count,), call.dtype(None, call.float))


@_named("array", "asarray", "ascontiguousarray", "asanyarray", "copy", "asfortranarray", "frombuffer", "fromiter")
def _array(call: Call) -> Value:
    given = call.args[0] if call.args else call.get("object") or call.get("a") or UNKNOWN
    array = as_array(given, call)
    if array is None:
        return call.array(None, call.dtype(1, None))
    made = call.library == "numpy" and (array.made or (call.made and not isinstance(given, Array)))
    result = call.array(array.shape, call.dtype(1, array.dtype))
    return replace(result, made=made, source=result.source or array.source)


@_named("load", "loadtxt", "genfromtxt", "fromfile", "memmap")
def _loaded(call: Call) -> Value:
    return call.array(None, call.dtype(None, None))


@_named("meshgrid")
def _meshgrid(call: Call) -> Value:
    parts = [as_array(value, call) for value in call.args]
    sizes: list[int | None] = [p.shape[0] if p is not None and p.shape else None for p in parts]
    if len(sizes) > 1 and call.get("indexing") in (None, Const("xy")):
        sizes[0], sizes[1] = sizes[1], sizes[0]
    dtypes = [p.dtype if p is not None else None for p in parts]
    return Sequence(tuple(call.array(tuple(sizes), dtype) for dtype in dtypes))


@_named("indices")
def _indices(call: Call) -> Value:
    shape = as_shape(call.get("dimensions", 0))
    return call.array(None if shape is None else (len(shape), *shape), call.dtype(1, call.int))


# ---------------------------------------------------------------- joining and reordering


@_named("stack")
def _stack(call: Call) -> Value:
    axis = call.get("axis", 1)
    at = 0 if axis is None else as_int(axis)
    return call.array(None, None) if at is None else stacked(call, at, True)


@_named("concatenate", "concat")
def _concatenate(call: Call) -> Value:
    axis = call.get("axis", 1)
    at = 0 if axis is None else as_int(axis)
    return call.array(None, None) if at is None else stacked(call, at, False)


@_named("vstack", "row_stack")
def _vstack(call: Call) -> Value:
    return stacked(call, 0, _item_rank(call) == 1)


@_named("hstack")
def _hstack(call: Call) -> Value:
    return stacked(call, 0 if _item_rank(call) == 1 else 1, False)


@_named("column_stack")
def _column_stack(call: Call) -> Value:
    return stacked(call, 1, _item_rank(call) == 1)


def _item_rank(call: Call) -> int | None:
    parts = call.args[0] if call.args else UNKNOWN
    one = as_array(parts.item(0), call) if isinstance(parts, Sequence) else None
    return len(one.shape) if one is not None and one.shape is not None else None


@_named("repeat")
def _repeat(call: Call) -> Value:
    array, times = _first(call), as_int(call.get("repeats", 1))
    axis = call.get("axis", 2)
    if array is None or array.shape is None:
        return call.array(None, array.dtype if array else None)
    if axis is None or axis == Const(None):
        return call.array((_times(_size(array.shape), times),), array.dtype)
    at = as_int(axis)
    if at is None or not -len(array.shape) <= at < len(array.shape):
        return call.array(None, array.dtype)
    shape = list(array.shape)
    shape[at] = _times(shape[at], times)
    return call.array(tuple(shape), array.dtype)


@_named("tile")
def _tile(call: Call) -> Value:
    array, times = _first(call), as_shape(call.get("reps", 1))
    if array is None or array.shape is None or times is None:
        return call.array(None, array.dtype if array else None)
    rank = max(len(times), len(array.shape))
    base = (1,) * (rank - len(array.shape)) + array.shape
    reps = (1,) * (rank - len(times)) + times
    return call.array(tuple(_times(a, b) for a, b in zip(base, reps, strict=True)), array.dtype)


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def _size(shape: Shape | None) -> int | None:
    if shape is None or None in shape:
        return None
    return prod(size for size in shape if size is not None)


@_named("transpose", "permute_dims", "matrix_transpose")
def _transpose(call: Call) -> Value:
    array, axes = _first(call), call.get("axes", 1)
    if array is None:
        return UNKNOWN
    if axes is None or axes == Const(None):
        return permuted(array, None)
    return permuted(array, as_shape(axes) or (None,))


@_named("swapaxes", "moveaxis", "rollaxis")
def _swapped(call: Call) -> Value:
    array = _first(call)
    a, b = (as_int(v) for v in (*call.args[1:3], *(UNKNOWN, UNKNOWN))[:2])
    if array is None or array.shape is None or a is None or b is None:
        return UNKNOWN if array is None else replace(array, shape=None)
    rank = len(array.shape)
    if not (-rank <= a < rank and -rank <= b < rank):
        return replace(array, shape=None)
    if rank == 2:
        return array if a % 2 == b % 2 else permuted(array, None)
    return replace(array, shape=None if None in array.shape or len(set(array.shape)) > 1 else array.shape)


@_named("reshape")
def _reshape(call: Call) -> Value:
    array = _first(call)
    if array is None:
        return UNKNOWN
    wanted = call.get("shape", 1) or call.get("newshape")
    return reshaped(array, as_shape(wanted))


@_named("ravel")
def _ravel(call: Call) -> Value:
    array = _first(call)
    return UNKNOWN if array is None else reshaped(array, (-1,))


@_named("squeeze")
def _squeeze(call: Call) -> Value:
    array = _first(call)
    if array is None or array.shape is None:
        return UNKNOWN if array is None else array
    axis = call.get("axis", 1)
    if axis is not None or None in array.shape:
        axes = as_shape(axis)
        if axes is None or None in axes:
            return replace(array, shape=None)
        gone = {a % len(array.shape) for a in axes if a is not None} if array.shape else set()
        return replace(array, shape=tuple(s for n, s in enumerate(array.shape) if n not in gone))
    return replace(array, shape=tuple(s for s in array.shape if s != 1))


@_named("expand_dims")
def _expand_dims(call: Call) -> Value:
    array, axis = _first(call), as_int(call.get("axis", 1))
    if array is None or array.shape is None or axis is None:
        return UNKNOWN if array is None else replace(array, shape=None)
    at = axis % (len(array.shape) + 1)
    return replace(array, shape=(*array.shape[:at], 1, *array.shape[at:]))


@_named("broadcast_to")
def _broadcast_to(call: Call) -> Value:
    array = _first(call)
    return call.array(as_shape(call.get("shape", 1)), array.dtype if array else None)


@_named("diag")
def _diag(call: Call) -> Value:
    array = _first(call)
    if array is None or array.shape is None or len(call.args) > 1 or call.keywords:
        return call.array(None, array.dtype if array else None)
    if len(array.shape) == 1:
        return replace(array, shape=(array.shape[0], array.shape[0]))
    sizes = [s for s in array.shape if s is not None]
    return replace(array, shape=(min(sizes) if len(sizes) == 2 else None,))


@_named("pad")
def _pad(call: Call) -> Value:
    array, width = _first(call), call.get("pad_width", 1)
    if array is None or array.shape is None:
        return call.array(None, array.dtype if array else None)
    number = as_int(width) if width is not None else None
    shape = tuple(None if number is None or s is None else s + 2 * number for s in array.shape)
    return replace(array, shape=shape)


@_named("outer", "kron_")
def _outer(call: Call) -> Value:
    parts = [as_array(value, call) for value in call.args[:2]]
    if len(parts) < 2 or parts[0] is None or parts[1] is None:
        return call.array(None, None)
    both = elementwise([p for p in parts if p is not None], call)
    dtype = both.dtype if isinstance(both, Array) else None
    return call.array(tuple(_size(p.shape) for p in parts if p is not None), dtype)


@_named("dot", "matmul")
def _dot(call: Call) -> Value:
    return matmul(call.args[0], call.args[1], call) if len(call.args) > 1 else UNKNOWN


@_named("einsum")
def _einsum(call: Call) -> Value:
    text = call.args[0].value if call.args and isinstance(call.args[0], Const) else None
    arrays = [as_array(value, call) for value in call.args[1:]]
    known = [array for array in arrays if array is not None]
    if not isinstance(text, str) or "->" not in text or "." in text or len(known) != len(arrays):
        return call.array(None, None)
    inputs, _, output = text.replace(" ", "").partition("->")
    sizes: dict[str, int | None] = {}
    for letters, array in zip(inputs.split(","), known, strict=False):
        if array.shape is not None and len(array.shape) == len(letters):
            sizes.update(zip(letters, array.shape, strict=True))
    dtype = elementwise(list(known), call)
    return call.array(tuple(sizes.get(c) for c in output), dtype.dtype if isinstance(dtype, Array) else None)


# ---------------------------------------------------------------- elementwise and reductions

_FLOAT = words(
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 "
    "log10 log1p sqrt cbrt deg2rad rad2deg radians degrees sinc i0 arctan2 hypot true_divide divide "
    "logaddexp interp_"
)
_SAME = words(
    "abs absolute negative positive square sign conj conjugate round floor ceil trunc rint clip "
    "nan_to_num real_if_close add subtract multiply power float_power_ maximum minimum fmax fmin mod "
    "remainder floor_divide fmod copysign heaviside"
)
_BOOLEAN = words(
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not logical_xor "
    "isnan isfinite isinf isclose"
)
_SHAPED = words(
    "roll flip fliplr flipud sort cumsum cumprod tril triu ascontiguousarray block_until_ready"
)


def _elementwise(floating: bool, boolean: bool) -> Handler:
    def handler(call: Call) -> Value:
        operands = [value if isinstance(value, (Scalar, Const)) else as_array(value, call) for value in call.args]
        if any(value is None for value in operands):
            return call.array(None, None)
        if all(isinstance(value, (Scalar, Const)) for value in operands):
            return _scalar(call)
        known: list[Value] = [value for value in operands if value is not None]
        result = elementwise(known, call, floating=floating, boolean=boolean)
        dtype = call.get("dtype")
        return replace(result, dtype=from_value(dtype)) if dtype is not None and isinstance(result, Array) else result

    return handler


def _scalar(call: Call) -> Value:
    return Scalar("float") if call.library == "numpy" else call.array((), call.float)


for _name in _FLOAT:
    _TABLE[_name] = _elementwise(True, False)
for _name in _SAME:
    _TABLE[_name] = _elementwise(False, False)
for _name in _BOOLEAN:
    _TABLE[_name] = _elementwise(False, True)


@_named(*_SHAPED)
def _same_shape(call: Call) -> Value:
    array = _first(call)
    if array is None:
        return call.array(None, None)
    return array


@_named("where")
def _where(call: Call) -> Value:
    if len(call.args) < 3:
        return call.array(None, call.int)
    condition = as_array(call.args[0], call)
    branches = [v if isinstance(v, (Scalar, Const)) else as_array(v, call) for v in call.args[1:3]]
    if condition is None or any(value is None for value in branches):
        return call.array(None, None)
    arrays = [value for value in branches if isinstance(value, Array)]
    shape = broadcast([condition.shape, *(a.shape for a in arrays)])
    scalars = [value for value in branches if isinstance(value, (Scalar, Const))]
    if arrays:
        merged = elementwise([*arrays, *scalars], call)
        dtype = merged.dtype if isinstance(merged, Array) else None
    else:
        floating = any(isinstance(v, Const) and isinstance(v.value, float) for v in scalars)
        whole = all(isinstance(v, Const) and isinstance(v.value, int) for v in scalars)
        dtype = call.float if floating else call.int if whole else None
    return call.array(shape, dtype)


@_named("sum", "prod", "nansum")
def _sum(call: Call) -> Value:
    array = _first(call)
    if array is None:
        return UNKNOWN
    dtype = call.int if array.dtype == "bool" else array.dtype
    return reduce_axes(array, call, 1, call.dtype(2, dtype))


@_named("max", "min", "amax", "amin", "nanmax", "nanmin", "median_")
def _extreme(call: Call) -> Value:
    array = _first(call)
    return UNKNOWN if array is None else reduce_axes(array, call, 1, array.dtype)


@_named("mean", "std", "var", "average", "median", "nanmean")
def _mean(call: Call) -> Value:
    array = _first(call)
    if array is None:
        return UNKNOWN
    dtype = call.float if array.dtype is not None and kind(array.dtype) <= 1 else array.dtype
    return reduce_axes(array, call, 1, dtype)


@_named("any", "all")
def _any(call: Call) -> Value:
    array = _first(call)
    return UNKNOWN if array is None else reduce_axes(array, call, 1, "bool")


@_named("argmax", "argmin", "count_nonzero")
def _position(call: Call) -> Value:
    array = _first(call)
    return UNKNOWN if array is None else reduce_axes(array, call, 1, call.int)


@_named("argsort")
def _argsort(call: Call) -> Value:
    array = _first(call)
    return UNKNOWN if array is None else replace(array, dtype=call.int)


@_named("interp")
def _interp(call: Call) -> Value:
    array = _first(call)
    return call.array(array.shape if array else None, call.float)


@_named("take")
def _take(call: Call) -> Value:
    array = _first(call)
    return call.array(None, array.dtype if array else None)


_SCALAR_TYPES = words(
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 bool_ "
    "bfloat16 single double half float_ int_ intp"
)


def dtype_call(name: str, call: Call) -> Value | None:
    """`np.float32(x)`: None when the name is no dtype."""
    if name not in _SCALAR_TYPES:
        return None
    array = _first(call)
    dtype = from_value(Const(name))
    return call.array(array.shape if array else (), dtype)


# ---------------------------------------------------------------- random numbers


def _generator_shape(call: Call, position: int) -> Shape | None:
    size = call.get("size", position)
    return () if size is None or size == Const(None) else as_shape(size)


_SIZE_AT = {
    **dict.fromkeys(("random", "random_sample", "ranf", "sample", "standard_normal", "standard_exponential"), 0),
    **dict.fromkeys(("exponential", "poisson", "rayleigh", "standard_gamma", "chisquare", "standard_t"), 1),
    **dict.fromkeys(("geometric", "dirichlet", "weibull", "pareto", "zipf", "power"), 1),
    **dict.fromkeys(("normal", "uniform", "integers", "randint", "laplace", "gumbel", "logistic"), 2),
    **dict.fromkeys(("lognormal", "beta", "gamma", "binomial", "vonmises", "f", "wald"), 2),
    "triangular": 3,
}
_WHOLE = {"integers", "randint", "poisson", "binomial", "geometric", "zipf"}


def numpy_random(name: str, call: Call) -> Value:
    """`np.random.NAME(...)` or a generator's method."""
    if name in ("rand", "randn"):
        return call.array(tuple(as_int(value) for value in call.args), "float64")
    if name == "permutation":
        number = as_int(call.args[0]) if call.args else None
        array = _first(call)
        if number is not None:
            return call.array((number,), "int64")
        return call.array(array.shape if array else None, array.dtype if array else None)
    if name == "choice":
        size = call.get("size", 1)
        array = _first(call)
        dtype = "int64" if array is None or array.shape == () else array.dtype
        return call.array(() if size is None else as_shape(size), dtype)
    if name not in _SIZE_AT:
        return UNKNOWN
    if name == "dirichlet":
        return call.array(None, "float64")
    positions = {"random": 1, "standard_normal": 1, "standard_exponential": 1, "integers": 3, "randint": 3}
    default = "int64" if name in _WHOLE else "float64"
    shape = _generator_shape(call, _SIZE_AT[name])
    if shape == () and any(isinstance(value, (Array, Sequence)) for value in call.args):
        shape = None
    return call.array(shape, call.dtype(positions.get(name), default))


_JAX_SHAPE_AT = {
    **dict.fromkeys(("normal", "uniform", "exponential", "laplace", "gumbel", "logistic", "cauchy", "bits", "ball"), 1),
    **dict.fromkeys(("randint", "bernoulli", "poisson", "gamma", "beta", "truncated_normal"), 2),
    **dict.fromkeys(("rademacher",), 1),
    "orthogonal_": 1,
}


def jax_random(name: str, call: Call) -> Value:
    """`jax.random.NAME(...)`."""
    if name in ("key", "fold_in", "wrap_key_data", "clone"):
        return call.array((), "key<fry>")
    if name == "split":
        given = call.get("num", 1)
        keys = (2,) if given is None else as_shape(given)
        count = keys[0] if keys is not None and len(keys) == 1 else None
        if count is not None and count <= 64:
            return Sequence((call.array((), "key<fry>"),) * count)
        return call.array(keys, "key<fry>")
    if name == "permutation":
        number = as_int(call.args[1]) if len(call.args) > 1 else None
        second = as_array(call.args[1], call) if len(call.args) > 1 else None
        return call.array((number,), call.int) if number is not None else second or call.array(None, None)
    if name == "choice":
        wanted = call.get("shape", 2)
        return call.array(() if wanted is None else as_shape(wanted), None)
    if name not in _JAX_SHAPE_AT:
        return call.array(None, None)
    position = 1 if name in ("randint",) else _JAX_SHAPE_AT[name]
    if name == "truncated_normal":
        position = 3
    shape_value = call.get("shape", position)
    shape = () if shape_value is None else as_shape(shape_value)
    if name == "bernoulli":
        return call.array(shape, "bool")
    if name == "randint":
        return call.array(shape, call.dtype(4, call.int))
    if name in ("poisson", "rademacher"):
        return call.array(shape, call.dtype(None, call.int))
    if name == "bits":
        return call.array(shape, call.dtype(None, "uint32"))
    if name in ("gamma", "beta"):
        return call.array(shape, call.dtype(None, call.float))
    default_at = {"uniform": 2, "normal": 2, "truncated_normal": 4}.get(name)
    return call.array(shape, call.dtype(default_at, call.float))
