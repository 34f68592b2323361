"""Does importing a file run a program? Decides whether it is imported to be traced without asking."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel

_PROGRAM_CALLS = {
    "parse_args": "it parses command-line arguments",
    "parse_known_args": "it parses command-line arguments",
    "main": "it calls main()",
    "train": "it calls train()",
    "cli": "it calls a command-line function",
    "input": "it waits for input",
    "show": "it opens a plot",
}


def reason(model: FileModel) -> str | None:
    """Why the file's top level is a program, in words that follow `this file runs when imported:`; else None."""
    for chunk, _ in model.chunks:
        for statement in chunk.body:
            why = _of_statement(statement)
            if why is not None:
                line = model.module.position(chunk, statement.lineno, 0).line
                return f"{why} (line {line})"
    return None


def _of_statement(statement: ast.stmt) -> str | None:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or _is_main_guard(statement):
        return None
    if isinstance(statement, (ast.For, ast.While)) and _works(statement):
        return "a loop runs at its top level"
    if isinstance(statement, (ast.With, ast.Try)):
        return next(filter(None, (_of_statement(inner) for inner in statement.body)), None)
    for call in _calls(statement):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in ("run", "fire", "Fire") and isinstance(call.func, ast.Attribute):
            owner = getattr(call.func.value, "id", "")
            if owner in ("app", "fire", "asyncio", "tyro"):
                return f"it calls {owner}.{name}()"
        statement_call = isinstance(statement, ast.Expr) and statement.value is call
        if name in ("parse_args", "parse_known_args", "input") or (name in _PROGRAM_CALLS and statement_call):
            return _PROGRAM_CALLS[name]
    return None


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)


def _works(loop: ast.For | ast.While) -> bool:
    """Does the loop's body call something other than to fill a container?"""
    for inner in loop.body:
        for call in _calls(inner):
            name = getattr(call.func, "attr", "")
            if name not in ("append", "add", "update", "setdefault", "insert", "extend"):
                return True
    return isinstance(loop, ast.While)


def _is_main_guard(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(statement.test))
    )
