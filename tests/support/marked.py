"""Source with marks in it: `$0` for the cursor, comments with carets under what a diagnostic should cover.

    return x @ W
    #          ^ warning: float32[768,768]

says that on the line above, at that column, a warning is expected whose message has that text in it. A comment stays in
the source: it does not move anything. `^^^` covers three characters; several comments may follow one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CURSOR = "$0"
_CARET = re.compile(
    r"^\s*#\s*(?P<caret>\^+)\s*(?P<phase>static |traced )?"
    r"(?P<level>hint|information|warning|error|refuted)\b:?\s*(?P<text>.*?)\s*$"
)


@dataclass(frozen=True)
class Expected:
    """One expected diagnostic. Line and columns count from 1, `end_column` is exclusive."""

    line: int
    column: int
    end_column: int
    phase: str
    """`static` or `traced` when it is expected only there, else empty."""
    level: str
    text: str


@dataclass(frozen=True)
class Marked:
    """A source without its cursor, and what is expected of it."""

    text: str
    cursor: tuple[int, int] | None
    """Line and column from 1."""
    expected: tuple[Expected, ...]


def parse(source: str) -> Marked:
    """Takes the marks out of `source`."""
    cursor = None
    at = source.find(_CURSOR)
    if at >= 0:
        before = source[:at]
        cursor = (before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)
        source = before + source[at + len(_CURSOR) :]
    expected, above = [], 0
    for number, line in enumerate(source.split("\n"), 1):
        mark = _CARET.match(line)
        if mark is None:
            above = number
            continue
        column = mark.start("caret") + 1
        expected.append(
            Expected(above, column, mark.end("caret") + 1, (mark["phase"] or "").strip(), mark["level"], mark["text"])
        )
    return Marked(source, cursor, tuple(expected))
