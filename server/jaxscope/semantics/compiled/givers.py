"""Which binding gave a name the value that a function sees under it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.compiled.functions import Function, Place
from jaxscope.semantics.names.scopes import Binding, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel


def bound_at(model: FileModel, function: Function, name: str) -> Place | None:
    """Where the value that the function sees under `name` (or its root) was given to it."""
    root = name.replace("[", ".").partition(".")[0]
    owner = model.project.evaluator.owner(root, function.scope)
    found = giver(model, root, owner, function.scope) if owner is not None else None
    if found is None:
        return None
    imported = _imported(model, found, name) if found.kind == "import" else None
    return imported or model.place(found.scope, found.node)


def giver(model: FileModel, name: str, owner: Scope, function: Scope) -> Binding | None:
    """The binding in `owner` whose value a function inside it sees; None where that can be one of several.

    It runs after it was defined: what was overwritten until then is gone, and what comes later may be seen or not.
    """
    bindings = model.bindings_of(name, owner)
    bindings = [one for one in bindings if not _is_none(one)] or bindings
    at = function
    while at.parent is not None and at.parent is not owner and at.parent.kind != "module":
        at = at.parent
    if at.node is not None and at is not owner:
        defined = model.place_key(at, at.node)
        earlier = [one for one in bindings if model.order_key(one.scope, one.order) < defined]
        later = [one for one in bindings if model.order_key(one.scope, one.order) >= defined]
        bindings = (model.reaching(earlier, owner, None) if earlier else []) + later
    else:
        bindings = model.reaching(bindings, owner, None)
    kept = [one for one, after in zip(bindings, [*bindings[1:], None], strict=True) if not _changes(after, one)]
    return kept[0] if len(kept) == 1 else None


def _imported(model: FileModel, binding: Binding, name: str) -> Place | None:
    """Where the project's other file binds what is imported from it."""
    path = model.project.resolve(model.path, binding.module, binding.level)
    other = model.project.model(path) if path is not None else None
    attribute = binding.attribute or name.partition(".")[2].partition(".")[0].partition("[")[0]
    found = other.global_bindings(attribute) if other is not None else []
    return other.place(found[-1].scope, found[-1].node) if other is not None and found else None


def _is_none(binding: Binding) -> bool:
    """Does it only say that the name has nothing yet?"""
    return isinstance(binding.value, ast.Constant) and binding.value.value is None and not binding.path


def _changes(after: Binding | None, before: Binding) -> bool:
    """Is the value of one binding gone after the next, `w *= 2`?"""
    return after is not None and after.kind == "augmented" and before.block[: len(after.block)] == after.block
