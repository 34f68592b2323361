"""Donates parameters of a compiled function: `donate_argnums` or `donate_argnames` where it is compiled."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.compiled_at import compiled_at
from jaxscope.refactor.program.literals import Written
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import Application
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.options import add_option
from jaxscope.refactor.writing.syntax import insert_item
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range

_NUMBERS, _NAMES = "donate_argnums", "donate_argnames"


def plan(project: Project, path: str, place: Range, parameters: tuple[str, ...]) -> SourceChange | Refusal:
    """Adds `parameters` to those that the function compiled at `place` (a decorator or call) donates."""
    try:
        files = Files(project)
        file = files.get(path)
        application, positional = compiled_at(file, place)
        _check_uses(files, file, application)
        edits = Edits()
        edits.add(file, _donated(files, file, application, _options(file, application, positional, parameters)))
        return edits.change()
    except Refused as refused:
        return refused.refusal


def _check_uses(files: Files, file: File, application: Application) -> None:
    """Raises Refused where the function is used out of sight: the old value may be wanted there after the call."""
    parent = file.parents.get(application.result)
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        uses = files.of_function(file, parent)
    elif isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        home = file.lookup(file.scope_of(parent.targets[0]), parent.targets[0].id)
        uses = files.of_name(file, home, parent.targets[0].id) if home is not None else []
    elif isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
        uses = files.of_attribute(parent.targets[0].attr)
    else:
        uses = []
    for use in uses:
        around = use.file.parents.get(use.node)
        if use.file.path != file.path:
            raise use.file.refuse("The function is used in this file too, where the old value may be wanted.", use.node)
        if not (isinstance(around, ast.Call) and around.func is use.node):
            raise use.file.refuse("The function is handed on here, to where the old value may be wanted.", use.node)
    at_top = next((use.node for use in uses if file.scope_of(use.node) is file.top), None)
    if at_top is not None and files.project.is_imported(file.path):
        raise file.refuse("Another file may import a name that has the old value too.", at_top)


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
