"""Donates parameters of a compiled function: `donate_argnums` or `donate_argnames` where it is compiled."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.compiled_at import compiled_at
from jaxscope.refactor.program.literals import Written
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import Application
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.options import add_option
from jaxscope.refactor.writing.syntax import insert_item
from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.compiled.callers import CompiledCall, compiled_calls_of
from jaxscope.semantics.model import FileModel, Place
from jaxscope.semantics.project import Project
from jaxscope.semantics.updates.update_steps import update_steps_of
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range

_NUMBERS, _NAMES = "donate_argnums", "donate_argnames"


def plan(project: Project, path: str, place: Range, parameters: tuple[str, ...]) -> SourceChange | Refusal:
    """Adds `parameters` to those that a function donates. `place`: of the decorator or call that compiles it, or of a
    call of what another file compiles."""
    try:
        files = Files(project)
        compiled = _compiled(project, path, place)
        file = files.get(compiled.path)
        application, positional = compiled_at(file, compiled.range)
        _check_uses(files, path, _uses(files, file, application, path), compiled, parameters)
        edits = Edits()
        edits.add(file, _donated(files, file, application, _options(file, application, positional, parameters)))
        return edits.change()
    except Refused as refused:
        return refused.refusal


def _compiled(project: Project, path: str, place: Range) -> Place:
    """Where the function is compiled that is called at `place`, if another file does that; else the place itself."""
    model = project.model(path)
    for call in compiled_calls_of(model) if model is not None else []:
        if Mark(call.scope.chunk, call.node).place.range == place:
            return _site(call) or Place(path, place)
    return Place(path, place)


def _site(call: CompiledCall) -> Place | None:
    """Where the function of a call is compiled, if that is in the file which defines it."""
    model: FileModel = call.function.chunk.facts["model"]
    found = (site for site in model.sites if site.node is call.compiled_at)
    return next((Mark(site.scope.chunk, site.node).place for site in found), None)


def _uses(files: Files, file: File, application: Application, path: str) -> list[Use]:
    """Those of the compiled function, as far as it has a name. `path`: of the file that is known to call it."""
    parent = file.parents.get(application.result)
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        return files.of_function(file, parent)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        home = file.lookup(file.scope_of(parent.targets[0]), parent.targets[0].id)
        return files.of_name(file, home, parent.targets[0].id) if home is not None else []
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute):
        return files.of_attribute(parent.targets[0].attr)
    if file.path != path:
        raise file.refuse("It cannot be seen who calls what is compiled here.", application.result)
    return []


def _check_uses(files: Files, path: str, uses: list[Use], compiled: Place, parameters: tuple[str, ...]) -> None:
    """Raises Refused where the old value may be wanted after a call: out of sight, or in another file than `path`."""
    letting_go: dict[str, set[Range]] = {}
    for use in uses:
        file, call = use.file, use.file.parents.get(use.node)
        if not (isinstance(call, ast.Call) and call.func is use.node):
            raise file.refuse("The function is handed on here, to where the old value may be wanted.", use.node)
        if file.path not in letting_go:
            letting_go[file.path] = _letting_go(files.project, file.path, compiled, parameters)
        span = file.layout.span(call)
        place = Range(file.module.lines.position(span.start), file.module.lines.position(span.end))
        if file.path != path and place not in letting_go[file.path]:
            raise file.refuse("The function is used in this file too, where the old value may be wanted.", use.node)
    for use in uses:
        file = use.file
        if file.scope_of(use.node) is file.top and files.project.is_imported(file.path):
            raise file.refuse("Another file may import a name that has the old value too.", use.node)


def _letting_go(project: Project, path: str, compiled: Place, parameters: tuple[str, ...]) -> set[Range]:
    """The calls in a file of what is compiled there, if none of them leaves anybody with an old value."""
    model = project.model(path)
    return {
        Mark(call.scope.chunk, call.node).place.range
        for step in (update_steps_of(model) if model is not None else [])
        if step.needed == "no" and set(parameters) <= set(step.parameters)
        for call in step.calls
        if _site(call) == compiled
    }


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
