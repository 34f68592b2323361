"""The text of a lowered module taken apart: its lines without locations, and the location of each.

Text is what stays the same between releases of JAX; the Python bindings of MLIR do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))\s*$")
_OPERATION = re.compile(
    r'^(?:%[\w$.:#, %-]+ = )?"?(?:(?:stablehlo|chlo|mhlo|vhlo|func|sdy|shape|tensor|arith|scf)\.)?([a-z_]\w*)'
)
_STRUCTURE = ("cond", "do", "reducer", "else")
_CLOSER = re.compile(r"^\}(?!, \{)(?! do \{)(?! else \{)")
_FUNCTION = re.compile(r"^func\.func (?:public |private )?@(\"[^\"]*\"|[\w$.-]+)")
_ARGUMENT = re.compile(r"%arg\d+: ")
_POSITION = re.compile(r":(\d+):(\d+)(?: to (?:(\d+))?:(\d+))?")


@dataclass(frozen=True)
class Frame:
    """A place in a location, as JAX wrote it. Columns as JAX counts them, 0 where it knew none."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


@dataclass(frozen=True)
class Location:
    """Where an operation comes from."""

    name: str
    """Outermost name: the name stack, `jit(f)/while/body/tanh`, or of an argument its name."""
    frames: tuple[Frame, ...]
    """Innermost first."""


NOWHERE = Location("", ())


@dataclass
class Row:
    """One line."""

    text: str
    op: str
    function: str
    """Symbol of the MLIR function that the line stands in."""
    location: Location = NOWHERE
    arguments: tuple[tuple[str, Location], ...] = field(default=())
    """Of a function's first line: each argument's text, `%arg0: tensor<3xf32>`, and its location."""

    @property
    def result_type(self) -> str:
        """What stands after the last colon, `tensor<3xf32>`."""
        return self.text.rpartition(" : ")[2]


def rows(text: str) -> list[Row]:
    """The lines of a module that was printed with its locations."""
    locations = _Locations(text)
    found: list[Row] = []
    function, openers = "", dict[int, Row]()
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#loc"):
            continue
        bare, marks = _split(line)
        stripped = bare.strip()
        indent = len(bare) - len(bare.lstrip())
        header = _FUNCTION.match(stripped)
        if header:
            function = header[1].strip('"')
        row = Row(bare.rstrip(), _operation(stripped), function)
        if header:
            row.arguments = tuple(
                (bare[start:end], locations.read(mark)) for start, end, mark in _arguments(bare, marks)
            )
        last = marks[-1] if marks and marks[-1][0] == len(bare) else None
        if last is not None:
            row.location = locations.read(last[1])
            if _CLOSER.match(stripped) and indent in openers:
                openers.pop(indent).location = row.location
        elif row.op:
            openers[indent] = row
        found.append(row)
    return found


def _operation(line: str) -> str:
    match = _OPERATION.match(line)
    return "" if match is None or match[1] in _STRUCTURE else match[1]


