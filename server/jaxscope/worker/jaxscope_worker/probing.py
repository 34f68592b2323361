"""Finds out which keys, attributes and items a function asks its arguments for, by giving it arguments that take note.

A probe is an array to whoever computes with it, and a tree to whoever asks for `params["w"]`, `params.w` or unpacks it.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp

from .guessing import Fixed, Leaf, Search, Shaped, State, Tree, struct_of
from .parameters import new_array, shape_by_name

_ITEMS = 2
"""Items of what is iterated over, where nothing says how many there are."""
_KEYS = ("a", "b")
"""Keys of a dict about which nothing is asked by key."""
_OF_DICTS = ("items", "keys", "values", "get")
_OPERATORS = (
    *(f"__{side}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
                                       "xor", "lshift", "rshift") for side in ("", "r")),
    *("__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"),
    *("__bool__", "__int__", "__float__", "__index__", "__len__"),
)  # fmt: skip


@dataclass(eq=False)
class _Record:
    """What was asked of one argument, or of a part of one."""

    name: str
    leaf: Leaf | None = None
    kind: str = ""
    """`dict`, `attributes`, `items`; empty for an array."""
    children: dict[Any, _Record] = field(default_factory=dict)
    shaped: Shaped = field(default_factory=lambda: Shaped(()))


class _Notes:
    """The records of one run."""

    def __init__(self, state: State, search: Search) -> None:
        self.state, self.search = state, search
        self.changed = False

    def record(self, name: str, tree: Tree) -> Any:
        """The record of a part of the guess; objects stay, with records for the arrays in them."""
        if isinstance(tree, Leaf):
            return _Record(name, tree, shaped=self.state.arrays[tree])
        if type(tree) is dict:
            children = {key: self.record(str(key), child) for key, child in tree.items()}
            return _Record(name, kind="dict", children=children)
        if isinstance(tree, tuple) and type(tree).__module__ == __name__:
            parts = tree._asdict()  # type: ignore[attr-defined]
            children = {step: self.record(step, child) for step, child in parts.items()}
            return _Record(name, kind="attributes", children=children)
        if type(tree) in (tuple, list):
            children = {at: self.record(name, child) for at, child in enumerate(tree)}
            return _Record(name, kind="items", children=children)
        return jax.tree_util.tree_map(lambda part: self.record(name, part) if isinstance(part, Leaf) else part, tree)

    def child(self, record: _Record, kind: str, step: Any, name: str) -> _Record:
        if record.kind not in ("", kind):
            raise TypeError(f"{record.name} is no {kind}")
        if step not in record.children:
            record.kind, self.changed = kind, True
            record.children[step] = _Record(name, shaped=shape_by_name(name, self.search.free))
        return record.children[step]


class _Probe:
    """Stands for an argument while the function runs."""

    __slots__ = ("_array", "_notes", "_parts", "_record")

    def __init__(self, notes: _Notes, record: _Record, array: Any = None, parts: dict[Any, Any] | None = None) -> None:
        self._notes, self._record, self._array = notes, record, array
        self._parts = parts if parts is not None else {}

    def __jax_array__(self) -> Any:
        if self._array is None:
            struct = struct_of(self._record.shaped)
            if jax.dtypes.issubdtype(struct.dtype, jax.dtypes.prng_key):
                self._array = jax.random.key(0)
            else:
                self._array = jnp.zeros(struct.shape, struct.dtype)
        return self._array

    def _part(self, kind: str, step: Any, name: str) -> Any:
        if step not in self._parts:
            self._parts[step] = _given(self._notes, self._notes.child(self._record, kind, step, name))
        return self._parts[step]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) or self._record.kind == "dict":
            return self._part("dict", key, str(key))
        if self._record.kind == "items":
            count = len(self._record.children)
            if isinstance(key, slice):
                return tuple(self[at] for at in range(count)[key])
            return self._part("items", int(key) % count, self._record.name)
        return self.__jax_array__()[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._record.children

    def __iter__(self) -> Iterator[Any]:
        count = len(self._record.children) or _unpacked(sys._getframe(1)) or _ITEMS
        return iter([self._part("items", at, self._record.name) for at in range(count)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._record.kind in ("", "dict") and name in _OF_DICTS:
            keys = list(self._record.children) or _KEYS
            parts = {key: self._part("dict", key, str(key)) for key in keys}
            return getattr(parts, name)
        if self._record.kind != "attributes" and hasattr(jax.Array, name):
            return getattr(self.__jax_array__(), name)
        return self._part("attributes", name, name)

    def _flat(self) -> tuple[tuple[Any, ...], Any]:
        steps = tuple(self._record.children)
        if not steps:
            return (self.__jax_array__(),), (self._notes, self._record, ())
        parts = tuple(self._part(self._record.kind, step, "") for step in steps)
        return parts, (self._notes, self._record, steps)

    @staticmethod
    def _again(structure: Any, parts: Any) -> _Probe:
        notes, record, steps = structure
        if not steps:
            return _Probe(notes, record, *parts)
        return _Probe(notes, record, None, dict(zip(steps, parts, strict=True)))


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: _Probe, *others: Any) -> Any:
        values = [other.__jax_array__() if isinstance(other, _Probe) else other for other in others]
        return getattr(self.__jax_array__(), name)(*values)

    return operate


for _name in _OPERATORS:
    setattr(_Probe, _name, _operator(_name))
_Probe.__hash__ = object.__hash__  # type: ignore[method-assign]
jax.tree_util.register_pytree_node(_Probe, _Probe._flat, _Probe._again)


def _given(notes: _Notes, record: Any) -> Any:
    if isinstance(record, _Record):
        return _Probe(notes, record)
    is_record = lambda part: isinstance(part, _Record)  # noqa: E731
    return jax.tree_util.tree_map(
        lambda part: _Probe(notes, part) if is_record(part) else part, record, is_leaf=is_record
    )


def _unpacked(frame: FrameType) -> int | None:
    """Into how many names the running statement of `frame` unpacks; None when it does not."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if dis.opname[code[at]] == "UNPACK_SEQUENCE" else None


