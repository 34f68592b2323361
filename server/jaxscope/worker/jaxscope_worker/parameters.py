"""What a function's parameters may be, by their names, annotations and code: where a guess begins."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import inspect
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterator
from types import CodeType
from typing import Any

from .guessing import Fixed, Leaf, Shaped, State, Tree

_DEPTH = 3
_MOST = 12
"""Parameters of a function that is guessed at."""
_MOST_VALUES = 10
_KEY = re.compile(r"(.*_)?(key|rng|prng|prngkey|rng_key|seed_key)s?\d*", re.I)
_RANKS = (
    (0, re.compile(r"lr|learning_rate|eps|epsilon|alpha|tau|temp(erature)?|dt|step(_size)?|lam|sigma|momentum|t|i|n")),
    (1, re.compile(r"b|b\d+|bias|(.*_)?bias|b_.*|gamma|beta")),
    (4, re.compile(r"im|img|imgs|image|images")),
)  # fmt: skip
_INTEGERS = re.compile(r"(.*_)?(ids|idx|indices|index|tokens|token_ids|step|i|n)")
_BOOLEANS = re.compile(r"(.*_)?(mask|masks|flag|done|valid)")
_JAXTYPING = {
    "bool": "bool", "int": "i32", "uint": "u32", "float": "f32", "complex": "c64", "bfloat": "bf16", "prng": "key",
}  # fmt: skip
_PYTHON = {int: "i32", float: "f32", bool: "bool", complex: "c64"}


class Beginning:
    """Makes the first states of a search."""

    def __init__(self, call: Callable[..., Any], static: Collection[str], free: Callable[[], int]) -> None:
        self._call, self._static, self._free = call, static, free
        self._hints = _hints(call)
        self._names: dict[str, int] = {}
        """Free dimensions that have a name in annotations."""

    def states(self) -> list[State]:
        """A guess by names and annotations, and some of other ranks; none where it is hopeless."""
        try:
            signature = inspect.signature(self._call)
        except (TypeError, ValueError):
            return []
        wanted = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        wanted = [p for p in wanted if p.default is p.empty]
        if len(wanted) > _MOST:
            return []
        return [state for rank in (2, 1, 3, 4, 0) if (state := self._state(wanted, rank)) is not None]

    def _state(self, wanted: list[inspect.Parameter], rank: int) -> State | None:
        arrays: dict[Leaf, Shaped] = {}
        trees = {item.name: self._tree(item.name, rank, arrays) for item in wanted}
        named = frozenset(item.name for item in wanted if item.kind is item.KEYWORD_ONLY)
        return State(trees, arrays, named)

    def _tree(self, name: str, rank: int, arrays: dict[Leaf, Shaped]) -> Tree:
        if name in self._static:
            values = python_values(self._call, name)
            return Fixed(values[0], tuple(values[1:]))
        hint = self._hints.get(name)
        tree = self._annotated(hint, arrays, _DEPTH) if hint is not None else None
        return tree if tree is not None else new_array(arrays, shape_by_name(name, self._free, rank))

    def _annotated(self, hint: Any, arrays: dict[Leaf, Shaped], depth: int) -> Tree | None:
        """What an annotation says; None where it says nothing of shapes."""
        shaped = self._jaxtyped(hint)
        if shaped is not None:
            return new_array(arrays, shaped)
        if isinstance(hint, type) and hint in _PYTHON:
            return new_array(arrays, Shaped((), _PYTHON[hint], weak=hint is not bool))
        fields = _fields(hint)
        if fields is None or depth == 0:
            return _not_traced(hint)
        own: dict[Leaf, Shaped] = {}
        made = {n: self._annotated(h, own, depth - 1) for n, h in fields.items()}
        for name, value in made.items():
            if value is None:
                made[name] = new_array(own, shape_by_name(name, self._free, 2))
            elif isinstance(value, Fixed):
                made[name] = value.value
        try:
            tree = _made(hint, made)
        except Exception:  # the user's class decides: it may be abstract, or want something else
            return None
        arrays.update(own)
        return tree

    def _jaxtyped(self, hint: Any) -> Shaped | None:
        """The array that a jaxtyping annotation means; of a union, the first that is one."""
        for option in typing.get_args(hint) if typing.get_origin(hint) is not None else (hint,):
            dtypes, dims = getattr(option, "dtypes", None), getattr(option, "dims", None)
            if dtypes is None or dims is None:
                continue
            name = dtypes[0] if isinstance(dtypes, (tuple, list)) and dtypes else "float32"
            kind = next((short for start, short in _JAXTYPING.items() if str(name).startswith(start)), "f32")
            return Shaped(tuple(self._dimensions(dims)), kind)
        return None

    def _dimensions(self, dims: Any) -> Iterator[int]:
        for dim in dims if isinstance(dims, (tuple, list)) else ():
            kind, name = type(dim).__name__, getattr(dim, "name", None)
            if "Variadic" in kind:
                continue
            if isinstance(getattr(dim, "size", None), int):
                yield dim.size
            else:
                yield self._names.setdefault(name, self._free()) if name else self._free()


def new_array(arrays: dict[Leaf, Shaped], shaped: Shaped) -> Leaf:
    """An array more."""
    leaf = Leaf()
    arrays[leaf] = shaped
    return leaf


def shape_by_name(name: str, free: Callable[[], int], rank: int = 2) -> Shaped:
    """What an array of that name is taken for at first."""
    if _KEY.fullmatch(name):
        return Shaped((), "key")
    rank = next((rank for rank, names in _RANKS if names.fullmatch(name)), rank)
    dtype = "i32" if _INTEGERS.fullmatch(name) else "bool" if _BOOLEANS.fullmatch(name) else "f32"
    return Shaped(tuple(free() for _ in range(rank)), dtype)


def _hints(call: Any) -> dict[str, Any]:
    while hasattr(call, "func"):
        call = call.func
    try:
        return typing.get_type_hints(inspect.unwrap(call))
    except Exception:
        return {}


def _fields(hint: Any) -> dict[str, Any] | None:
    """Fields of a named tuple or dataclass with their annotations."""
    if not isinstance(hint, type):
        return None
    if issubclass(hint, tuple) and hasattr(hint, "_fields"):
        hints = _hints(hint)
        return {name: hints.get(name) for name in hint._fields}
    if dataclasses.is_dataclass(hint):
        hints = _hints(hint)
        wanted = [f for f in dataclasses.fields(hint) if f.default is dataclasses.MISSING]
        return {f.name: hints.get(f.name) for f in wanted if f.default_factory is dataclasses.MISSING}
    return None


def _made(cls: Any, values: dict[str, Any]) -> Any:
    if issubclass(cls, tuple):
        return cls(**values)
    made = object.__new__(cls)
    for field in dataclasses.fields(cls):
        if field.name in values:
            value = values[field.name]
        elif field.default is not dataclasses.MISSING:
            value = field.default
        else:
            value = field.default_factory()  # type: ignore[misc]
        object.__setattr__(made, field.name, value)
    return made


def _not_traced(hint: Any) -> Fixed | None:
    """A value of a type that can be no array."""
    values = _values_of(hint)
    return Fixed(values[0], tuple(values[1:])) if values and hint not in _PYTHON else None


def _values_of(hint: Any) -> list[Any]:
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return list(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return list(_objects(hint))
    return list({bool: (True, False), int: (2, 3, 1, 0), float: (0.5, 1.0), str: ("",)}.get(hint, ()))


def _objects(cls: type) -> Iterator[Any]:
    """Objects of a class of options: those of its module, then one that is all default."""
    module = sys.modules.get(cls.__module__)
    yield from [value for value in vars(module).values() if type(value) is cls][:2] if module is not None else ()
    with contextlib.suppress(Exception):
        yield cls()


def python_values(call: Any, name: str) -> list[Any]:
    """Values that a static parameter may have: by its annotation, by what the code compares with, then at random."""
    found = [value for value in _values_of(_hints(call).get(name)) if value != ""]
    while hasattr(call, "func"):
        call = call.func
    code = getattr(inspect.unwrap(call), "__code__", None)
    constants = list(_constants(code)) if isinstance(code, CodeType) else []
    texts = [value for value in constants if isinstance(value, str) and value.isidentifier()]
    numbers = [
        value for value in constants if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 512
    ]
    tried = [*found, *texts[:4], *([] if found else [2, True, (2, 2), 0.5]), *numbers[:3], 1, False]
    return [value for at, value in enumerate(tried) if not any(_same(value, other) for other in tried[:at])][
        :_MOST_VALUES
    ]


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _constants(code: CodeType) -> Iterator[Any]:
    for value in code.co_consts[1:]:
        if isinstance(value, (tuple, frozenset)):
            yield from value
        elif not isinstance(value, CodeType):
            yield value
    for value in code.co_consts[:1]:
        if not isinstance(value, (CodeType, str)):
            yield value
