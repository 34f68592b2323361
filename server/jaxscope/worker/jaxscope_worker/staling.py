"""Compares what traced functions read from outside, as it was when they were traced, with what it is in the end.

What is read is told by the functions' code: names, attributes and written-out keys after them. Only numbers, the
elements of small NumPy arrays, and whether something is the same object are kept; no array is kept alive.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import weakref
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MappingProxyType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy

from .targets import Target

_MOST_TRACES = 4
"""Traces of one function that are looked at."""
_MOST_BYTES = 1 << 20
"""Larger arrays are not compared by their elements."""
_KEPT_BYTES = 1 << 16
"""NumPy arrays up to this size are copied, since they may change in place."""
_NUMBERS = (bool, int, float, complex)
_FIXED = (FunctionType, MethodType, ModuleType, type)
_COMPUTED = (property, functools.cached_property)
_ROOTS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
_PAIRS = ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_KEYS = ("LOAD_CONST", "LOAD_SMALL_INT")
_SILENT = ("CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG")
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


@dataclass(eq=False)
class Seen:
    """One reading, of one trace."""

    function: tuple[str, str, int]
    """File, qualified name and line of the function that reads."""
    chain: _Chain
    holder: Any
    """A dict of globals, a reference to the object, a cell with a number, or a function and which cell of its."""
    then: tuple[Any, ...]
    """Empty for a cached property that has no value yet."""
    ours: tuple[Any, ...] | None = None
    """What our own traces left there since."""

    @property
    def name(self) -> str:
        """As one writes it."""
        return str(self.chain)

    def value(self) -> Any:
        """What it comes to now; no code of the user's is run for it, so that properties come to nothing."""
        return _value(self.holder, self.chain)

    def has_changed(self) -> bool:
        """Is it, by the program's doing, another than when it was traced?"""
        value = self.value()
        both = (self.then,) if self.ours is None else (self.then, self.ours)
        try:
            return value is not _GONE and self.then != () and all(_differs(known, value) for known in both)
        except Exception:  # it pretends to be what it stands for, which is not there now
            return False

    def before(self) -> tuple[Any, ...]:
        """What it was, alone in a tuple; nothing where that is gone."""
        kind, known, *copies = self.then
        if kind is _NUMBERS:
            return (known,)
        value = kind() if kind is not None else None
        return (value,) if value is not None and _elements(value) == known else tuple(copies)

    def in_place(self) -> Any:
        """The array of which only elements have changed; None for anything else."""
        kind, known, *_ = self.then
        value = self.value()
        return value if known is not None and kind is not _NUMBERS and kind is not None and kind() is value else None

    def put(self, value: Any) -> bool:
        """Gives it another value, past all code of the user's. False where that cannot be."""
        try:
            return _put(self.holder, self.chain, value)
        except Exception:
            return False


class Staling:
    """The readings of one run."""

    def __init__(self) -> None:
        self._seen: list[Seen] = []
        self._traces: Counter[tuple[str, str, int]] = Counter()

    def note(self, target: Target, fun: Any, arguments: list[tuple[str, Any, bool, bool]]) -> tuple[Seen, ...]:
        """What a function is about to read while it is traced."""
        where = (target.path, target.qualname, target.line)
        self._traces[where] += 1
        if self._traces[where] > _MOST_TRACES:
            return ()
        holders = _holders(target.function, fun, arguments)
        code = target.function.__code__
        found = []
        for chain in dict.fromkeys(_known_part(holders, chain) for chain in _chains(code) if chain.root in holders):
            holder = holders[chain.root]
            value = _value(holder, chain)
            if isinstance(holder, CellType) and type(value) not in _NUMBERS:
                at = code.co_freevars.index(chain.root)
                holder = weakref.ref(target.function), at  # what is in the cell must not live longer
            if _is_cached(holder, chain):
                found.append(Seen(where, chain, holder, ()))
            elif value is not _GONE and not isinstance(value, _FIXED):
                found.append(Seen(where, chain, holder, _known(value)))
        self._seen += found
        return tuple(found)

    def traced(self, readings: Iterable[Seen]) -> None:
        """Their function has been traced: cached properties that it read have a value now."""
        for seen in readings:
            value = seen.value() if seen.then == () else _GONE
            if value is not _GONE and not isinstance(value, _FIXED):
                seen.then = _known(value)

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """What changes inside is not the program's doing: something is traced for its own sake."""
        same = [seen for seen in self._seen if not seen.has_changed()]
        try:
            yield
        finally:
            for seen in same:
                value = seen.value()
                if value is not _GONE and seen.then != () and _differs(seen.then, value):
                    seen.ours = _known(value)


def as_number(value: Any) -> str:
    """As one writes a number; empty for anything else."""
    return repr(value) if type(value) in _NUMBERS else ""


@contextlib.contextmanager
def as_they_are(readings: Iterable[Seen]) -> Iterator[None]:
    """Puts back afterwards what is another then. What changes in place stays."""
    values = [(seen, seen.value()) for seen in readings]
    try:
        yield
    finally:
        for seen, value in values:
            if value is not _GONE and seen.value() is not value:
                seen.put(value)


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
        except TypeError:  # of a class with `__slots__`; JAX keeps it too
            found[name] = _Object(value)
    return found


