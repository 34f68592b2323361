"""The array lattice: what NumPy's and jax.numpy's functions and operators make of shapes and dtypes.

A function that is not in the tables gives `UNKNOWN`; a size that does not follow from the source is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, prod

from jaxscope.semantics.evaluation.dtypes import (
    default_for,
    from_value,
    item_bytes,
    kind,
    narrowed,
    promote,
    with_scalar,
)
from jaxscope.semantics.evaluation.values import (
    UNKNOWN,
    Array,
    Const,
    Library,
    Scalar,
    Sequence,
    Shape,
    Value,
    join,
)


@dataclass(slots=True)
class Call:
    """Arguments of one call of a library function, and under which rules it happens."""

    args: list[Value]
    keywords: dict[str, Value]
    library: Library
    x64: bool
    made: bool = False
    """Is it made while tracing?"""

    def get(self, name: str, position: int | None = None) -> Value | None:
        """The argument by name or position; None when it is not given."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.args):
            return self.args[position]
        return None

    def array(self, shape: Shape | None, dtype: str | None) -> Array:
        """A new array with these facts, under the rules of this call."""
        source = dtype
        if self.library == "jax":
            dtype = narrowed(dtype, self.x64)
        made = self.made and self.library == "numpy"
        return Array(shape, dtype, self.library, made, source if source != dtype else None)

    def dtype(self, position: int | None, default: str | None) -> str | None:
        """The `dtype` argument, else `default`; None when it is given but not known."""
        given = self.get("dtype", position)
        if given is None or given == Const(None):
            return default
        return from_value(given)

    @property
    def float(self) -> str:
        """The default floating dtype."""
        return "float64" if self.library == "numpy" or self.x64 else "float32"

    @property
    def int(self) -> str:
        """The default integer dtype."""
        return "int64" if self.library == "numpy" or self.x64 else "int32"


def size_bytes(array: Array, x64: bool) -> int | None:
    """Bytes of the array as it stands in a compiled program; None when not known."""
    width = item_bytes(narrowed(array.dtype, x64))
    sizes = array.shape
    if width is None or sizes is None or any(size is None for size in sizes):
        return None
    return width * prod(size for size in sizes if size is not None)


def most_bytes(array: Array) -> int | None:
    """Bytes of the array if its dtype is the largest that there is; None when its shape is not known."""
    return size_bytes(replace(array, dtype="complex128"), True)


def as_int(value: Value | None) -> int | None:
    """A known integer."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return int(value.value)
    return None


def as_shape(value: Value | None) -> Shape | None:
    """A shape argument: a number or a sequence of numbers."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return (int(value.value),)
    if isinstance(value, Sequence) and value.items is not None:
        return tuple(as_int(item) for item in value.items)
    if isinstance(value, Scalar) and value.kind == "int":
        return (None,)
    return None


def shape_value(shape: Shape | None) -> Value:
    """`x.shape` as a value."""
    if shape is None:
        return Sequence(None, Scalar("int"))
    return Sequence(tuple(Scalar("int") if size is None else Const(size) for size in shape))


