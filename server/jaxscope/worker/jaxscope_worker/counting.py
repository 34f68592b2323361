"""Counts the traces of each function, by the line that calls it, with the reasons for those after the first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .causes import FIRST, Earlier
from .wire.places import Place
from .wire.retracing import Retraced

if TYPE_CHECKING:
    from .observing import Record

_MOST_CAUSES = 8
_Function = tuple[str, str, int]


@dataclass
class _Count:
    at: Place
    traces: int = 0
    found: int = 0
    seconds: float = 0.0
    causes: dict[str, None] = field(default_factory=dict)


class Traces:
    """Of one run. Functions that are traced inside another trace are no programs of their own and not counted."""

    def __init__(self) -> None:
        self._counts: dict[tuple[_Function, str, int], _Count] = {}
        self._earlier: dict[_Function, Earlier] = defaultdict(Earlier)

    def add(self, record: Record, seconds: float, found: bool) -> None:
        """One more trace; `found`: JAX had it already."""
        target, at = record.target, record.jitted_at
        if target is None or at is None or record.signature is None or record.under is not None:
            return
        function = (target.path, target.qualname, target.line)
        count = self._counts.setdefault((function, at.path, at.line), _Count(at))
        if found:
            count.found += 1
            return
        count.traces += 1
        count.seconds += seconds
        cause = self._earlier[function].cause(record.signature, record.call.fun)
        if cause != FIRST and len(count.causes) < _MOST_CAUSES:
            count.causes[cause] = None

    def report(self) -> tuple[Retraced, ...]:
        """What was counted, in the order of the first traces."""
        return tuple(
            Retraced(*function, one.at, one.traces, one.found, tuple(one.causes), one.seconds)
            for (function, _, _), one in self._counts.items()
        )
