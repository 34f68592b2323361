"""Has JAX compute what a memo keeps at once, also while something is traced: the values are arrays, not tracers."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import starts_own_line
from jaxscope.semantics.captured.captures import traced_code_of
from jaxscope.semantics.effects.effects import Effect, effects_of
from jaxscope.semantics.effects.traced_frames import TracedFrames
from jaxscope.semantics.effects.values import Values
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range, Span


def memo_at(model: FileModel, place: Range) -> list[Effect]:
    """What fills a memo at a place: `if key not in table: table[key] = …`, `functools.cache`."""
    found = [one for one in effects_of(model) if one.at.place.range == place and one.inner is not None]
    return [one for one in found if one.kind == "cache" or (one.kind in ("fill", "assign") and one.guarded)]


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """Decorates the function that fills the memo at `place`."""
    model = project.model(path)
    memo = memo_at(model, place) if model is not None else []
    if model is None or not memo:
        return Refusal("No memo is filled here.", path, place.start.line)
    function = memo[0].inner
    assert function is not None
    name = function.name
    if function.parent is None or function.parent.kind not in ("module", "class"):
        return Refusal(f"`{name}` is a part of another function.", path, place.start.line)
    if any(_takes_tracers(model, effect, function) for effect in memo):
        return Refusal(f"What `{name}` keeps depends on arguments that are traced.", path, place.start.line)
    try:
        return _decorated(Files(project), model, function)
    except Refused as refused:
        return refused.refusal


def _takes_tracers(model: FileModel, effect: Effect, function: Scope) -> bool:
    code = next(one for one in traced_code_of(model) if one.site == effect.site)
    frames = TracedFrames(model.project.evaluator, model, code)
    return Values(model.project.evaluator, frames).takes_tracers(function)


def _decorated(files: Files, model: FileModel, function: Scope) -> SourceChange:
    place = model.place(function, function.function_node)
    file = files.get(place.path)
    offset = file.module.lines.offset(place.range.start)
    nodes = [one for one in file.nodes if isinstance(one, ast.FunctionDef)]
    node = next((one for one in nodes if (one.name, one.lineno) == (function.name, place.range.start.line)), None)
    jax = file.name_of("jax", file.tree)
    if node is None or not starts_own_line(file.layout, node):
        reason = f"`{function.name}` does not stand on a line of its own."
        raise Refused(reason, place.path, place.range.start.line)
    if jax is None:
        raise file.refuse("The file does not import `jax`.", node)
    start = file.layout.line_start(offset)
    text = f"{file.layout.indent(offset)}@{jax}.ensure_compile_time_eval(){file.layout.newline}"
    edits = Edits()
    edits.add(file, [Edit(Span(start, start), text)])
    return edits.change()
