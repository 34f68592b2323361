"""What each edit of a fix is for, so that a preview can say it: a parameter, a call, an option, an import."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.semantics import vocabulary
from jaxscope.text.edit import Edit, FileChange
from jaxscope.text.span import LineIndex

_WITH_OPTIONS = [entry for entry in vocabulary.TRANSFORMS.values() if entry.argnums or entry.per_argument]
_OPTIONS = frozenset(
    option for entry in _WITH_OPTIONS for option in (*entry.argnums, *entry.per_argument, *entry.static)
)
_TRANSFORMS = frozenset(entry.name.rpartition(".")[2] for entry in _WITH_OPTIONS)
_OTHER = "Body"


@dataclass(frozen=True, slots=True)
class EditNote:
    """One edit in words. Previews gather edits by `label`."""

    label: str
    description: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of the text, and what an edit in it changes."""

    start: int
    end: int
    label: str
    what: str


def edit_notes(file: FileChange) -> tuple[EditNote, ...]:
    """A note for each edit of `file`, in their order."""
    lines = LineIndex(file.original)
    try:
        parts = list(_parts(ast.parse(file.original), lines))
    except (SyntaxError, ValueError):
        parts = []
    return tuple(_note(file, edit, parts, lines) for edit in file.edit.edits)


def _note(file: FileChange, edit: Edit, parts: list[_Part], lines: LineIndex) -> EditNote:
    place = lines.position(edit.span.start)
    where = f"{os.path.basename(file.path)}:{place.line}"
    if edit.new.lstrip().startswith(("import ", "from ")):
        return EditNote("Import", where)
    if lines.line(place.line).lstrip().startswith("#"):
        return EditNote("Declared shapes", where)
    start, end = edit.span.start, edit.span.end
    around = [
        part for part in parts if part.start <= start and end <= part.end and part.start < end and start < part.end
    ]
    inner = min(around, key=lambda part: part.end - part.start, default=_Part(0, 0, _OTHER, ""))
    return EditNote(inner.label, f"{inner.what}, {where}" if inner.what else where)


def _parts(tree: ast.Module, lines: LineIndex) -> Iterator[_Part]:
    def start(node: ast.expr | ast.stmt | ast.keyword) -> int:
        return lines.offset(lines.from_utf8(node.lineno, node.col_offset))

    def end(node: ast.expr | ast.stmt | ast.keyword) -> int:
        return lines.offset(lines.from_utf8(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _Part(start(node), start(node.body[0]), "Signature", f"`{node.name}`")
            yield _Part(start(node.body[0]), end(node), _OTHER, f"`{node.name}`")
            for decorator in node.decorator_list:
                yield _Part(start(decorator) - 1, end(decorator) + 1, "Option", f"decorator of `{node.name}`")
        elif isinstance(node, ast.Lambda):
            yield _Part(start(node), start(node.body), "Signature", "lambda")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield _Part(start(node), end(node) + 1, "Import", "")
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            first = [called, *(ast.unparse(arg) for arg in node.args[:1])]  # also `partial(jax.jit, …)`
            label = "Option" if any(name.rpartition(".")[2] in _TRANSFORMS for name in first) else "Call"
            yield _Part(end(node.func), end(node), label, f"`{called}`" if len(called) <= 40 else "")
            for keyword in node.keywords:
                if keyword.arg in _OPTIONS:
                    yield _Part(start(keyword), end(keyword), "Option", f"`{keyword.arg}`")
