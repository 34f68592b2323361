"""Parsing that never raises and costs little while typing.

A file is kept as chunks: one or a few top-level statements with the blank lines and comments that follow them. A new
version of the text takes over every chunk before and after the edit, with its syntax trees and whatever was worked
out about it, and parses only what lies between. Syntax trees keep the line numbers of the text that they were parsed
from; `Module` knows by how much each chunk has moved since, so a chunk that moved costs nothing.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jaxscope.source.scan import pieces
from jaxscope.text.span import LineIndex, Position, Range

_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
_NEWLINES = "\r\n"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Why a part of the file does not parse."""

    range: Range
    message: str


@dataclass(eq=False, slots=True)
class Chunk:
    """Consecutive whole lines of a file. Compared by identity: equal text may stand twice in one file."""

    text: str
    body: list[ast.stmt]
    """Statements; of a broken chunk those of its last good version."""
    origin: int
    """Line number that the trees of `body` give to the first line of their text."""
    problem: tuple[int, int, str] | None = None
    """Line from 1 within the chunk, column in characters from 1, message; None when it parses."""
    parsed_text: str | None = None
    """Text that `body` was parsed from when that is not `text`: the last good version."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What other layers worked out from `body` alone, by layer; lives as long as the chunk does."""
    line_count: int = 0
    """Line ends in `text`."""

    @property
    def broken(self) -> bool:
        """Does `text` not parse?"""
        return self.problem is not None

    @property
    def good_text(self) -> str:
        """The text that `body` is of."""
        return self.text if self.parsed_text is None else self.parsed_text

    @property
    def words(self) -> frozenset[str]:
        """Every word of `good_text`, in code and comments alike."""
        found: frozenset[str] | None = self.facts.get("words")
        if found is None:
            found = self.facts["words"] = frozenset(_WORD.findall(self.good_text))
        return found


class Module:
    """One version of one file. Immutable as seen from outside."""

    def __init__(self, path: str, text: str, chunks: list[Chunk]) -> None:
        self.path = path
        self.text = text
        self.chunks = chunks
        self.lines = LineIndex(text)
        self.facts: dict[str, Any] = {}
        """What other layers worked out from this version alone, by layer."""
        self._first_line: dict[int, int] = {}
        line = 1
        for chunk in chunks:
            self._first_line[id(chunk)] = line
            line += chunk.line_count

    def first_line(self, chunk: Chunk) -> int:
        """Line from 1 at which `chunk` begins in this version."""
        return self._first_line[id(chunk)]

    def position(self, chunk: Chunk, line: int, utf8_column: int) -> Position:
        """Where the place that a tree of `chunk` calls (`lineno`, `col_offset`) is in this version.

        In the last good version of a broken chunk, lines before and after the edit are found again; a line within it
        becomes the nearest that exists.
        """
        local = line - chunk.origin
        if chunk.parsed_text is not None:
            local = _same_line(chunk, local)
        absolute = self._first_line[id(chunk)] + local
        if chunk.text.isascii():
            return Position(absolute, utf8_column + 1)
        return self.lines.from_utf8(absolute, utf8_column)

    def range(self, chunk: Chunk, node: ast.AST) -> Range:
        """Place of `node`, which is of a tree of `chunk`."""
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_column = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        start = self.position(chunk, line, column)
        if end_line == line and chunk.text.isascii():
            return Range(start, Position(start.line, end_column + 1))
        return Range(start, max(start, self.position(chunk, end_line, end_column)))

    def source(self, place: Range) -> str:
        """Text at `place`."""
        return self.text[self.lines.offset(place.start) : self.lines.offset(place.end)]

    @cached_property
    def problems(self) -> tuple[SyntaxProblem, ...]:
        """Syntax errors, one for each broken chunk."""
        found = []
        for chunk in self.chunks:
            if chunk.problem is not None:
                line, column, message = chunk.problem
                start = Position(self.first_line(chunk) + line - 1, column)
                width = len(self.lines.line(start.line).rstrip("\r\n"))
                found.append(SyntaxProblem(Range(start, Position(start.line, max(column, width + 1))), message))
        return tuple(found)

    @cached_property
    def tree(self) -> ast.Module | None:
        """The whole file, parsed at once with exact positions; None when it does not parse."""
        try:
            return _ast_parse(self.text)
        except _PARSE_ERRORS:
            return None


def parse(path: str, text: str, previous: Module | None = None) -> Module:
    """A module of `text`. Never raises. `previous`: an earlier version of the same file, whose chunks are reused."""
    if text.startswith("\ufeff"):
        text = text[1:]
    if previous is None:
        return Module(path, text, _chunks_or_pieces(text, []))
    if previous.text == text and previous.path == path:
        return previous
    old = previous.chunks
    before, start = _unchanged_before(old, text)
    after, end = _unchanged_after(old, text, before, start)
    stop = len(old) - after
    middle = _parse_between(text, old, (before, stop), (start, end))
    if middle is None:
        return Module(path, text, _chunks_or_pieces(text, old))
    first, last, chunks = middle
    return Module(path, text, old[:first] + chunks + old[last:])


def _unchanged_before(old: list[Chunk], text: str) -> tuple[int, int]:
    """How many leading chunks stand at the same place in `text`, and where they end. Broken ones are never kept."""
    count, at = 0, 0
    for chunk in old:
        end = at + len(chunk.text)
        if chunk.broken or not text.startswith(chunk.text, at) or not _line_start(text, end):
            break
        count, at = count + 1, end
    return count, at


