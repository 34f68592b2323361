"""Functions that join, repeat, reorder and multiply arrays."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from jaxscope.semantics.evaluation.arrays import (
    Call,
    as_array,
    as_int,
    as_shape,
    elementwise,
    matmul,
    permuted,
    reshaped,
    stacked,
)
from jaxscope.semantics.evaluation.values import UNKNOWN, Array, Const, Sequence, Shape, Value
from jaxscope.semantics.library.table import first_array, named


@named("stack")
def _stack(call: Call) -> Value:
    axis = call.get("axis", 1)
    at = 0 if axis is None else as_int(axis)
    return call.array(None, None) if at is None else stacked(call, at, True)


@named("concatenate", "concat")
def _concatenate(call: Call) -> Value:
    axis = call.get("axis", 1)
    at = 0 if axis is None else as_int(axis)
    return call.array(None, None) if at is None else stacked(call, at, False)


@named("vstack", "row_stack")
def _vstack(call: Call) -> Value:
    return stacked(call, 0, _item_rank(call) == 1)


@named("hstack")
def _hstack(call: Call) -> Value:
    return stacked(call, 0 if _item_rank(call) == 1 else 1, False)


@named("column_stack")
def _column_stack(call: Call) -> Value:
    return stacked(call, 1, _item_rank(call) == 1)


def _item_rank(call: Call) -> int | None:
    parts = call.args[0] if call.args else UNKNOWN
    one = as_array(parts.item(0), call) if isinstance(parts, Sequence) else None
    return len(one.shape) if one is not None and one.shape is not None else None


@named("repeat")
def _repeat(call: Call) -> Value:
    array, times = first_array(call), as_int(call.get("repeats", 1))
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


@named("tile")
def _tile(call: Call) -> Value:
    array, times = first_array(call), as_shape(call.get("reps", 1))
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


@named("transpose", "permute_dims", "matrix_transpose")
def _transpose(call: Call) -> Value:
    array, axes = first_array(call), call.get("axes", 1)
    if array is None:
        return UNKNOWN
    if axes is None or axes == Const(None):
        return permuted(array, None)
    return permuted(array, as_shape(axes) or (None,))


@named("swapaxes", "moveaxis", "rollaxis")
def _swapped(call: Call) -> Value:
    array = first_array(call)
    a, b = (as_int(v) for v in (*call.args[1:3], *(UNKNOWN, UNKNOWN))[:2])
    if array is None or array.shape is None or a is None or b is None:
        return UNKNOWN if array is None else replace(array, shape=None)
    rank = len(array.shape)
    if not (-rank <= a < rank and -rank <= b < rank):
        return replace(array, shape=None)
    if rank == 2:
        return array if a % 2 == b % 2 else permuted(array, None)
    return replace(array, shape=None if None in array.shape or len(set(array.shape)) > 1 else array.shape)


@named("reshape")
def _reshape(call: Call) -> Value:
    array = first_array(call)
    if array is None:
        return UNKNOWN
    wanted = call.get("shape", 1) or call.get("newshape")
    return reshaped(array, as_shape(wanted))


@named("ravel")
def _ravel(call: Call) -> Value:
    array = first_array(call)
    return UNKNOWN if array is None else reshaped(array, (-1,))


@named("squeeze")
def _squeeze(call: Call) -> Value:
    array = first_array(call)
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


@named("expand_dims")
def _expand_dims(call: Call) -> Value:
    array, axis = first_array(call), as_int(call.get("axis", 1))
    if array is None or array.shape is None or axis is None:
        return UNKNOWN if array is None else replace(array, shape=None)
    at = axis % (len(array.shape) + 1)
    return replace(array, shape=(*array.shape[:at], 1, *array.shape[at:]))


@named("broadcast_to")
def _broadcast_to(call: Call) -> Value:
    array = first_array(call)
    return call.array(as_shape(call.get("shape", 1)), array.dtype if array else None)


@named("diag")
def _diag(call: Call) -> Value:
    array = first_array(call)
    if array is None or array.shape is None or len(call.args) > 1 or call.keywords:
        return call.array(None, array.dtype if array else None)
    if len(array.shape) == 1:
        return replace(array, shape=(array.shape[0], array.shape[0]))
    sizes = [s for s in array.shape if s is not None]
    return replace(array, shape=(min(sizes) if len(sizes) == 2 else None,))


@named("pad")
def _pad(call: Call) -> Value:
    array, width = first_array(call), call.get("pad_width", 1)
    if array is None or array.shape is None:
        return call.array(None, array.dtype if array else None)
    number = as_int(width) if width is not None else None
    shape = tuple(None if number is None or s is None else s + 2 * number for s in array.shape)
    return replace(array, shape=shape)


@named("outer", "kron_")
def _outer(call: Call) -> Value:
    parts = [as_array(value, call) for value in call.args[:2]]
    if len(parts) < 2 or parts[0] is None or parts[1] is None:
        return call.array(None, None)
    both = elementwise([p for p in parts if p is not None], call)
    dtype = both.dtype if isinstance(both, Array) else None
    return call.array(tuple(_size(p.shape) for p in parts if p is not None), dtype)


@named("dot", "matmul")
def _dot(call: Call) -> Value:
    return matmul(call.args[0], call.args[1], call) if len(call.args) > 1 else UNKNOWN


@named("einsum")
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
