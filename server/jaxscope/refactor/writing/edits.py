"""The edits of a change under construction, by file."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxscope.refactor.change import Refused
from jaxscope.refactor.program.names import File
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit


class Edits:
    """Collects edits; `change` answers them together."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[File, list[Edit]]] = {}

    def add(self, file: File, edits: Iterable[Edit]) -> None:
        """More edits of `file`."""
        self._of.setdefault(file.path, (file, []))[1].extend(edits)

    def change(self) -> SourceChange:
        """All edits. Raises Refused where two exclude each other or the result does not parse."""
        changes = []
        for path, (file, edits) in self._of.items():
            if not edits:
                continue
            try:
                change = FileChange(path, file.module.text, TextEdit.of(edits))
                ast.parse(change.changed)
            except (ValueError, SyntaxError) as error:
                raise Refused(f"The places to change exclude each other ({error}).", path, 1) from None
            changes.append(change)
        return SourceChange(tuple(changes))
