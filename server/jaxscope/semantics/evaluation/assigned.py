"""Attributes that are assigned elsewhere than in their class or module: `net.table = zeros`, `state.W = ...`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.values import (
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    Instance,
    Mapping,
    ModuleValue,
    Sequence,
    Tree,
    Value,
    join,
)
from jaxscope.semantics.names.scopes import AttributeWrite

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

NOTHING = (UNKNOWN, Const(None))
"""What is said of a name that others may give its value."""


def writes_outside(
    ev: Evaluator, value: Instance | ClassValue, name: str, own: Value, declared: bool
) -> list[AttributeWrite]:
    """Assignments of the attribute other than by the class's own methods to their `self`: in its file and, where that
    gives it no value but None, in others."""
    cls = value.cls if isinstance(value, Instance) else value
    model = cls.frame.model
    writes = list(ev.writes_from_outside(model, name))
    if (own == Const(None) or not declared) and not writes:
        writes += ev.writes_in_other_files(model.path, name)
    found = []
    for write in writes:
        target = _target(ev, write)
        if target == cls or (isinstance(target, Instance) and _may_be(target, value)):
            found.append(write)
    return found


def _may_be(one: Instance, other: Instance | ClassValue) -> bool:
    """Can they be the same object?"""
    if not isinstance(other, Instance) or one.cls != other.cls:
        return False
    return one.init is other.init or one.init is None or other.init is None


def assigned_to_module(ev: Evaluator, path: str, name: str) -> list[AttributeWrite]:
    """Where other files assign a global of the module at `path`: `module.name = ...`."""
    return [write for write in ev.writes_in_other_files(path, name) if _target(ev, write) == ModuleValue(path)]


def _target(ev: Evaluator, write: AttributeWrite) -> Value:
    """The object whose attribute is assigned."""
    frame = ev.generic_frame(write.scope, ev.model_of(write.scope.module_part()))
    if isinstance(write.node, ast.Attribute):
        return ev.evaluate(write.node.value, write.scope, frame)
    return ev.lookup(write.root, write.scope, frame)


def module_global(ev: Evaluator, path: str, name: str, own: Value) -> Value:
    """`module.name`, which other files may assign where the module itself says `own` of it."""
    if own not in NOTHING:
        return own
    given = [assigned(ev, write) for write in assigned_to_module(ev, path, name)]
    found = join([own, *given] if own != UNKNOWN else given)
    return found if isinstance(found, (Array, Sequence, Mapping, Tree)) else own


def assigned(ev: Evaluator, write: AttributeWrite) -> Value:
    """What is assigned."""
    if write.value is None:
        return UNKNOWN
    model: FileModel = write.scope.chunk.facts["model"]
    return picked(ev.evaluate(write.value, write.scope, ev.generic_frame(write.scope, model)), write)


def picked(value: Value, write: AttributeWrite) -> Value:
    """The part of a value that is assigned, after unpacking."""
    for step in write.path:
        value = value.item(step) if isinstance(value, Sequence) else UNKNOWN
    return value
