"""Objects that traced code took from outside, and the layers in them.

What a layer holds has no name in the user's code: it is shown where the compiled function takes the whole object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.captured.listing import CaptureList, written
from jaxscope.semantics.captured.origin import Origin
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import FunctionValue, Instance, Mapping, Sequence, Tree, Value
from jaxscope.semantics.names.scopes import Read, Scope


@dataclass(frozen=True, slots=True)
class _Root:
    """Where an object was taken from."""

    name: str
    at: Mark
    via: str
    inner: Scope | None
    bound: Mark | None
    steps: str = ""
    """How one gets from what is called `name` to the object."""
    count: int | None = 1
    """How many objects it stands for."""


class CapturedObjects:
    """Those met in the walk of one compiled function."""

    def __init__(self, ev: Evaluator, captures: CaptureList, origin: Origin) -> None:
        self.ev = ev
        self.captures = captures
        self.origin = origin
        self._roots: dict[object, _Root] = {}

    def meet(self, read: Read, node: ast.expr, value: Value, via: str, frame: Frame) -> None:
        """`node`, whose value is `value`, is read: an object, several, or a method of one."""
        if isinstance(value, FunctionValue) and isinstance(node, ast.Attribute) and value.bound is not None:
            node, value = node.value, value.bound
        objects = [one for one in _objects(value) if not one[1].traced and hashable(one[1]) not in self._roots]
        if not objects or (node is read.node and self._is_parameter(read)):
            return
        root = self._root_of(read, frame)
        if root is None:
            mark, bound = Mark(read.scope.chunk, node), self.origin.of_read(read, node, read.scope, frame)
            root = _Root(written(mark.chunk, node), mark, via, self.captures.inner(read.scope), bound)
        else:
            root = replace(root, steps=root.steps + _after(read, node))
        for steps, one, count in objects:
            many = None if count is None or root.count is None else count * root.count
            self._roots[hashable(one)] = replace(root, steps=root.steps + steps, count=many)

    def _is_parameter(self, read: Read) -> bool:
        owner = self.ev.owner(read.name, read.scope)
        return owner is not None and any(one.kind == "parameter" for one in owner.bindings.get(read.name, ()))

    def _root_of(self, read: Read, frame: Frame) -> _Root | None:
        value = self.ev.evaluate(read.node, read.scope, frame)
        return self._roots.get(hashable(value)) if isinstance(value, Instance) else None

    def take(self, read: Read, node: ast.expr, value: Value, frame: Frame) -> bool:
        """Takes down the layers that are read, if they are those of an object that was met."""
        root = self._root_of(read, frame) if has_layers(value) else None
        if root is None:
            return False
        many = value if root.count == 1 else Sequence(None, value, root.count)
        self.captures.keep(
            ("object", id(root.at.node)),
            root.name,
            root.at,
            root.via,
            many,
            inner=root.inner,
            bound=root.bound,
            read_at=Mark(read.scope.chunk, node),
            steps=root.steps + _after(read, node),
        )
        return True


def _after(read: Read, node: ast.expr) -> str:
    """What is written after the name that is read."""
    return written(read.scope.chunk, node)[len(read.name) :]


def _objects(value: Value, steps: str = "", count: int | None = 1) -> Iterator[tuple[str, Instance, int | None]]:
    """The objects in a value: how one gets there, the object, how many it stands for."""
    if isinstance(value, Instance):
        yield steps, value, count
    elif isinstance(value, Sequence) and value.items is None:
        many = None if count is None or value.count is None else count * value.count
        yield from _objects(value.element, f"{steps}[0]", many)
    elif isinstance(value, (Sequence, Mapping)):
        named = value.items if isinstance(value, Mapping) else enumerate(value.items or ())
        for key, item in named:
            yield from _objects(item, f"{steps}[{key!r}]", count)


def has_layers(value: Value) -> bool:
    """Is some of it a library's own tree of arrays?"""
    if isinstance(value, Sequence):
        return has_layers(value.element) if value.items is None else any(map(has_layers, value.items))
    return isinstance(value, Tree) or (isinstance(value, Mapping) and any(has_layers(item) for _, item in value.items))


def hashable(value: object) -> object:
    """What stands for the value where keys are wanted: itself if it can."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
