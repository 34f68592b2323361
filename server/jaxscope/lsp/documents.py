"""The documents that are open in the client, kept by our own rules of what a line is.

Python and LSP end lines at CR, LF and CRLF only. Splitting at form feeds and at U+2028 as well, as `str.splitlines`
does, would put incremental edits in the wrong place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lsprotocol import types

from jaxscope.lsp.convert import Columns
from jaxscope.text.span import LineIndex


@dataclass(frozen=True, slots=True)
class Document:
    """One version of an open document."""

    uri: str
    path: str
    version: int
    text: str
    dirty: bool = False
    """Has it been edited since it was opened or saved?"""

    def changed(
        self, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], columns: Columns
    ) -> Document:
        """The document after the edits of one notification, which follow each other."""
        text = self.text
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                lines = LineIndex(text)
                place = columns.range_from_lsp(lines, change.range)
                start, end = lines.offset(place.start), lines.offset(place.end)
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
        return replace(self, version=version, text=text, dirty=True)
