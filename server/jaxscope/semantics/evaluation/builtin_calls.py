"""Calls of Python's builtins, as far as arrays or sizes go through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    Const,
    Mapping,
    ModuleValue,
    Scalar,
    Sequence,
    Value,
    join,
)

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_LONGEST = 64


def call(ev: Evaluator, name: str, args: list[Value], keywords: dict[str, Value], frame: Frame) -> Value:
    """Value of `name(*args, **keywords)` for a builtin."""
    function = _TABLE.get(name)
    if name == "globals":
        return ModuleValue(frame.model.path)
    if name == "dict":
        return _dict(args, keywords)
    if name == "getattr" and len(args) >= 2 and isinstance(args[1], Const):
        return ev.attribute(args[0], str(args[1].value), frame)
    if function is None:
        return UNKNOWN
    if TRACER in args:
        return TRACER
    return UNKNOWN if not args and name not in ("list", "tuple") else function(args)


def _length(value: Value) -> int | None:
    if isinstance(value, Sequence):
        return value.length()
    if isinstance(value, Mapping):
        return len(value.items) if value.element == UNKNOWN else None
    if isinstance(value, Array) and value.shape:
        return value.shape[0]
    return None


def _len(args: list[Value]) -> Value:
    if isinstance(args[0], Const) and isinstance(args[0].value, str):
        return Const(len(args[0].value))
    count = _length(args[0])
    return Scalar("int") if count is None else Const(count)


def _range(args: list[Value]) -> Value:
    numbers = [v.value for v in args if isinstance(v, Const) and isinstance(v.value, int)]
    if len(numbers) != len(args) or (len(numbers) == 3 and numbers[2] == 0) or len(numbers) > 3:
        return Sequence(None, Scalar("int"))
    values = range(*numbers)
    if len(values) <= _LONGEST and len(values) < 2:
        return Sequence(tuple(Const(n) for n in values))
    return Sequence(None, Scalar("int"), len(values))


def _items(value: Value) -> tuple[tuple[Value, ...] | None, Value, int | None]:
    if isinstance(value, Sequence):
        return value.items, value.any_item(), value.length()
    if isinstance(value, Mapping):
        keys = tuple(Const(key) for key, _ in value.items)
        return keys, join(keys), len(keys)
    if isinstance(value, Array) and value.shape:
        row = Array(value.shape[1:], value.dtype, value.library, value.made)
        return None, row, value.shape[0]
    return None, UNKNOWN, None


def _list(args: list[Value]) -> Value:
    if not args:
        return Sequence(())
    items, element, count = _items(args[0])
    return Sequence(items, element if items is None else UNKNOWN, count if items is None else None)


def _reversed(args: list[Value]) -> Value:
    items, element, count = _items(args[0])
    return Sequence(items[::-1]) if items is not None else Sequence(None, element, count)


def _sorted(args: list[Value]) -> Value:
    _, element, count = _items(args[0])
    return Sequence(None, element, count)


def _enumerate(args: list[Value]) -> Value:
    items, element, count = _items(args[0])
    if items is not None:
        return Sequence(tuple(Sequence((Const(n), item)) for n, item in enumerate(items)))
    return Sequence(None, Sequence((Scalar("int"), element)), count)


def _zip(args: list[Value]) -> Value:
    parts = [_items(value) for value in args]
    if all(items is not None for items, _, _ in parts):
        rows = zip(*(items for items, _, _ in parts if items is not None), strict=False)
        return Sequence(tuple(Sequence(row) for row in rows))
    counts = [count for _, _, count in parts]
    known = [count for count in counts if count is not None]
    count = min(known) if len(known) == len(counts) and known else None
    return Sequence(None, Sequence(tuple(element for _, element, _ in parts)), count)


def _dict(args: list[Value], keywords: dict[str, Value]) -> Value:
    items: dict[Any, Value] = {}
    if args:
        if not isinstance(args[0], Mapping):
            return TRACER if args[0] is TRACER else UNKNOWN
        items.update(args[0].items)
    items.update(keywords)
    return Mapping(tuple(items.items()))


def _number(kind: type) -> Any:
    def convert(args: list[Value]) -> Value:
        value = args[0]
        if isinstance(value, Const) and isinstance(value.value, (int, float)):
            try:
                return Const(kind(value.value))
            except (ArithmeticError, ValueError):
                return UNKNOWN
        return Scalar(kind.__name__)

    return convert


def _fold(function: Any) -> Any:
    def apply(args: list[Value]) -> Value:
        values = list(args)
        if len(args) == 1 and isinstance(args[0], Sequence):
            values = list(args[0].items or ()) or [UNKNOWN]
        numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, (int, float))]
        if len(numbers) == len(values) and numbers:
            result = function(numbers)
            return Const(result)
        return Scalar("float") if all(isinstance(v, (Const, Scalar)) for v in values) else UNKNOWN

    return apply


_TABLE: dict[str, Any] = {
    "len": _len,
    "range": _range,
    "list": _list,
    "tuple": _list,
    "reversed": _reversed,
    "sorted": _sorted,
    "enumerate": _enumerate,
    "zip": _zip,
    "int": _number(int),
    "float": _number(float),
    "bool": _number(bool),
    "max": _fold(max),
    "min": _fold(min),
    "sum": _fold(sum),
    "abs": _fold(lambda numbers: abs(numbers[0])),
    "round": _fold(lambda numbers: round(*numbers[:1])),
    "id": lambda args: Scalar("int"),
    "str": lambda args: Scalar("str"),
}
