"""Makes a static parameter an ordinary one, so that all its values are served by one trace.

What is static by being a Python number (`eqx.filter_jit`) is passed as an array instead.
"""

from __future__ import annotations

import ast

from jaxscope.refactor import static_object
from jaxscope.refactor.change import Hoist, Refusal, Refused
from jaxscope.refactor.program.compiled_at import compiled_at
from jaxscope.refactor.program.literals import Written
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import Application
from jaxscope.refactor.repeated import compiled_place, varied_at
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.syntax import remove_argument
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.varied import Varied
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range, Span

_POWER = "`{}` is used in a power, for which JAX may give another type, or fail, once it is an array"
_OPTIONS = ("static_argnums", "static_argnames")


def plan(project: Project, path: str, place: Range, parameter: str) -> SourceChange | Refusal:
    """Takes `parameter`, for which the call at `place` gives another number each time, out of the static ones."""
    try:
        model, one = varied_at(project, path, place, parameter)
        if static_object.can_plan(one):
            return static_object.plan(project, path, place, parameter)
        if one.cause != "number" or one.use not in ("array", "exponent"):
            raise Refused(f"`{parameter}` is needed when the function is traced.", path, place.start.line)
        files = Files(project)
        where, compiled = compiled_place(model, one.call)
        file = files.get(where)
        edits = Edits()
        if one.is_marked_nowhere:
            file = files.get(path)
            edits.add(file, _as_array(file, model, one))
        else:
            edits.add(file, _without(files, file, compiled, parameter))
        doubts = (Refusal(_POWER.format(parameter), path, place.start.line),) if one.use == "exponent" else ()
        return Hoist(edits.change().files, doubts)
    except Refused as refused:
        return refused.refusal


def _as_array(file: File, model: FileModel, one: Varied) -> list[Edit]:
    """A Python number is static wherever it is given; an array is an argument."""
    given = one.call.argument(one.parameter)
    node = file.at(model.module.range(one.call.scope.chunk, given)) if given is not None else None
    if node is None:
        line = model.module.range(one.call.scope.chunk, one.call.node).start.line
        raise Refused("The argument is not written where the call is.", file.path, line)
    name, imports = imported(file, node, "jax.numpy")
    span = file.layout.span(node)
    return [*imports, Edit(Span(span.start, span.start), f"{name}.asarray("), Edit(Span(span.end, span.end), ")")]


def _without(files: Files, file: File, compiled: Range, parameter: str) -> list[Edit]:
    application, positional = compiled_at(file, compiled)
    if application.unclear is not None or application.options is None or application.shared:
        raise file.refuse("An option is given in a way that cannot be read.", application.result)
    edits: list[Edit] = []
    emptied: list[ast.keyword] = []
    for keyword in application.options.keywords:
        if keyword.arg in _OPTIONS:
            written = Written(files, file, keyword.value)
            entries = written.node.elts if isinstance(written.node, ast.Tuple | ast.List) else [written.node]
            kept = [entry for entry in entries if _meant(file, entry, positional) != parameter]
            if not kept:
                emptied.append(keyword)
            elif len(kept) < len(entries):
                edits += written.edits([_shorter(file, written.node, kept)])
    if not edits and not emptied:
        raise file.refuse(f"It cannot be seen what makes `{parameter}` static.", application.result)
    return edits + _removed(file, application, emptied)


def _meant(file: File, entry: ast.expr, positional: list[str]) -> str:
    """The parameter that a position or name stands for."""
    try:
        value = ast.literal_eval(entry)
    except (ValueError, TypeError):
        value = None
    if isinstance(value, str):
        return value
    if not isinstance(value, int) or not 0 <= value < len(positional):
        raise file.refuse("It cannot be read which parameters are static.", entry)
    return positional[value]


def _shorter(file: File, node: ast.expr, kept: list[ast.expr]) -> Edit:
    text = ", ".join(file.layout.source(entry) for entry in kept)
    text = f"[{text}]" if isinstance(node, ast.List) else f"({text}{',' if len(kept) == 1 else ''})"
    return Edit(file.layout.span(node), text)


def _removed(file: File, application: Application, emptied: list[ast.keyword]) -> list[Edit]:
    """Options that say nothing any more are taken away; a decorator without any is the bare transform."""
    call = application.options
    assert call is not None
    others = len(call.keywords) - len(emptied)
    if not emptied or others or application.operand is not None:
        if len(emptied) > 1:
            raise file.refuse("It is static by position and by name.", call)
        return [edit for keyword in emptied for edit in remove_argument(file.layout, call, keyword)]
    bare = call.args[0] if call.args else call.func
    return [Edit(file.layout.span(call), file.layout.source(bare))]
