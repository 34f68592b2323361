"""Where a function is compiled, as a refactoring sees it: the transform with its options, and the parameters."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refused
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.transforms import Application, applied_by, decorated_by
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import positional
from jaxscope.text.span import Range


def compiled_at(file: File, place: Range) -> tuple[Application, list[str]]:
    """Where it is compiled, and the function's parameters by position."""
    node = file.at(place)
    if node is None:
        raise Refused("Nothing is compiled here.", file.path, place.start.line)
    around = file.parents.get(node)
    if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef) and node in around.decorator_list:
        application = decorated_by(file, node)
        if application is not None:
            return application, _positional(around)
    for operand in node.args if isinstance(node, ast.Call) else ():
        application = applied_by(file, node, operand) if isinstance(node, ast.Call) else None
        if application is not None:
            return application, _parameters(file, operand)
    raise file.refuse("It cannot be seen how the function is compiled here.", node)


def _parameters(file: File, node: ast.expr) -> list[str]:
    """Of the function that an expression means, by position; without `self` where that is bound."""
    if isinstance(node, ast.Lambda):
        return _positional(node)
    scope = file.scope_of(node)
    home, name = (file.lookup(scope, node.id), node.id) if isinstance(node, ast.Name) else (None, "")
    bound = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    if bound and isinstance(node, ast.Attribute):
        home = next((outer for outer in scope.around() if outer.kind == "class"), None)
        name = node.attr
    bindings = home.bindings.get(name, []) if home is not None else []
    found = bindings[0].node if len(bindings) == 1 else None
    if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) and not found.decorator_list:
        return _positional(found)[bound:]
    raise file.refuse("It cannot be seen which positions the parameters have in what is compiled here.", node)


def _positional(node: FunctionNode) -> list[str]:
    return [argument.arg for argument in positional(node)]
