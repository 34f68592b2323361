"""Paths by which a value is reached from a name: `params['w']`, `model.layers[0].weight`.

Only stored attributes and items are followed, so that no code of the user's runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from . import jax_compat, libraries

DEPTH = 7
NODES = 20_000
_OPAQUE = (str, bytes, int, float, complex, type(None), type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_LIBRARIES = ("jax", "jaxlib", "numpy", "builtins", "functools", "logging", "threading")


@dataclass(frozen=True)
class Reached:
    """An array, the path to it from its root, and the attributes that the path goes through."""

    value: Any
    path: str
    attributes: tuple[str, ...]


@dataclass
class _Node:
    value: Any
    path: str
    attributes: tuple[str, ...]
    depth: int


class Index:
    """The arrays reached from each root, found once per root while it keeps its length."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Any, list[Reached]]] = {}

    def arrays(self, root: Any) -> list[Reached]:
        """All arrays reached from `root`, the shortest paths first."""
        if jax_compat.is_array(root):
            return [Reached(root, "", ())]
        if isinstance(root, _OPAQUE):
            return []
        key = (id(root), len(root) if isinstance(root, (dict, list, tuple)) else -1)
        if key not in self._known:
            self._known[key] = (root, list(_arrays(root)))
        return self._known[key][1]


def _arrays(root: Any) -> Iterator[Reached]:
    level = [_Node(root, "", (), 0)]
    seen, visited = {id(root)}, 0
    while level:
        following: list[_Node] = []
        for node in level:
            for step, attribute, child in children(node.value):
                visited += 1
                if visited > NODES:
                    return
                attributes = (*node.attributes, attribute) if attribute else node.attributes
                if jax_compat.is_array(child):
                    yield Reached(child, node.path + step, attributes)
                elif node.depth < DEPTH and not isinstance(child, _OPAQUE) and id(child) not in seen:
                    seen.add(id(child))
                    following.append(_Node(child, node.path + step, attributes, node.depth + 1))
        level = following


def children(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Step as written, attribute name or "", and value, of what `value` stores."""
    if isinstance(value, dict):
        for key, child in list(value.items()):
            yield f"[{key!r}]", "", child
    elif isinstance(value, (list, tuple)):
        names = getattr(type(value), "_fields", None)
        for index, child in enumerate(value):
            if names is not None and index < len(names):
                yield f".{names[index]}", names[index], child
            else:
                yield f"[{index}]", "", child
    elif isinstance(value, functools.partial):
        for index, child in enumerate(value.args):
            yield f".args[{index}]", "args", child
        for name, child in value.keywords.items():
            yield f".keywords[{name!r}]", "keywords", child
    elif (
        not jax_compat.is_tracer(value) and str(getattr(type(value), "__module__", "")).split(".")[0] not in _LIBRARIES
    ):
        for step, name, child in _attributes(value):
            if libraries.is_unwritten(value, name):
                yield "", "", child
            elif not libraries.is_internal(child):
                yield step, name, child


def _attributes(value: Any) -> Iterator[tuple[str, str, Any]]:
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        stored = {}
    if isinstance(stored, dict):
        for name, child in list(stored.items()):
            if isinstance(name, str):
                yield f".{name}", name, child
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            descriptor = cls.__dict__.get(name)
            if type(descriptor).__name__ == "member_descriptor":
                try:
                    yield f".{name}", name, descriptor.__get__(value)
                except AttributeError:
                    continue
