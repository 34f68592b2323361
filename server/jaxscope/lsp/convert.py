"""The engine's values to and from LSP's, in the unit of columns that the client negotiated."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from lsprotocol import types

from jaxscope.config import camel
from jaxscope.ide.edit_notes import edit_notes
from jaxscope.text.edit import FileChange, SourceChange
from jaxscope.text.span import LineIndex, Position, Range

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
_DRIVE = re.compile(r"^/?([A-Za-z]):")


class Columns:
    """Converts places; knows whether the client counts UTF-16 units, bytes or characters."""

    def __init__(self, encoding: str = UTF16) -> None:
        self.encoding = encoding

    def to_lsp(self, lines: LineIndex, position: Position) -> types.Position:
        """`position` as the client counts it."""
        if self.encoding == UTF16:
            return types.Position(*lines.to_utf16(position))
        text = lines.line(position.line)[: position.column - 1]
        units = len(text.encode("utf-8", "surrogatepass")) if self.encoding == UTF8 else len(text)
        return types.Position(position.line - 1, units)

    def from_lsp(self, lines: LineIndex, position: types.Position) -> Position:
        """What the client calls `position`, held within its line."""
        if self.encoding == UTF16:
            found = lines.from_utf16(position.line, position.character)
        elif self.encoding == UTF8:
            found = lines.from_utf8(position.line + 1, position.character)
        else:
            found = Position(position.line + 1, position.character + 1)
        width = len(lines.line(found.line).rstrip("\r\n"))
        return Position(found.line, min(found.column, width + 1))

    def range_to_lsp(self, lines: LineIndex, place: Range) -> types.Range:
        """`place` as the client counts it."""
        return types.Range(self.to_lsp(lines, place.start), self.to_lsp(lines, place.end))

    def range_from_lsp(self, lines: LineIndex, place: types.Range) -> Range:
        """What the client calls `place`."""
        return Range(self.from_lsp(lines, place.start), self.from_lsp(lines, place.end))

    def edits(self, file: FileChange) -> list[types.TextEdit]:
        """The edits of one file."""
        lines = LineIndex(file.original)
        return [types.TextEdit(self.range_to_lsp(lines, lines.range(edit.span)), edit.new) for edit in file.edit.edits]


def choose_encoding(offered: Iterable[str] | None) -> str:
    """The first unit of columns that the client offers and we know; UTF-16 is what every client knows."""
    return next((str(item) for item in offered or () if item in (UTF8, UTF16, UTF32)), UTF16)


def to_path(uri: str) -> str | None:
    """Absolute path of a `file:` address, None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = _DRIVE.sub(lambda match: f"{match[1].upper()}:", path)
        path = f"//{parts.netloc}{path}" if parts.netloc else path
    return os.path.normpath(path)


def to_uri(path: str) -> str:
    """`file:` address of an absolute path."""
    path = path.replace(os.sep, "/")
    return "file://" + quote(path if path.startswith("/") else f"/{path}", safe="/:~!$&'()*+,;=@-._")


def workspace_edit(
    change: SourceChange, columns: Columns, versions: Mapping[str, tuple[str, int]], versioned: bool
) -> types.WorkspaceEdit:
    """The change as the client applies it.

    `versions` has the address and version of each open document by path. With `versioned` the client is told which
    versions the edits were made for, and refuses them when the user has typed since.
    """
    if not versioned:
        return types.WorkspaceEdit(
            changes={_address(file.path, versions)[0]: columns.edits(file) for file in change.files}
        )
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(*_address(file.path, versions)), columns.edits(file)
            )
            for file in change.files
        ]
    )


def annotated(edit: types.WorkspaceEdit, change: SourceChange, confirm: bool) -> types.WorkspaceEdit:
    """`edit`, made of `change`, with a note at each edit; with `confirm` the client shows them and asks first."""
    found: dict[str, types.ChangeAnnotation] = {}
    for document, file in zip(edit.document_changes or (), change.files, strict=True):
        assert isinstance(document, types.TextDocumentEdit)
        edits: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
        for item, note in zip(document.edits, edit_notes(file), strict=True):
            assert isinstance(item, types.TextEdit)
            key = f"{note.label}: {note.description}"
            found[key] = types.ChangeAnnotation(note.label, confirm, note.description)
            edits.append(types.AnnotatedTextEdit(key, item.range, item.new_text))
        document.edits = edits
    edit.change_annotations = found
    return edit


def _address(path: str, versions: Mapping[str, tuple[str, int]]) -> tuple[str, int | None]:
    return versions.get(path, (to_uri(path), None))


def to_camel(value: Any) -> Any:
    """A dataclass of the engine as JSON: field names in camelCase, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {camel(item.name): to_camel(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_camel(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_camel(item) for key, item in value.items()}
    return value
