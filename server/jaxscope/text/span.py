"""Offsets, spans and positions.

Offsets count characters (code points) from 0. A `Position` counts lines and characters from 1, as the command
line prints them. The two other units in use, UTF-8 bytes (`ast`) and UTF-16 units (LSP), exist only as arguments
and results of `LineIndex`, so that a bare column never travels.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text: line and column in characters, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """From `start` up to, not including, `end`."""

    start: Position
    end: Position

    def contains(self, position: Position) -> bool:
        """Is `position` inside, or right at the end?"""
        return self.start <= position <= self.end


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` up to, not including, `end`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")


# Only what Python itself takes for a line end: not form feeds, not U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")


class LineIndex:
    """Where each line of `text` begins, and conversions between the units of columns."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """Offset of each line's first character."""
        return [0, *(m.end() for m in _LINE_END.finditer(self.text))]

    def line(self, number: int) -> str:
        """Line `number` (from 1) with its line end; empty when there is no such line."""
        starts = self.starts
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end]

    def position(self, offset: int) -> Position:
        """Position of the character at `offset`."""
        line = bisect_right(self.starts, offset)
        return Position(line, offset - self.starts[line - 1] + 1)

    def range(self, span: Span) -> Range:
        """`span` as positions."""
        return Range(self.position(span.start), self.position(span.end))

    def offset(self, position: Position) -> int:
        """Offset of `position`, held within its line and the text."""
        starts = self.starts
        if position.line > len(starts):
            return len(self.text)
        line = max(position.line, 1)
        end = starts[line] if line < len(starts) else len(self.text)
        return min(starts[line - 1] + max(position.column, 1) - 1, end)

    def from_utf8(self, line: int, column: int) -> Position:
        """The place that `ast` calls (`lineno`, `col_offset`): line from 1, UTF-8 bytes from 0."""
        text = self.line(line)
        if text.isascii():
            return Position(line, column + 1)
        return Position(line, len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")) + 1)

    def from_utf16(self, line: int, column: int) -> Position:
        """The place that LSP calls (`line`, `character`): lines from 0, UTF-16 units from 0."""
        text = self.line(line + 1)
        if text.isascii():
            return Position(line + 1, column + 1)
        units = text.encode("utf-16-le", "surrogatepass")[: column * 2]
        return Position(line + 1, len(units.decode("utf-16-le", "ignore")) + 1)

    def to_utf16(self, position: Position) -> tuple[int, int]:
        """`position` as LSP counts it: (line from 0, UTF-16 units from 0)."""
        text = self.line(position.line)[: position.column - 1]
        return position.line - 1, len(text.encode("utf-16-le", "surrogatepass")) // 2
