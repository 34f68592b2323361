"""Operators and iteration on abstract values that are no arrays."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from jaxscope.semantics.evaluation.arrays import Slice
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    FunctionValue,
    Instance,
    Mapping,
    PartialValue,
    Scalar,
    Sequence,
    Transformed,
    Tree,
    Value,
    join,
)

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_LARGEST = 1 << 62


def element(value: Value) -> Value:
    """What iterating gives."""
    if isinstance(value, Sequence):
        return value.any_item()
    if isinstance(value, Mapping):
        return join([Const(key) for key, _ in value.items])
    if isinstance(value, Array):
        return Array(None if value.shape is None else value.shape[1:], value.dtype, value.library, value.made)
    return TRACER if value is TRACER else UNKNOWN


def unpacked(value: Value, step: int) -> Value:
    """Item `step` of a value that is unpacked."""
    if isinstance(value, Sequence):
        return value.item(step)
    if isinstance(value, Transformed) and value.transform.members:
        return value.member(value.transform.members[step]) if 0 <= step < len(value.transform.members) else UNKNOWN
    if isinstance(value, Tree):
        return value.part(f"[{step}]")
    return element(value) if isinstance(value, Array) else TRACER if value is TRACER else UNKNOWN


def length(value: Value) -> int | None:
    """Number of items, when known."""
    if isinstance(value, Sequence):
        return value.length()
    if isinstance(value, Mapping):
        return len(value.items) or None
    if isinstance(value, Array) and value.shape:
        return value.shape[0]
    return None


def folded(op: ast.operator, left: Any, right: Any) -> Value:
    """An operation on two known Python values."""
    function = _OPERATORS.get(type(op))
    numbers = isinstance(left, (int, float, complex)) and isinstance(right, (int, float, complex))
    if function is None or not (numbers or (isinstance(left, str) and isinstance(right, str))):
        return UNKNOWN
    if isinstance(op, (ast.Pow, ast.LShift)) and (abs(left) > 1 << 32 or abs(right) > 64):
        return Scalar("int")
    try:
        result = function(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
    return UNKNOWN if isinstance(result, int) and abs(result) > _LARGEST else Const(result)


def sequence_operation(op: ast.operator, left: Value, right: Value) -> Value:
    if isinstance(op, ast.Add) and isinstance(left, Sequence) and isinstance(right, Sequence):
        if left.items is not None and right.items is not None:
            return Sequence(left.items + right.items)
        return Sequence(None, join([left.any_item(), right.any_item()]))
    if isinstance(op, ast.Mult):
        many, times = (left, right) if isinstance(left, Sequence) else (right, left)
        if isinstance(many, Sequence) and isinstance(times, Const) and isinstance(times.value, int):
            if many.items is not None and len(many.items) * times.value <= 64:
                return Sequence(many.items * times.value)
            total = many.length()
            return Sequence(None, many.any_item(), None if total is None else total * times.value)
        if isinstance(many, Sequence):
            return Sequence(None, many.any_item())
    return UNKNOWN


def sliced_sequence(value: Sequence, key: Slice) -> Value:
    bounds: list[Any] = [b.value if isinstance(b, Const) else UNKNOWN for b in (key.start, key.stop, key.step)]
    if all(b is None or isinstance(b, int) for b in bounds) and value.items is not None and bounds[2] != 0:
        return Sequence(value.items[slice(bounds[0], bounds[1], bounds[2])])
    return Sequence(None, value.any_item())


def number_kind(op: ast.operator, left: Value, right: Value) -> str:
    if isinstance(op, ast.Div):
        return "float"
    known = [value for value in (left, right) if isinstance(value, (Scalar, Const))]
    kinds = [value.kind if isinstance(value, Scalar) else type(value.value).__name__ for value in known]
    return next((word for word in ("str", "complex", "float") if word in kinds), "int")


def is_none(value: Value, wanted: bool) -> Value:
    """`value is None`, or `is not`, as far as it is known."""
    if isinstance(value, Const):
        return Const((value.value is None) is wanted)
    things = (Array, Sequence, Mapping, FunctionValue, Instance, ClassValue, Transformed, PartialValue, Tree)
    if isinstance(value, things):
        return Const(not wanted)
    return Scalar("bool")
