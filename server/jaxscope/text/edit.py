"""Edits: the only form in which a text is ever changed. Untouched characters stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from jaxscope.text.span import Span


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the characters of `span` by `new`."""

    span: Span
    new: str


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Sorted edits of one text that do not overlap. Two insertions at one offset keep the order given."""

    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, edits: Iterable[Edit]) -> TextEdit:
        """Sorts `edits`; equal ones count once. Raises ValueError where two of them overlap."""
        unique = list(dict.fromkeys(edits))
        ordered = sorted(unique, key=lambda edit: (edit.span.start, edit.span.end))
        for before, after in pairwise(ordered):
            if after.span.start < before.span.end:
                raise ValueError(f"edits overlap: {before} and {after}")
        return cls(tuple(ordered))

    def apply(self, text: str) -> str:
        """`text` with all edits made."""
        parts, at = [], 0
        for edit in self.edits:
            parts += [text[at : edit.span.start], edit.new]
            at = edit.span.end
        return "".join(parts) + text[at:]


@dataclass(frozen=True, slots=True)
class FileChange:
    """Edits of one file, made for exactly the text `original`."""

    path: str
    original: str
    edit: TextEdit

    @property
    def changed(self) -> str:
        """The text after the edit."""
        return self.edit.apply(self.original)


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A change of one or several files that belong together."""

    files: tuple[FileChange, ...]
