"""Is a value there whenever a call would read it, and is reading it nothing but reading?

Compiled code may read a name or attribute only where some condition holds; an argument is read at every call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.semantics.names.scopes import Read

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.ExceptHandler, ast.Match, ast.match_case)
_GUARDS = (*_BRANCHES, ast.IfExp, ast.BoolOp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def check_exists(
    files: Files, file: File, text: str, *, bound: Iterable[tuple[File, ast.AST]], reads: Iterable[Read], near: ast.AST
) -> None:
    """Raises Refused when the value may be missing: it is `bound` under conditions, as its `reads` are.

    Conditions around `near`, the function's definition, hold for both.
    """
    common = set(map(id, file.around(near)))
    places = list(bound)
    if not places or any(not _conditions(where, node, common) for where, node in places):
        return
    where, first = places[0]
    for read in reads:
        if _guarded(file, read.node):
            raise where.refuse(f"`{text}` is bound only where a condition holds, as it is read.", first)
    if len(places) == 1:
        files.doubt(where, first, f"`{text}` is bound only where a condition holds, and may be missing at a call.")


def check_plain_attribute(files: Files, name: str) -> None:
    """Raises Refused when a class of the project computes the attribute `name`, or may."""
    for file in files.mentioning(name):
        for node in file.nodes:
            if isinstance(node, ast.Call) and _stores_any(node):
                files.doubt(file, node, f"`.{name}` may be assigned here, where the attribute's name is not written.")
            if isinstance(node, ast.ClassDef):
                for item in node.body:
                    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == name:
                        raise file.refuse(f"`.{name}` is computed by `{node.name}`, each time that it is read.", item)


def _stores_any(call: ast.Call) -> bool:
    """`setattr(self, name, …)`, `self.__dict__.update(…)`, `vars(self).update(…)`."""
    if isinstance(call.func, ast.Name) and call.func.id == "setattr":
        return len(call.args) < 2 or not isinstance(call.args[1], ast.Constant)
    if not isinstance(call.func, ast.Attribute):
        return False
    at = call.func.value
    namespace = (isinstance(at, ast.Attribute) and at.attr == "__dict__") or (
        isinstance(at, ast.Call) and isinstance(at.func, ast.Name) and at.func.id == "vars"
    )
    return call.func.attr == "update" and namespace


def private(links: Iterable[str]) -> bool:
    """Is one of them an attribute that only code inside its class can name?"""
    return any(link.startswith(".__") and not link.endswith("__") for link in links)


def _conditions(file: File, node: ast.AST, common: set[int]) -> bool:
    """Is there a condition around the statement, within its function, that is not around the other place as well?"""
    for around in file.around(node):
        if isinstance(around, (*_FUNCTIONS, ast.ClassDef)):
            return False
        if isinstance(around, _BRANCHES) and id(around) not in common:
            return True
    return False


def _guarded(file: File, node: ast.expr) -> bool:
    """May the function run without this being read?"""
    guarded = False
    for around in file.around(node):
        guarded = guarded or isinstance(around, _GUARDS)
        if isinstance(around, _FUNCTIONS):
            return guarded or _leaves_before(around, node)
    return False


def _leaves_before(function: ast.AST, node: ast.expr) -> bool:
    return any(
        isinstance(leaving, ast.Return | ast.Raise) and leaving.lineno < node.lineno for leaving in ast.walk(function)
    )
