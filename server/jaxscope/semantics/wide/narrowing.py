"""What becomes of 64-bit NumPy data in 32 bits, where the source shows its values."""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from jaxscope.semantics.evaluation.arguments import Given, arguments
from jaxscope.semantics.evaluation.values import Const, External, Sequence, Value
from jaxscope.semantics.names.scopes import AttributeWrite, Binding, Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.captured.capture import Mark
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

_LITERAL = ("array", "asarray", "full")
_WHOLE = ("zeros", "ones", "empty", "eye", "identity", "zeros_like", "ones_like", "empty_like", "tri")
_READING = ("load", "genfromtxt", "memmap", "from", "read")


@dataclass(frozen=True, slots=True)
class Narrowed:
    """`changes` None: not known. `before` and `after` are the first value that changes, where it is written out."""

    changes: bool | None
    before: str = ""
    after: str = ""


def narrowing(ev: Evaluator, bound: Mark | None, dtype: str) -> Narrowed:
    """What 32 bits make of an array that is bound at a place."""
    given = _given(bound) if bound is not None else None
    if bound is None or given is None:
        return Narrowed(None)
    return _of(ev, *given, ev.model_of(given[1].module_part()), dtype)


def _given(mark: Mark) -> tuple[ast.expr, Scope] | None:
    """The expression that is assigned at a place, or the call that stands there."""
    for scope in facts_of(mark.chunk).scopes:
        found = next((call for call, _ in scope.calls if call is mark.node), None)
        if found is not None:
            return found, scope
        bindings: Iterator[AttributeWrite | Binding] = chain(*scope.bindings.values())
        for one in chain(scope.writes, bindings):
            if one.node is mark.node and one.value is not None:
                value: ast.expr | None = one.value
                for step in one.path:
                    items = value.elts if isinstance(value, ast.Tuple | ast.List) else []
                    value = items[step] if -len(items) <= step < len(items) else None
                return (value, one.scope) if value is not None else None
    return None


def _of(ev: Evaluator, node: ast.expr, scope: Scope, model: FileModel, dtype: str) -> Narrowed:
    frame = ev.generic_frame(scope, model)
    if isinstance(node, ast.Call):
        callee = ev.evaluate(node.func, scope, frame)
        name = callee.name.rpartition(".")[2] if isinstance(callee, External) else ""
        given = arguments(ev, node, scope, frame)
        if name in _WHOLE:
            return Narrowed(False)
        if name.startswith(_READING):
            return Narrowed(None)
        if name in _LITERAL:
            return _of_numbers(given.args[1 if name == "full" else 0 :][:1], dtype)
        if name == "arange":
            return _of_range(given, dtype)
    if dtype.startswith(("float", "complex")):
        return Narrowed(True)  # what is computed hardly ever fits into half the bits
    return Narrowed(None)


def _of_range(given: Given, dtype: str) -> Narrowed:
    numbers = [value.value for value in given.args if isinstance(value, Const)]
    whole = all(isinstance(number, int | float) and number == int(number) for number in numbers)
    known = len(numbers) == len(given.args) and whole
    if not known:
        return Narrowed(None if dtype.startswith("int") else True)
    return _of_numbers([Const(number) for number in numbers], dtype)


def _of_numbers(values: list[Value], dtype: str) -> Narrowed:
    for value in _leaves(values):
        if not isinstance(value, Const):
            return Narrowed(None)
        after = _in_32_bits(value.value, dtype)
        if after != value.value and value.value == value.value:  # NaN stays NaN
            return Narrowed(True, repr(value.value), repr(after))
    return Narrowed(False)


def _leaves(values: list[Value] | tuple[Value, ...]) -> Iterator[Value]:
    for value in values:
        if isinstance(value, Sequence) and value.items is not None:
            yield from _leaves(value.items)
        else:
            yield value


def _in_32_bits(number: Any, dtype: str) -> Any:
    if isinstance(number, complex) and dtype.startswith("complex"):
        return complex(_in_32_bits(number.real, "float64"), _in_32_bits(number.imag, "float64"))
    if isinstance(number, int | float) and dtype.startswith(("float", "complex")):
        try:
            return struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")
    if isinstance(number, int) and dtype.startswith("uint"):
        return number % 2**32
    if isinstance(number, int):
        return (number + 2**31) % 2**32 - 2**31
    return number
