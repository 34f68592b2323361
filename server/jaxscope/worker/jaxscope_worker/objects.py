"""The objects that the user's module holds, and new ones of their classes for signatures that name a class."""

from __future__ import annotations

import collections.abc
import dataclasses
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax

from . import jax_compat, reaching
from .declaring import Node

_DEPTH = 3
_MOST = 5_000
"""Objects that are looked at."""


def held(module: ModuleType) -> Iterator[Any]:
    """What the module's globals hold, the globals themselves first, then what their containers and attributes store."""
    level, seen = list(vars(module).values()), set()
    for _ in range(_DEPTH):
        following = []
        for value in level:
            if id(value) in seen or len(seen) > _MOST:
                continue
            seen.add(id(value))
            yield value
            if not isinstance(value, (ModuleType, type)):
                following += [child for _, _, child in reaching.children(value)]
        level = following


def find_class(name: str, module: ModuleType) -> type:
    """The class that is written as `name` in the module, or else so called. Raises LookupError."""
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part, None)
    if isinstance(value, type):
        return value
    for value in held(module):
        cls = getattr(value, name, None) if isinstance(value, ModuleType) else type(value)
        if isinstance(cls, type) and cls.__name__ == name:
            return cls
    raise LookupError(f"no class of that name is in {module.__name__}")


class Builder:
    """Makes objects of the classes that a module knows; a `declaring.Build`."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __call__(self, node: Node) -> Any:
        """Raises for a class that is not known, or of which nothing tells how it is made."""
        cls = find_class(node.name, self._module)
        fields = getattr(cls, "_fields", None)
        if issubclass(cls, tuple) and fields is not None:
            return _named_tuple(cls, node)
        if issubclass(cls, collections.abc.Mapping):
            return cls(dict(node.children))  # type: ignore[call-arg]
        like = next((value for value in held(self._module) if type(value) is cls), None)
        if dataclasses.is_dataclass(cls):
            return _dataclass(cls, node, like)
        return _like(node, like)


def _named_tuple(cls: Any, node: Node) -> Any:
    given = _named(node, cls._fields)
    for name in cls._fields:
        if name not in given and name not in cls._field_defaults:
            raise ValueError(f"it has no value for {name}")
    return cls(**given)


def _named(node: Node, fields: tuple[str, ...]) -> dict[str, Any]:
    if len(node.children) > len(fields):
        raise ValueError(f"it has {len(fields)} fields, not {len(node.children)}")
    given = {name or fields[at]: value for at, (name, value) in enumerate(node.children)}
    for name in given:
        if name not in fields:
            raise ValueError(f"it has no field {name}")
    return given


def _dataclass(cls: type, node: Node, like: Any) -> Any:
    """Without its constructor, which may want what a signature does not say; what is left out is as in `like`, or by
    default."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    given = _named(node, tuple(fields))
    made = object.__new__(cls)
    for name, field in fields.items():
        if name in given:
            value = given[name]
        elif like is not None and hasattr(like, name):
            value = getattr(like, name)
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            raise ValueError(f"it has no value for {name}")
        object.__setattr__(made, name, value)
    return made


def _like(node: Node, like: Any) -> Any:
    """With the children given in the place of those of an object of the same class."""
    if like is None:
        raise ValueError("the module holds no object of it to copy")
    children = jax_compat.tree_children(like)
    if children is None:
        raise ValueError("it is no tree of arrays")
    if len(children) != len(node.children):
        raise ValueError(f"it has {len(children)} children, not {len(node.children)}")
    given = dict(node.children)
    values = [given.get(name, value) for (name, _), (_, value) in zip(children, node.children, strict=True)]
    _, structure = jax.tree_util.tree_flatten(like, is_leaf=lambda inner: inner is not like)
    return jax.tree_util.tree_unflatten(structure, values)
