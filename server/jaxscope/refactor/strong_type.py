"""Gives a number its type before the first call, so that the calls after it find the same trace."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Hoist, Refusal, Refused
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.imports import imported
from jaxscope.semantics.names.scopes import Binding
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range, Span

PYTHON = "float"
"""Instead of the name of a dtype: Python numbers of both kinds, of which JAX is to see one."""


def plan(project: Project, path: str, place: Range, dtype: str) -> SourceChange | Refusal:
    """The argument at `place` becomes a `dtype`, from its first value on."""
    try:
        file = Files(project).get(path)
        node = _argument(file, place)
        edits = Edits()
        if dtype == PYTHON:
            edits.add(file, _wrapped(file, node, PYTHON))
            doubt = f"`{file.layout.source(node)}` is a whole number at times, and becomes a float then"
        else:
            start = _start(file, node)
            edits.add(file, _typed(file, start, dtype))
            doubt = f"`{file.layout.source(start)}` becomes an array"
        return Hoist(edits.change().files, (Refusal(doubt, path, place.start.line),))
    except Refused as refused:
        return refused.refusal


def _argument(file: File, place: Range) -> ast.expr:
    node = file.at(place)
    if node is None:
        raise Refused("The argument is not written where the call is.", file.path, place.start.line)
    return node


def _start(file: File, node: ast.expr) -> ast.expr:
    """The number that a name holds before the loop in which the results take its place."""
    if _is_number(node):
        return node
    home = file.lookup(file.scope_of(node), node.id) if isinstance(node, ast.Name) else None
    if home is None or not isinstance(node, ast.Name):
        raise file.refuse("It is not a name that first holds a number.", node)
    numbers = [one for one in file.bindings(home, node.id) if _plain(one) and _is_number(one.value)]
    if len(numbers) != 1 or numbers[0].value is None:
        raise file.refuse(f"`{node.id}` is not given one number alone.", node)
    return numbers[0].value


def _plain(binding: Binding) -> bool:
    return binding.kind == "assign" and not binding.path


def _is_number(node: ast.expr | None) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)


def _typed(file: File, number: ast.expr, dtype: str) -> list[Edit]:
    name, imports = imported(file, number, "jax.numpy")
    return [*imports, *_wrapped(file, number, f"{name}.{dtype}")]


def _wrapped(file: File, node: ast.expr, function: str) -> list[Edit]:
    span = file.layout.span(node)
    return [Edit(Span(span.start, span.start), f"{function}("), Edit(Span(span.end, span.end), ")")]