def structured(state: State, search: Search) -> State | None:
    """The guess with the parts that the function asks for; None when it asks for none that are not there."""
    notes = _Notes(state, search)
    records = {name: notes.record(name, tree) for name, tree in state.parameters.items() if not isinstance(tree, Fixed)}

    def run() -> Any:
        values = {
            name: tree.value if isinstance(tree, Fixed) else _given(notes, records[name])
            for name, tree in state.parameters.items()
        }
        return search.called(state, values)

    with contextlib.suppress(Exception):  # how far it came is what counts
        jax.eval_shape(run)
    if not notes.changed:
        return None
    arrays = dict(state.arrays)
    trees = {name: _tree(record, arrays) for name, record in records.items()}
    return replace(state, parameters={**state.parameters, **trees}, arrays=arrays)


def _tree(record: Any, arrays: dict[Leaf, Shaped]) -> Tree:
    if not isinstance(record, _Record):
        is_record = lambda part: isinstance(part, _Record)  # noqa: E731
        return jax.tree_util.tree_map(
            lambda part: _tree(part, arrays) if is_record(part) else part, record, is_leaf=is_record
        )
    parts = {step: _tree(child, arrays) for step, child in record.children.items()}
    if record.kind == "dict":
        return parts
    if record.kind == "items":
        return tuple(parts.values())
    if record.kind == "attributes":
        return _object(record.name.title().replace("_", "") or "Object", parts)
    return record.leaf if record.leaf is not None else new_array(arrays, record.shaped)


def _object(name: str, parts: dict[str, Tree]) -> Any:
    """Something with these attributes of which JAX knows what it holds."""
    made = collections.namedtuple(name, parts, rename=True, module=__name__)  # type: ignore[misc]
    # Private names, which a named tuple does not take.
    further = {part: property(operator.itemgetter(at)) for at, part in enumerate(parts) if part not in made._fields}
    return type(name, (made,), {"__slots__": (), "_fields": tuple(parts), **further})(*parts.values())
