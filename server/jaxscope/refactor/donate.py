"""Donates parameters of a compiled function: `donate_argnums` or `donate_argnames` where it is compiled."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.edits import Edits
from jaxscope.refactor.layout import FunctionNode
from jaxscope.refactor.literals import Written
from jaxscope.refactor.names import File, enclosing
from jaxscope.refactor.options import add_option
from jaxscope.refactor.references import Files
from jaxscope.refactor.syntax import insert_item
from jaxscope.refactor.transforms import Application, applied_by, decorated_by
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range

_NUMBERS, _NAMES = "donate_argnums", "donate_argnames"


def plan(project: Project, path: str, place: Range, parameters: tuple[str, ...]) -> SourceChange | Refusal:
    """Adds `parameters` to those that the function compiled at `place` (a decorator or call) donates."""
    try:
        files = Files(project)
        file = files.get(path)
        application, positional = _compiled(file, place)
        edits = Edits()
        edits.add(file, _donated(files, file, application, _options(file, application, positional, parameters)))
        return edits.change()
    except Refused as refused:
        return refused.refusal


def _compiled(file: File, place: Range) -> tuple[Application, list[str]]:
    """Where it is compiled, and the function's parameters by position."""
    wanted = file.module.lines.offset(place.start), file.module.lines.offset(place.end)
    for node in ast.walk(file.tree):
        if isinstance(node, ast.expr) and (file.layout.start(node), file.layout.end(node)) == wanted:
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
    raise Refused("Nothing is compiled here.", file.path, place.start.line)


def _parameters(file: File, node: ast.expr) -> list[str]:
    """Of the function that an expression means, by position; without `self` where that is bound."""
    if isinstance(node, ast.Lambda):
        return _positional(node)
    scope = file.scope_of(node)
    home, name = (file.lookup(scope, node.id), node.id) if isinstance(node, ast.Name) else (None, "")
    bound = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    if bound and isinstance(node, ast.Attribute):
        home = next((outer for outer in enclosing(scope) if outer.kind == "class"), None)
        name = node.attr
    bindings = home.bindings.get(name, []) if home is not None else []
    found = bindings[0].node if len(bindings) == 1 else None
    if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) and not found.decorator_list:
        return _positional(found)[bound:]
    raise file.refuse("It cannot be seen which positions the parameters have in what is compiled here.", node)


def _positional(node: FunctionNode) -> list[str]:
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]


def _options(
    file: File, application: Application, positional: list[str], parameters: tuple[str, ...]
) -> tuple[str, list[str]]:
    """The option to extend, and what to add to it."""
    result = application.result
    if _NUMBERS not in application.transform.argnums:
        short = application.transform.name.rpartition(".")[2]
        raise file.refuse(f"`{short}` takes no `{_NUMBERS}`.", result)
    if application.unclear is not None:
        raise file.refuse("An option is given in a way that cannot be read.", result)
    if application.option(_NAMES) is None and all(name in positional for name in parameters):
        return _NUMBERS, [str(positional.index(name)) for name in parameters]
    return _NAMES, [f'"{name}"' for name in parameters]


def _donated(files: Files, file: File, application: Application, more: tuple[str, list[str]]) -> list[Edit]:
    """The items added to an option that holds none, one or several."""
    option, items = more
    value = application.option(option)
    text = f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if value is None:
        return add_option(file, application, f"{option}={text}")
    written = Written(files, file, value)
    node = written.node
    if isinstance(node, ast.Tuple | ast.List) and node.elts:
        elements = file.layout.elements(node)
        return written.edits(insert_item(file.layout, elements, len(node.elts), ", ".join(items)))
    if isinstance(node, ast.Constant) and node.value is not None:
        return written.edits([Edit(file.layout.span(node), f"({file.layout.source(node)}, {', '.join(items)})")])
    if isinstance(node, ast.Constant | ast.Tuple | ast.List):
        return written.edits([Edit(file.layout.span(node), text)])
    raise file.refuse(f"`{option}` is not written out here.", node)
