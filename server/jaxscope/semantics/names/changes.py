"""Where names are given another value, and where the objects behind them are changed in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.semantics.names.scopes import Binding, Read, Scope, facts_of
from jaxscope.semantics.names.variables import Link, is_parameter_of, links_of
from jaxscope.semantics.vocabulary import MUTATING
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel

MAKING = frozenset(("__init__", "__post_init__", "__new__", "setup", "__setstate__", "__set_name__"))
"""Methods that run before anybody has the object."""
THROUGH_PARAMETER = ""
"""Stands among the changed names for whatever is handed to a function that changes its argument in place."""
_FILLING = frozenset(("copyto", "put", "shuffle", "place", "putmask", "fill_diagonal"))
"""Functions that change their first argument."""


@dataclass(frozen=True, slots=True, eq=False)
class InPlace:
    """One change of the object behind a name: `name.a = v`, `name[k] = v`, `name.update(v)`."""

    read: Read
    path: tuple[Link, ...]
    """What is changed, from the name."""
    node: ast.AST
    value: ast.expr | None
    method: bool
    """Is it a call that changes its object if that is a container or an array?"""
    keys: tuple[str, ...] | None = None
    """The entries that it changes, where they are written out."""


def in_place(chunk: Chunk) -> dict[str, list[InPlace]]:
    """Changes of objects in a part of the file by what is changed: `.attribute`, or a name where there is none, or
    THROUGH_PARAMETER where that is a parameter."""
    kept: dict[str, list[InPlace]] | None = chunk.facts.get("in_place")
    if kept is None:
        kept = chunk.facts["in_place"] = {}
        facts = facts_of(chunk)
        for scope in facts.scopes:
            making = scope.owner().name in MAKING
            for read in () if making else scope.reads:
                for found in _of_read(read, facts.parents):
                    kept.setdefault(_mark(found), []).append(found)
    return kept


def _mark(change: InPlace) -> str:
    attribute = next((key for kind, key in reversed(change.path) if kind == "."), None)
    if attribute is not None:
        return f".{attribute}"
    return THROUGH_PARAMETER if is_parameter_of(change.read.scope.owner(), change.read.name) else change.read.name


def in_place_of(model: FileModel, mark: str) -> list[InPlace]:
    """The changes of a whole file under one mark."""
    return _by_mark(model).get(mark, [])


def _by_mark(model: FileModel) -> dict[str, list[InPlace]]:
    def work() -> dict[str, list[InPlace]]:
        found: dict[str, list[InPlace]] = {}
        for chunk in model.module.chunks:
            for mark, changes in in_place(chunk).items():
                found.setdefault(mark, []).extend(changes)
        return found

    return model.once("in place", work)


def _of_read(read: Read, parents: dict[int, ast.AST]) -> Iterator[InPlace]:
    top: ast.AST = read.links[-1] if read.links else read.node
    around = parents.get(id(top))
    if isinstance(top, (ast.Attribute, ast.Subscript)) and isinstance(top.ctx, (ast.Store, ast.Del)):
        yield InPlace(read, links_of(read.links), top, getattr(around, "value", None), False)
    elif isinstance(around, (ast.Attribute, ast.Subscript)) and isinstance(around.ctx, (ast.Store, ast.Del)):
        yield InPlace(read, links_of((*read.links, around)), around, None, False)
    elif isinstance(around, ast.Call) and around.func is top and isinstance(top, ast.Attribute):
        if top.attr in MUTATING:
            keys = tuple(keyword.arg or "" for keyword in around.keywords)
            known = top.attr == "update" and not around.args and all(keys)
            yield InPlace(read, links_of(read.links[:-1]), around, None, True, keys if known else None)
    elif isinstance(around, ast.Call) and around.args and around.args[0] is top:
        name = getattr(around.func, "attr", getattr(around.func, "id", ""))
        if name in _FILLING:
            yield InPlace(read, links_of(read.links), around, None, True)
        elif name in ("setattr", "__setattr__") and len(around.args) == 3:
            attribute = around.args[1]
            if isinstance(attribute, ast.Constant):
                path = (*links_of(read.links), (".", attribute.value))
                yield InPlace(read, path, around, around.args[2], False)


def rebindings(model: FileModel | None, scope: Scope | None, name: str) -> list[Binding]:
    """Where a name of a function, or of the file, is given a value by a statement."""
    bindings = scope.bindings.get(name, []) if scope is not None else model.global_bindings(name) if model else []
    return [binding for binding in bindings if binding.kind in ("assign", "augmented", "iteration", "with", "other")]


def changed_names(model: FileModel) -> Set[str]:
    """Marks of all that the file changes in place."""
    return _by_mark(model).keys()
