"""What an entry that returns nothing printed, so that two runs of it can be compared; the text stays in the worker."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_OF_A_TRACE = re.compile(r"Traced<|Tracer[<(]")
_MOST = 1 << 20
"""Characters above which a text is not compared."""
RTOL = 1e-5
"""Of two numbers with a fraction."""


@dataclass(frozen=True)
class Printed:
    """The lines of an entry that say something of numbers. Lines that show a traced value are none of them."""

    lines: tuple[str, ...]

    @staticmethod
    def of(text: str) -> Printed:
        """Empty where there is nothing to compare."""
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        lines = [line for line in lines if not _OF_A_TRACE.search(line)]
        return Printed(tuple(lines) if any(map(_NUMBER.search, lines)) else ())


@contextlib.contextmanager
def kept() -> Iterator[list[str]]:
    """What is written to standard output meanwhile, which shows there, too."""
    written: list[str] = []
    stream = sys.stdout
    sys.stdout = _Tee(stream, written)
    try:
        yield written
    finally:
        sys.stdout = stream


class _Tee:
    """Standard output that takes note."""

    def __init__(self, stream: Any, written: list[str]) -> None:
        self._stream, self._written, self._left = stream, written, _MOST

    def write(self, text: str) -> Any:
        done = self._stream.write(text)
        if self._left >= 0:
            self._left -= len(text)
            self._written.append(text)
            if self._left < 0:
                self._written.clear()
        return done

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def equal(before: Printed, after: Printed, *, more: bool = False) -> tuple[bool | None, str]:
    """Do two texts say the same? `more`: the second may have more lines. None where too little was printed to tell."""
    if not before.lines:
        return None, ""
    if more:
        found = _within(before.lines, after.lines)
    elif len(before.lines) != len(after.lines):
        return False, "has another number of lines"
    else:
        found = _all(_alike(a, b) for a, b in zip(before.lines, after.lines, strict=True))
    return found, "differs" if found is False else ""


def moved(before: Printed, after: Printed, eager: Printed) -> tuple[bool | None, str]:
    """Is each line what it was or, where that was out of date, what is printed where nothing is compiled? That prints
    more: what compiled code printed while it was traced.
    """
    if not before.lines or len(before.lines) != len(after.lines):
        return None, ""
    behind = better = unsure = False
    at = 0
    for old, new in zip(before.lines, after.lines, strict=True):
        stays = _alike(old, new)
        fits = next((row for row in range(at, len(eager.lines)) if _alike(eager.lines[row], new)), None)
        if fits is not None:
            at = fits + 1
        elif stays is False:
            return False, "is neither what it was nor what it is without `jit`"
        behind, better = behind or fits is None, better or (fits is not None and stays is False)
        unsure = unsure or (fits is None and stays is None)
    if behind and not better:
        return False, "is still what it was, and not what it is without `jit`"
    return None if unsure else True, ""


def _within(lines: Sequence[str], among: Sequence[str]) -> bool | None:
    """Are the lines among others, in their order?"""
    at, known = 0, []
    for line in lines:
        found = [_alike(line, other) for other in among[at:]]
        row = next((row for row, same in enumerate(found) if same is not False), None)
        if row is None:
            return False
        known.append(found[row])
        at += row + 1
    return _all(known)


def _all(each: Any) -> bool | None:
    known = list(each)
    return False if False in known else None if None in known else True


def _alike(a: str, b: str) -> bool | None:
    """The same words, and numbers that are close; None where the last place that is shown differs by one."""
    if a == b:
        return True
    if _words(a) != _words(b):
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return _all(_close(x, y) for x, y in pairs)


def _words(line: str) -> str:
    return "".join(_NUMBER.sub("#", line).split())


def _close(a: str, b: str) -> bool | None:
    if a == b:
        return True
    if all(text.lstrip("+-").isdigit() for text in (a, b)):
        return int(a) == int(b)
    x, y = float(a), float(b)
    if not (math.isfinite(x) and math.isfinite(y)):
        return x == y
    if abs(x - y) <= RTOL * max(abs(x), abs(y)):
        return True
    return None if abs(x - y) <= 1.01 * max(_last_place(a), _last_place(b)) else False


def _last_place(text: str) -> float:
    digits, _, exponent = text.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))
