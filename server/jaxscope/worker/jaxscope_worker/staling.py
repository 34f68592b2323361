"""Compares what traced functions read from outside, as it was when they were traced, with what it is in the end.

What is read is told by the functions' code: names, attributes and written-out keys after them. Only numbers and whether
something is the same object, or has the same elements, are kept; no array is kept alive.
"""

from __future__ import annotations

import dis
import weakref
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy

from .targets import Target
from .wire.stale import ChangedValue

_MOST_TRACES = 4
"""Traces of one function that are looked at."""
_MOST_BYTES = 1 << 20
"""Larger arrays are not compared by their elements."""
_NUMBERS = (bool, int, float, complex)
_FIXED = (FunctionType, MethodType, ModuleType, type, property)
_ROOTS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
_PAIRS = ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_GONE = object()


class _Chain(NamedTuple):
    """`root.a["k"]`: the root and what is written behind it."""

    root: str
    links: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        found = self.root
        for kind, key in self.links:
            found += f".{key}" if kind == "." else f'["{key}"]' if isinstance(key, str) else f"[{key!r}]"
        return found


class _Seen(NamedTuple):
    where: tuple[str, str, int]
    """File, qualified name and line of the function."""
    chain: _Chain
    holder: Any
    """A dict of globals, a reference to the object, a cell with a number, or a function and which cell of its."""
    then: tuple[Any, ...]


class Staling:
    """Those of one run."""

    def __init__(self) -> None:
        self._seen: list[_Seen] = []
        self._traces: Counter[tuple[str, str, int]] = Counter()

    def note(self, target: Target, fun: Any, arguments: list[tuple[str, Any, bool, bool]]) -> None:
        """Takes down what a function is about to read while it is traced."""
        where = (target.path, target.qualname, target.line)
        self._traces[where] += 1
        if self._traces[where] > _MOST_TRACES:
            return
        holders = _holders(target.function, fun, arguments)
        code = target.function.__code__
        for chain in _chains(code):
            holder = holders.get(chain.root)
            value = _GONE if holder is None else _value(holder, chain)
            if isinstance(holder, CellType) and type(value) not in _NUMBERS:
                at = code.co_freevars.index(chain.root)
                holder = weakref.ref(target.function), at  # what is in the cell must not live longer
            if value is not _GONE and not isinstance(value, _FIXED):
                self._seen.append(_Seen(where, chain, holder, _known(value)))

    def report(self) -> tuple[ChangedValue, ...]:
        """What has changed since."""
        found: dict[tuple[str, str, int, str], ChangedValue] = {}
        for seen in self._seen:
            value = _value(seen.holder, seen.chain)
            if value is _GONE or not _differs(seen.then, value):
                continue
            then = repr(seen.then[1]) if seen.then[0] is _NUMBERS else ""
            now = repr(value) if type(value) in _NUMBERS else ""
            key = (*seen.where, str(seen.chain))
            found.setdefault(key, ChangedValue(*key, then, now))
        return tuple(found.values())


def _holders(function: FunctionType, fun: Any, arguments: list[tuple[str, Any, bool, bool]]) -> dict[str, Any]:
    """By name, what gives the names of a function their values from outside."""
    code = function.__code__
    found: dict[str, Any] = dict.fromkeys(function.__globals__, function.__globals__)
    found.update(zip(code.co_freevars, function.__closure__ or (), strict=False))
    local = set(code.co_varnames)
    found = {name: holder for name, holder in found.items() if name not in local}
    objects = {name: value for name, value, static, _ in arguments if static}
    if isinstance(fun, MethodType) and code.co_varnames:
        objects[code.co_varnames[0]] = fun.__self__
    for name, value in objects.items():
        try:
            found[name] = weakref.ref(value)
        except TypeError:
            continue
    return found


@lru_cache(maxsize=512)
def _chains(code: CodeType) -> tuple[_Chain, ...]:
    """The names that code, and code nested in it, reads from outside, with what is written behind them."""
    found = dict.fromkeys(_written(code))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            own = set(constant.co_varnames)
            found.update(dict.fromkeys(chain for chain in _chains(constant) if chain.root not in own))
    return tuple(found)


def _written(code: CodeType) -> Iterator[_Chain]:
    root, links, key = "", [], _GONE
    for step in [*dis.get_instructions(code), None]:
        name = step.opname if step is not None else ""
        if name in ("CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG"):
            continue
        if root and name in _ATTRIBUTES and step is not None and key is _GONE:
            links.append((".", step.argval))
        elif root and name == "LOAD_CONST" and step is not None and key is _GONE:
            key = step.argval
        elif root and name == "BINARY_SUBSCR" and isinstance(key, (str, int)):
            links.append(("[]", key))
            key = _GONE
        else:
            if root:
                yield _Chain(root, tuple(links))
            root, links, key = _root(step), [], _GONE


def _root(step: dis.Instruction | None) -> str:
    """The name that an instruction leaves on top of the stack; empty for any other."""
    if step is None:
        return ""
    if step.opname in _PAIRS and isinstance(step.argval, tuple):
        return str(step.argval[-1])
    return step.argval if step.opname in _ROOTS and isinstance(step.argval, str) else ""


def _value(holder: Any, chain: _Chain) -> Any:
    """What a chain comes to now; no code of the user's is run for it, so that properties come to nothing."""
    try:
        if isinstance(holder, dict):
            value = holder[chain.root]
        elif isinstance(holder, weakref.ref):
            value = holder()
        elif isinstance(holder, tuple):
            value = holder[0]().__closure__[holder[1]].cell_contents
        else:
            value = holder.cell_contents
        for kind, key in chain.links:
            if kind == "[]":
                value = value[key] if type(value) in (dict, list, tuple) else _GONE
            elif isinstance(value, ModuleType) or hasattr(value, "__dict__"):
                own = value.__dict__
                value = own[key] if key in own else vars(type(value)).get(key, _GONE)
            else:
                return _GONE
        return value
    except (AttributeError, KeyError, ValueError, IndexError, TypeError):
        return _GONE


def _known(value: Any) -> tuple[Any, ...]:
    if type(value) in _NUMBERS or value is None:
        return _NUMBERS, value
    try:
        reference: Any = weakref.ref(value)
    except TypeError:
        return None, id(value)
    return reference, _elements(value)


def _differs(then: tuple[Any, ...], value: Any) -> bool:
    kind, known = then
    if kind is _NUMBERS:
        return type(value) is not type(known) or (value != known and not (value != value and known != known))
    if kind is None:
        return False  # an address alone may be another's meanwhile
    return kind() is not value or _elements(value) != known


def _elements(value: Any) -> int | None:
    """A sum over the elements of a NumPy array, which may change in place."""
    if isinstance(value, numpy.ndarray) and not value.dtype.hasobject and value.nbytes <= _MOST_BYTES:
        return zlib.adler32(numpy.ascontiguousarray(value).view(numpy.uint8).data)
    return None
