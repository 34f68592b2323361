"""Functions that make arrays: `zeros`, `arange`, `asarray`, `load` and their kin."""

from __future__ import annotations

from dataclasses import replace

from jaxscope.semantics.evaluation.arrays import (
    Call,
    arange,
    as_array,
    as_int,
    as_shape,
)
from jaxscope.semantics.evaluation.values import UNKNOWN, Array, Const, Sequence, Value
from jaxscope.semantics.library.table import TABLE, first_array, named


@named("zeros", "ones", "empty")
def _filled(call: Call) -> Value:
    return call.array(as_shape(call.get("shape", 0)), call.dtype(1, call.float))


@named("full")
def _full(call: Call) -> Value:
    fill = call.get("fill_value", 1)
    like = as_array(fill, call) if fill is not None else None
    return call.array(as_shape(call.get("shape", 0)), call.dtype(2, like.dtype if like else None))


@named("zeros_like", "ones_like", "empty_like", "full_like")
def _like(call: Call) -> Value:
    array = first_array(call)
    if array is None:
        return call.array(None, call.dtype(None, None))
    shape = call.get("shape")
    return call.array(array.shape if shape is None else as_shape(shape), call.dtype(None, array.dtype))


@named("eye")
def _eye(call: Call) -> Value:
    rows = as_int(call.get("N", 0))
    columns = call.get("M", 1)
    wide = rows if columns is None or columns == Const(None) else as_int(columns)
    return call.array((rows, wide), call.dtype(3, call.float))


@named("identity", "tri")
def _identity(call: Call) -> Value:
    size = as_int(call.get("n", 0) or call.get("N", 0))
    return call.array((size, size), call.dtype(1, call.float))


TABLE["arange"] = arange


@named("linspace", "logspace", "geomspace")
def _linspace(call: Call) -> Value:
    number = call.get("num", 2)
    count = 50 if number is None else as_int(number)
    ends = [as_array(value, call) for value in call.args[:2]]
    if any(end is None or end.shape != () for end in ends):
        return call.array(None, call.dtype(None, None))
    return call.array((count,), call.dtype(None, call.float))


@named("array", "asarray", "ascontiguousarray", "asanyarray", "copy", "asfortranarray", "frombuffer", "fromiter")
def _array(call: Call) -> Value:
    given = call.args[0] if call.args else call.get("object") or call.get("a") or UNKNOWN
    array = as_array(given, call)
    if array is None:
        return call.array(None, call.dtype(1, None))
    made = call.library == "numpy" and (array.made or (call.made and not isinstance(given, Array)))
    result = call.array(array.shape, call.dtype(1, array.dtype))
    return replace(result, made=made, source=result.source or array.source)


@named("load", "loadtxt", "genfromtxt", "fromfile", "memmap")
def _loaded(call: Call) -> Value:
    return call.array(None, call.dtype(None, None))


@named("meshgrid")
def _meshgrid(call: Call) -> Value:
    parts = [as_array(value, call) for value in call.args]
    sizes: list[int | None] = [p.shape[0] if p is not None and p.shape else None for p in parts]
    if len(sizes) > 1 and call.get("indexing") in (None, Const("xy")):
        sizes[0], sizes[1] = sizes[1], sizes[0]
    dtypes = [p.dtype if p is not None else None for p in parts]
    return Sequence(tuple(call.array(tuple(sizes), dtype) for dtype in dtypes))


@named("indices")
def _indices(call: Call) -> Value:
    shape = as_shape(call.get("dimensions", 0))
    return call.array(None if shape is None else (len(shape), *shape), call.dtype(1, call.int))