def broadcast(shapes: list[Shape | None]) -> Shape | None:
    """Shape of an elementwise operation."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max((len(shape) for shape in known), default=0)
    result: list[int | None] = []
    for axis in range(rank):
        sizes = [shape[axis - rank] for shape in known if len(shape) >= rank - axis]
        big = {size for size in sizes if size is not None and size != 1}
        if len(big) == 1:
            result.append(big.pop())
        elif not big and None not in sizes:
            result.append(1)
        else:
            result.append(None)
    return tuple(result)


def as_array(value: Value, call: Call) -> Array | None:
    """What `asarray` makes of a value; None when it is not known to be array-like."""
    if isinstance(value, Array):
        return value
    if isinstance(value, (Scalar, Const)):
        dtype = default_for(value, call.library, call.x64)
        return None if dtype is None else call.array((), dtype)
    if isinstance(value, Sequence):
        inner = as_array(value.any_item(), call) if value.length() else None
        if inner is None and value.items:
            parts = [as_array(item, call) for item in value.items]
            if any(part is None for part in parts):
                return None
            dtypes = {part.dtype for part in parts if part is not None}
            wide: str | None = next((d for d in ("complex128", "complex64", "float64", "float32") if d in dtypes), None)
            wide = dtypes.pop() if len(dtypes) == 1 else wide
            shapes = {part.shape for part in parts if part is not None}
            return call.array((len(parts), *(shapes.pop() or ())), wide) if len(shapes) == 1 else call.array(None, wide)
        if inner is None:
            return None
        shape = None if inner.shape is None else (value.length(), *inner.shape)
        return call.array(shape, inner.dtype)
    return None


def elementwise(operands: list[Value], call: Call, *, floating: bool = False, boolean: bool = False) -> Value:
    """An operation that acts on each element, with broadcasting."""
    arrays = [value for value in operands if isinstance(value, Array)]
    scalars = [value for value in operands if not isinstance(value, Array)]
    if not arrays:
        return UNKNOWN
    known = all(isinstance(value, (Scalar, Const)) for value in scalars)
    shape = broadcast([array.shape for array in arrays]) if known else None
    library: Library = "numpy" if all(array.library == "numpy" for array in arrays) else "jax"
    dtype = arrays[0].dtype
    for array in arrays[1:]:
        dtype = promote(dtype, array.dtype, library)
    for scalar in scalars:
        dtype = with_scalar(dtype, scalar, library, call.x64)
    if floating and dtype is not None and kind(dtype) <= 1:
        dtype = narrowed("float64", call.x64 or library == "numpy")
    if boolean:
        dtype = "bool"
    made = library == "numpy" and any(array.made for array in arrays)
    return Array(shape, dtype, library, made and all(a.made for a in arrays if a.shape != ()))


def matmul(a: Value, b: Value, call: Call) -> Value:
    """`a @ b`."""
    if not (isinstance(a, Array) and isinstance(b, Array)):
        arrays = [v for v in (a, b) if isinstance(v, Array)]
        return replace(arrays[0], shape=None, dtype=None) if arrays else UNKNOWN
    both = elementwise([a, b], call)
    if not isinstance(both, Array) or a.shape is None or b.shape is None or not a.shape or not b.shape:
        return replace(both, shape=None) if isinstance(both, Array) else UNKNOWN
    if len(a.shape) == 1 and len(b.shape) == 1:
        shape: Shape | None = ()
    elif len(b.shape) == 1:
        shape = a.shape[:-1]
    elif len(a.shape) == 1:
        shape = (*b.shape[:-2], b.shape[-1])
    else:
        batch = broadcast([a.shape[:-2], b.shape[:-2]])
        shape = None if batch is None else (*batch, a.shape[-2], b.shape[-1])
    return replace(both, shape=shape)


def reduce_axes(array: Array, call: Call, first: int, dtype: str | None) -> Value:
    """A reduction over `axis` (argument number `first`), or over everything."""
    axis, keep = call.get("axis", first), call.get("keepdims")
    keeps = isinstance(keep, Const) and bool(keep.value)
    if axis is None or axis == Const(None):
        if not keeps:
            return Array((), dtype, array.library, array.made)
        return replace(array, shape=None if array.shape is None else (1,) * len(array.shape), dtype=dtype)
    axes = as_shape(axis)
    if array.shape is None or axes is None or any(a is None for a in axes):
        return replace(array, shape=None, dtype=dtype)
    rank = len(array.shape)
    gone = {a % rank for a in axes if a is not None} if rank else set()
    shape = tuple(1 if n in gone else s for n, s in enumerate(array.shape) if keeps or n not in gone)
    return replace(array, shape=shape, dtype=dtype)


def reshaped(array: Array, wanted: Shape | None) -> Array:
    """`reshape`, with at most one -1."""
    if wanted is None:
        return replace(array, shape=None)
    total = None
    if array.shape is not None and None not in array.shape:
        total = prod(size for size in array.shape if size is not None)
    if -1 not in wanted:
        return replace(array, shape=wanted)
    rest = [size for size in wanted if size != -1]
    if total is None or None in rest:
        return replace(array, shape=tuple(None if size == -1 else size for size in wanted))
    known = prod(size for size in rest if size is not None)
    missing = total // known if known else None
    return replace(array, shape=tuple(missing if size == -1 else size for size in wanted))


def permuted(array: Array, axes: Shape | None) -> Array:
    """`transpose` with `axes`, or all axes reversed."""
    if array.shape is None:
        return array
    if axes is None:
        return replace(array, shape=tuple(reversed(array.shape)))
    if any(a is None for a in axes) or len(axes) != len(array.shape):
        return replace(array, shape=(None,) * len(array.shape))
    return replace(array, shape=tuple(array.shape[a] for a in axes if a is not None))


def stacked(call: Call, axis: int, new_axis: bool) -> Value:
    """`stack` and `concatenate` of a sequence of arrays."""
    parts = call.args[0] if call.args else UNKNOWN
    if isinstance(parts, Array):
        return parts if new_axis else call.array(None, parts.dtype)
    if not isinstance(parts, Sequence):
        return call.array(None, None)
    given = (parts.element,) if parts.items is None else parts.items
    items = [as_array(item, call) for item in given]
    if not items or any(item is None for item in items):
        return call.array(None, None)
    arrays = [item for item in items if item is not None]
    one = join(list(arrays))
    dtype = one.dtype if isinstance(one, Array) else None
    count = parts.length()
    rank = len(arrays[0].shape) if arrays[0].shape is not None else None
    if rank is None or any(array.shape is None or len(array.shape) != rank for array in arrays):
        return call.array(None, dtype)
    if new_axis:
        shape = one.shape if isinstance(one, Array) and one.shape is not None else (None,) * rank
        at = axis % (rank + 1)
        return call.array((*shape[:at], count, *shape[at:]), dtype)
    if rank == 0 or axis >= rank:
        return call.array(None, dtype)
    at = axis % rank
    sizes = [array.shape[at] for array in arrays if array.shape is not None]
    length: int | None = None
    if None not in sizes:
        total = sum(size for size in sizes if size is not None)
        length = total if parts.items is not None else (sizes[0] or 0) * count if count is not None else None
    base = one.shape if isinstance(one, Array) and one.shape is not None else (None,) * rank
    return call.array((*base[:at], length, *base[at + 1 :]), dtype)


def arange(call: Call) -> Value:
    """`arange(stop)`, `arange(start, stop[, step])`."""
    values = [v for v in (call.get("start", 0), call.get("stop", 1), call.get("step", 2)) if v is not None]
    floating = any(isinstance(v, Const) and isinstance(v.value, float) for v in values)
    unsure = any(not isinstance(v, (Const, Scalar)) for v in values)
    dtype = call.dtype(3, None if unsure else call.float if floating else call.int)
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, (int, float))]
    if len(numbers) != len(values) or not numbers:
        return call.array((None,), dtype)
    start: float = 0
    stop: float = numbers[0]
    step: float = 1
    if len(numbers) > 1:
        start, stop = numbers[0], numbers[1]
    if len(numbers) > 2:
        step = numbers[2]
    return call.array((max(0, ceil((stop - start) / step)) if step else None,), dtype)


def index(array: Array, items: list[Value]) -> Value:
    """`array[items]` for basic indexing and integer arrays; shape None when it is not clear."""
    if array.shape is None:
        return array
    used = sum(1 for item in items if item != Const(None) and item != Const(...))
    shape: list[int | None] = []
    at, advanced = 0, False
    for item in items:
        if item == Const(None):
            shape.append(1)
        elif item == Const(...):
            skip = len(array.shape) - used
            shape += array.shape[at : at + skip]
            at += skip
        elif at >= len(array.shape):
            return replace(array, shape=None)
        elif isinstance(item, Slice):
            shape.append(_sliced(array.shape[at], item))
            at += 1
        elif isinstance(item, Scalar) or (isinstance(item, Const) and isinstance(item.value, int)):
            at += 1
        elif isinstance(item, Array) and not advanced and item.dtype != "bool" and item.shape is not None:
            shape += item.shape
            at, advanced = at + 1, True
        else:
            return replace(array, shape=None)
    return replace(array, shape=(*shape, *array.shape[at:]))


@dataclass(frozen=True, slots=True)
class Slice(Value):
    """`start:stop:step`; a bound that is not known is `UNKNOWN`, one that is left out `Const(None)`."""

    start: Value
    stop: Value
    step: Value


def _sliced(size: int | None, part: Slice) -> int | None:
    bounds = [part.start, part.stop, part.step]
    if part == Slice(Const(None), Const(None), Const(None)):
        return size
    if size is None or not all(isinstance(b, Const) and (b.value is None or isinstance(b.value, int)) for b in bounds):
        return None
    values = [b.value for b in bounds if isinstance(b, Const)]
    return None if values[2] == 0 else len(range(*slice(*values).indices(size)))


Handler = Callable[[Call], Value]