def _unchanged_after(old: list[Chunk], text: str, before: int, start: int) -> tuple[int, int]:
    """How many trailing chunks stand at the end of `text`, not counting the first `before`, and where they begin."""
    count, at = 0, len(text)
    for chunk in reversed(old[before:]):
        begin = at - len(chunk.text)
        if chunk.broken or begin < start or not text.endswith(chunk.text, start, at) or not _line_start(text, begin):
            break
        count, at = count + 1, begin
    return count, at


def _line_start(text: str, at: int) -> bool:
    if at == 0 or at == len(text):
        return True
    return text[at - 1] in _NEWLINES and not (text[at - 1] == "\r" and text[at] == "\n")


def _parse_between(
    text: str, old: list[Chunk], kept: tuple[int, int], span: tuple[int, int]
) -> tuple[int, int, list[Chunk]] | None:
    """Chunks for `text[span]`, where old chunks before `kept[0]` and from `kept[1]` on stay.

    Returns which old chunks they replace. Where the text does not parse by itself, it is tried with the neighbours (an
    `else:` belongs to the chunk above, a decorator to the one below). None: the whole file must be looked at.
    """
    (before, stop), (start, end) = kept, span
    for wider_before, wider_after in ((0, 0), (1, 0), (0, 1), (1, 1)):
        first, last = max(0, before - wider_before), min(len(old), stop + wider_after)
        from_ = start - sum(len(chunk.text) for chunk in old[first:before])
        until = end + sum(len(chunk.text) for chunk in old[stop:last])
        try:
            return first, last, _split(text[from_:until])
        except _PARSE_ERRORS:
            continue
    middle = text[start:end]
    if pieces(middle).open_string:
        try:
            _ast_parse(text)
            return None
        except _PARSE_ERRORS:
            pass
    return before, stop, _pieces_to_chunks(middle, old[before:stop])


def _chunks_or_pieces(text: str, old: list[Chunk]) -> list[Chunk]:
    try:
        return _split(text)
    except _PARSE_ERRORS:
        return _pieces_to_chunks(text, old)


def _ast_parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _first_line_of(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", None) or []
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _split(text: str) -> list[Chunk]:
    """Chunks of a text that parses; each but perhaps the first begins with a statement. Raises as `ast.parse` does."""
    if not text:
        return []
    body = _ast_parse(text).body
    index = LineIndex(text)
    groups: list[tuple[int, list[ast.stmt]]] = []
    end = 0
    for statement in body:
        first = _first_line_of(statement)
        if groups and first <= end:
            groups[-1][1].append(statement)
        else:
            groups.append((first, [statement]))
        end = statement.end_lineno or first
    if not groups or groups[0][0] > 1:
        groups.insert(0, (1, []))
    total = len(index.starts)
    chunks = []
    for number, (first, statements) in enumerate(groups):
        until = groups[number + 1][0] if number + 1 < len(groups) else total + 1
        last_offset = index.starts[until - 1] if until <= total else len(text)
        part = text[index.starts[first - 1] : last_offset]
        count = until - first if until <= total else total - first
        chunks.append(Chunk(part, statements, first, line_count=count))
    return chunks


def _pieces_to_chunks(text: str, replaced: list[Chunk]) -> list[Chunk]:
    """Chunks of a text that does not parse: its good pieces, and broken ones with their last good version."""
    starts = pieces(text).starts
    good = {chunk.text: chunk for chunk in replaced if not chunk.broken}
    chunks: list[Chunk] = []
    lost = [chunk for chunk in replaced if chunk.body]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        if part in good:
            chunks.append(good.pop(part))
            continue
        try:
            chunks += _split(part)
        except _PARSE_ERRORS as error:
            chunks.append(_broken(part, error))
    kept = {id(chunk) for chunk in chunks}
    parsed = {chunk.text.partition("\n")[0] for chunk in chunks if not chunk.broken}
    lost = [chunk for chunk in lost if id(chunk) not in kept and _head(chunk) not in parsed]
    broken = [chunk for chunk in chunks if chunk.broken]
    for chunk in broken:
        match = next((old for old in lost if _head(old) == chunk.text.partition("\n")[0]), None)
        if match is None and len(broken) == 1 and len(lost) == 1:
            match = lost[0]
        if match is not None:
            lost.remove(match)
            chunk.body, chunk.origin = match.body, match.origin
            chunk.parsed_text = match.text if match.parsed_text is None else match.parsed_text
    return chunks


def _head(chunk: Chunk) -> str:
    return chunk.good_text.partition("\n")[0]


def _broken(text: str, error: BaseException) -> Chunk:
    line, column, message = 1, 1, str(error) or type(error).__name__
    if isinstance(error, SyntaxError):
        line, column, message = error.lineno or 1, error.offset or 1, error.msg
    count = len(LineIndex(text).starts) - 1
    return Chunk(text, [], 1, (min(max(line, 1), max(count, 1)), max(column, 1), message), line_count=count)


def _same_line(chunk: Chunk, local: int) -> int:
    """Line (from 0) of the broken text that was line `local` of the last good one."""
    old, new = (chunk.parsed_text or "").splitlines(), chunk.text.splitlines()
    if local < len(old):
        if local < len(new) and old[local] == new[local]:
            return local
        moved = local + len(new) - len(old)
        if 0 <= moved < len(new) and old[local] == new[moved]:
            return moved
    return max(0, min(local, len(new) - 1))
