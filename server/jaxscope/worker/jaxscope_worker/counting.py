"""Counts the traces of each function, by the line that calls it, with the reasons for those after the first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING

from .causes import FIRST, Earlier
from .wire.places import Place
from .wire.retracing import Retraced

if TYPE_CHECKING:
    from .observing import Record

_MOST_CAUSES = 8


@dataclass
class Count:
    """The traces of one function that calls on one line led to."""

    number: int
    function: tuple[str, str, int, int | None]
    """Path, qualified name, line and column."""
    at: Place
    source: str
    traces: int = 0
    found: int = 0
    seconds: float = 0.0
    compile_seconds: float | None = None
    again: bool = False
    """Was the last trace another than the function's first?"""
    causes: dict[str, int] = field(default_factory=dict)
    """With how many traces each had."""

    def trace(self, cause: str, seconds: float) -> None:
        """One more."""
        self.traces += 1
        self.seconds += seconds
        self.again = cause != FIRST
        if self.again and (cause in self.causes or len(self.causes) < _MOST_CAUSES):
            self.causes[cause] = self.causes.get(cause, 0) + 1

    def compiled(self, seconds: float) -> None:
        """The program of the last trace, which was another than the function's first."""
        self.compile_seconds = (self.compile_seconds or 0.0) + seconds

    def report(self) -> Retraced:
        """As it goes over the wire."""
        *function, column = self.function
        return Retraced(
            *function,
            self.at,
            self.traces,
            self.found,
            tuple(self.causes),
            self.seconds,
            self.compile_seconds,
            tuple(self.causes.values()),
            column,
            self.source,
        )


class Traces:
    """Of one run. Functions that are traced inside another trace are no programs of their own and not counted.

    They are told apart by their code: lambdas of one line are different functions, however many objects of each there
    are.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[CodeType, str, int], Count] = {}
        self._earlier: dict[CodeType, Earlier] = defaultdict(Earlier)

    def add(self, record: Record, seconds: float, found: bool) -> Count | None:
        """One more trace; `found`: JAX had it already. None of what is not counted."""
        target, at = record.target, record.jitted_at
        if target is None or at is None or record.signature is None or record.under is not None:
            return None
        code = target.function.__code__
        count = self._counts.get((code, at.path, at.line))
        if count is None:
            function = target.path, target.qualname, target.line, target.column
            count = Count(len(self._counts) + 1, function, at, record.source)
            self._counts[code, at.path, at.line] = count
        if found:
            count.found += 1
        else:
            count.trace(self._earlier[code].cause(record.signature, record.call.fun), seconds)
        return count

    def counts(self) -> tuple[Count, ...]:
        """In the order of the first traces."""
        return tuple(self._counts.values())
