"""Functions on each element, and reductions."""

from __future__ import annotations

from dataclasses import replace

from jaxscope.semantics.evaluation.arrays import (
    Call,
    Handler,
    as_array,
    broadcast,
    elementwise,
    reduce_axes,
)
from jaxscope.semantics.evaluation.dtypes import from_value, kind
from jaxscope.semantics.evaluation.values import UNKNOWN, Array, Const, Scalar, Value
from jaxscope.semantics.library.table import TABLE, first_array, named
from jaxscope.semantics.vocabulary import words

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
_SHAPED = words("roll flip fliplr flipud sort cumsum cumprod tril triu ascontiguousarray block_until_ready")


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
    TABLE[_name] = _elementwise(True, False)
for _name in _SAME:
    TABLE[_name] = _elementwise(False, False)
for _name in _BOOLEAN:
    TABLE[_name] = _elementwise(False, True)


@named(*_SHAPED)
def _same_shape(call: Call) -> Value:
    array = first_array(call)
    if array is None:
        return call.array(None, None)
    return array


@named("where")
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


@named("sum", "prod", "nansum")
def _sum(call: Call) -> Value:
    array = first_array(call)
    if array is None:
        return UNKNOWN
    dtype = call.int if array.dtype == "bool" else array.dtype
    return reduce_axes(array, call, 1, call.dtype(2, dtype))


@named("max", "min", "amax", "amin", "nanmax", "nanmin", "median_")
def _extreme(call: Call) -> Value:
    array = first_array(call)
    return UNKNOWN if array is None else reduce_axes(array, call, 1, array.dtype)


@named("mean", "std", "var", "average", "median", "nanmean")
def _mean(call: Call) -> Value:
    array = first_array(call)
    if array is None:
        return UNKNOWN
    dtype = call.float if array.dtype is not None and kind(array.dtype) <= 1 else array.dtype
    return reduce_axes(array, call, 1, dtype)


@named("any", "all")
def _any(call: Call) -> Value:
    array = first_array(call)
    return UNKNOWN if array is None else reduce_axes(array, call, 1, "bool")


@named("argmax", "argmin", "count_nonzero")
def _position(call: Call) -> Value:
    array = first_array(call)
    return UNKNOWN if array is None else reduce_axes(array, call, 1, call.int)


@named("argsort")
def _argsort(call: Call) -> Value:
    array = first_array(call)
    return UNKNOWN if array is None else replace(array, dtype=call.int)


@named("interp")
def _interp(call: Call) -> Value:
    array = first_array(call)
    return call.array(array.shape if array else None, call.float)


@named("take")
def _take(call: Call) -> Value:
    array = first_array(call)
    return call.array(None, array.dtype if array else None)
