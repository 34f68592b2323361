"""Enables x64 where the program starts: after the imports of the file that is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.names import File, identifiers
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import insert_after, starts_own_line
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange

_SWITCH = "jax_enable_x64"


def plan(project: Project, path: str, line: int) -> SourceChange | Refusal:
    """For the file at `path`, where it is the one that is run. `line`: of the finding."""
    files = Files(project)
    try:
        file = files.get(path)
        importer = next(_importers(files, file), None)
        if importer is not None:
            raise Refused("This file imports it: x64 is to be enabled where the program starts.", importer.path, 1)
        for other in files.mentioning(_SWITCH):
            raise Refused(f"`{_SWITCH}` stands here already.", other.path, _line_of_switch(other))
        name = file.name_of("jax", file.tree)
        last = _last_import(file, name)
        if last is None or last.lineno > line or (name is None and "jax" in identifiers(file.tree)):
            raise Refused("There are no imports at its beginning to put it after.", path, line)
        if not starts_own_line(file.layout, last):
            raise file.refuse("The imports share their line with something else.", last)
        added = [] if name else ["import jax", ""]
        newline = file.layout.newline
        text = newline.join([*added, f'{name or "jax"}.config.update("{_SWITCH}", True)'])
        edits = Edits()
        edits.add(file, insert_after(file.layout, last, text if added else newline + text))
        return edits.change()
    except Refused as refused:
        return refused.refusal


def check_off(files: Files, file: File) -> None:
    """Raises Refused where the file, or one that imports it, be it through others, enables x64."""
    waiting = [file]
    for one in waiting:
        model = files.project.model(one.path)
        if model is not None and model.x64:
            raise Refused("x64 is enabled here, and with it JAX uses 64 bits.", one.path, _line_of_switch(one))
        waiting += (other for other in _importers(files, one) if other not in waiting)


def _line_of_switch(file: File) -> int:
    return next(number for number, text in enumerate(file.module.text.splitlines(), 1) if _SWITCH in text)


def _importers(files: Files, file: File) -> Iterator[File]:
    """The other files of the project that import it."""
    stem = Path(file.path).stem
    for other in files.mentioning(Path(file.path).parent.name if stem == "__init__" else stem):
        targets = (
            files.target(other, binding)
            for scope in other.scopes()
            for bindings in scope.bindings.values()
            for binding in bindings
        )
        named = any(target is not None and target[0] == file.path for target in targets)
        if other is not file and (named or files.module_prefixes(other, file.path)):
            yield other


def _last_import(file: File, jax: str | None) -> ast.stmt | None:
    """The last of the imports that the file begins with, after its docstring; or a later one that binds the name."""
    found: ast.stmt | None = None
    for statement in file.tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found = statement
        elif found or not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    bound = [file.statement(binding.node) for binding in file.bindings(file.top, jax)] if jax else []
    later = [one for one in bound if found is None or one.lineno > found.lineno]
    if len(later) < len(bound) or not bound:
        return found
    return later[0] if later[0] in file.tree.body else None