@dataclass(frozen=True)
class _Object:
    """Stands for a weak reference."""

    value: Any

    def __call__(self) -> Any:
        return self.value


def _known_part(holders: dict[str, Any], chain: _Chain) -> _Chain:
    """Without what only running code of the user's, or of an array's class, would tell: `table` of `table.sum`."""
    holder = holders[chain.root]
    while chain.links and _value(holder, chain) is _GONE and not _is_cached(holder, chain):
        chain = chain._replace(links=chain.links[:-1])
    return chain


def _is_cached(holder: Any, chain: _Chain) -> bool:
    """Is it a cached property that has no value yet?"""
    if not chain.links or chain.links[-1][0] != ".":
        return False
    owner, name = _value(holder, chain._replace(links=chain.links[:-1])), chain.links[-1][1]
    try:
        kept = owner.__dict__
    except Exception:  # there is none, or it is computed
        return False
    return type(kept) is dict and name not in kept and isinstance(_shared(owner, name), functools.cached_property)


def _shared(owner: Any, name: str) -> Any:
    """What the class of an object has under a name."""
    return next((vars(one)[name] for one in type(owner).__mro__ if name in vars(one)), _GONE)


@functools.lru_cache(maxsize=512)
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
        if name in _SILENT:
            continue
        if root and name in _ATTRIBUTES and step is not None and key is _GONE:
            links.append((".", step.argval))
        elif root and name in _KEYS and step is not None and key is _GONE:
            key = step.argval
        elif root and isinstance(key, (str, int)) and _is_subscript(step):
            links.append(("[]", key))
            key = _GONE
        else:
            if root:
                yield _Chain(root, tuple(links))
            root, links, key = _root(step), [], _GONE


def _is_subscript(step: dis.Instruction | None) -> bool:
    """`BINARY_OP` from Python 3.14 on."""
    return step is not None and (step.opname == "BINARY_SUBSCR" or (step.opname, step.argrepr) == ("BINARY_OP", "[]"))


def _root(step: dis.Instruction | None) -> str:
    """The name that an instruction leaves on top of the stack; empty for any other."""
    if step is None:
        return ""
    if step.opname in _PAIRS and isinstance(step.argval, tuple):
        return str(step.argval[-1])
    return step.argval if step.opname in _ROOTS and isinstance(step.argval, str) else ""


def _value(holder: Any, chain: _Chain) -> Any:
    try:
        value = _held(holder, chain.root)
        for kind, key in chain.links:
            value = _link(value, kind, key)
        return value
    except Exception:  # an object may compute its `__dict__`
        return _GONE


def _held(holder: Any, root: str) -> Any:
    if isinstance(holder, dict):
        return holder[root]
    if isinstance(holder, (weakref.ref, _Object)):
        return holder()
    return _cell(holder).cell_contents


def _cell(holder: Any) -> CellType:
    return holder if isinstance(holder, CellType) else holder[0]().__closure__[holder[1]]


def _link(value: Any, kind: str, key: Any) -> Any:
    if kind == "[]":
        return value[key] if type(value) in (dict, list, tuple) else _GONE
    slot = _shared(value, key)
    if isinstance(slot, MemberDescriptorType):
        return slot.__get__(value)
    own = value.__dict__
    if key in own:
        return own[key]
    shared = vars(type(value)).get(key, _GONE)
    return _GONE if isinstance(shared, _COMPUTED) else shared


def _put(holder: Any, chain: _Chain, value: Any) -> bool:
    if chain.links:
        kind, key = chain.links[-1]
        owner = _value(holder, chain._replace(links=chain.links[:-1]))
        slot = _shared(owner, key) if kind == "." else None
        if isinstance(slot, MemberDescriptorType):
            slot.__set__(owner, value)
            return True
        if kind == "." and type(owner.__dict__) is MappingProxyType:
            if isinstance(owner, type) and key in owner.__dict__:
                type.__setattr__(owner, key, value)
                return True
            return False
        inside = owner if kind == "[]" else owner.__dict__
        if type(inside) not in (dict, list) or (type(inside) is dict and key not in inside):
            return False
        inside[key] = value
    elif isinstance(holder, dict):
        holder[chain.root] = value
    elif isinstance(holder, (weakref.ref, _Object)):
        return False
    else:
        _cell(holder).cell_contents = value
    return True


def _known(value: Any) -> tuple[Any, ...]:
    if type(value) in _NUMBERS or value is None:
        return _NUMBERS, value
    try:
        reference: Any = weakref.ref(value)
    except TypeError:
        return None, id(value)
    copies = (value.copy(),) if isinstance(value, numpy.ndarray) and value.nbytes <= _KEPT_BYTES else ()
    return reference, _elements(value), *copies


def _differs(then: tuple[Any, ...], value: Any) -> bool:
    kind, known, *_ = then
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