def _arguments(bare: str, marks: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Start and end of each argument of a function's first line, with its location."""
    starts = [match.start() for match in _ARGUMENT.finditer(bare)]
    for start, stop in zip(starts, [*starts[1:], len(bare)], strict=False):
        mark = next(((at, mark) for at, mark in marks if start < at <= stop and at < len(bare)), None)
        end = mark[0] if mark else bare.rfind(",", start, stop) if stop < len(bare) else bare.find(")", start)
        yield start, end, mark[1] if mark else "loc(unknown)"


def _split(line: str) -> tuple[str, list[tuple[int, str]]]:
    """The line without its locations, and each location with where it stood in the line so cut."""
    if " loc(" not in line:
        return line, []
    kept, marks, size, start, i = [], [], 0, 0, 0
    while i < len(line):
        if line[i] == '"':
            i = _string_end(line, i)
        elif line.startswith(" loc(", i):
            end = _closing(line, i + 4)
            kept.append(line[start:i])
            size += i - start
            marks.append((size, line[i + 1 : end]))
            start = i = end
        else:
            i += 1
    kept.append(line[start:])
    return "".join(kept), marks


def _string_end(text: str, start: int) -> int:
    i = start + 1
    while i < len(text) and text[i] != '"':
        i += 2 if text[i] == "\\" else 1
    return i + 1


def _closing(text: str, start: int) -> int:
    """One past the parenthesis that closes the one at `start`."""
    depth, i = 0, start
    while i < len(text):
        if text[i] == '"':
            i = _string_end(text, i)
            continue
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
        if depth == 0:
            break
    return i


class _Locations:
    """The table of location aliases, read as far as asked for."""

    def __init__(self, text: str) -> None:
        self._texts = {match[1]: match[2] for line in text.split("\n") if (match := _ALIAS.match(line))}
        self._known: dict[str, Location] = {}

    def read(self, text: str) -> Location:
        """Of `loc(...)`."""
        if text not in self._known:
            self._known[text] = _Reader(text, 4, self).location()
        return self._known[text]

    def alias(self, name: str) -> Location:
        if name not in self._known:
            self._known[name] = NOWHERE  # an alias that leads to itself would be a broken module
            self._known[name] = self.read(self._texts.get(name, "loc(unknown)"))
        return self._known[name]


class _Reader:
    """Recursive descent over one location."""

    def __init__(self, text: str, at: int, table: _Locations) -> None:
        self._text, self._at, self._table = text, at, table

    def location(self) -> Location:
        if self._take("callsite("):
            callee = self.location()
            self._take(" at ")
            caller = self.location()
            self._take(")")
            return Location(callee.name, callee.frames + caller.frames)
        if self._take("fused"):
            return self._fused()
        if self._text.startswith('"', self._at):
            return self._named()
        match = re.compile(r"#loc\d*").match(self._text, self._at)
        if match is None:
            return NOWHERE
        self._at = match.end()
        return self._table.alias(match[0])

    def _named(self) -> Location:
        """A file with a position, or a name around another location."""
        end = _string_end(self._text, self._at)
        name = _unescape(self._text[self._at + 1 : end - 1])
        self._at = end
        position = _POSITION.match(self._text, end)
        if position is not None:
            self._at = position.end()
            line, column, end_line, end_column = (int(part) if part else 0 for part in position.groups())
            return Location("", (Frame(name, line, column, end_line or (line if end_column else 0), end_column, ""),))
        if not self._take("("):
            return Location(name, ())
        child = self.location()
        self._take(")")
        frames = child.frames
        if len(frames) == 1 and not frames[0].function and not child.name:  # `"f"("case.py":3:4)`: the function
            only = frames[0]
            frames = (Frame(only.file, only.line, only.column, only.end_line, only.end_column, name),)
        return Location(name, frames)

    def _fused(self) -> Location:
        """Several at once: the frames of all, each once."""
        if self._text.startswith("<", self._at):
            depth = 0
            while self._at < len(self._text):
                if self._text[self._at] == '"':
                    self._at = _string_end(self._text, self._at)
                    continue
                depth += {"<": 1, ">": -1}.get(self._text[self._at], 0)
                self._at += 1
                if depth == 0:
                    break
        self._take("[")
        parts = [self.location()]
        while self._take(", "):
            parts.append(self.location())
        self._take("]")
        frames = dict.fromkeys(frame for part in parts for frame in part.frames)
        return Location(next((part.name for part in parts if part.name), ""), tuple(frames))

    def _take(self, word: str) -> bool:
        if self._text.startswith(word, self._at):
            self._at += len(word)
            return True
        return False


def _unescape(text: str) -> str:
    """MLIR writes bytes it cannot print as `\\C3`, the rest as C does."""
    if "\\" not in text:
        return text
    plain = {"n": b"\n", "t": b"\t", '"': b'"', "\\": b"\\"}

    def byte(match: re.Match[str]) -> bytes:
        code = match[1]
        return bytes([int(code, 16)]) if len(code) == 2 else plain.get(code, code.encode())

    out, last = b"", 0
    for match in re.finditer(r"\\([0-9A-Fa-f]{2}|.)", text):
        out += text[last : match.start()].encode() + byte(match)
        last = match.end()
    return (out + text[last:].encode()).decode("utf-8", "replace")
