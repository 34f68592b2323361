"""The known signatures of a function, by names that outlive the trace: a worker's ids are those of one trace, and the
next may give the same id to another signature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction

SOURCES = ("declared", "recorded", "run", "annotation", "call site", "guess")
"""Where signatures come from, the most trusted first."""


def ranked(traced: Iterable[TracedFunction]) -> tuple[TracedFunction, ...]:
    """The most trusted first, and of those the one that is called most."""
    return tuple(sorted(traced, key=_rank))


def _rank(item: TracedFunction) -> tuple[int, int]:
    return doubt(item), -item.calls


def doubt(item: TracedFunction) -> int:
    """How little its signature is trusted: 0 for a declared one."""
    return SOURCES.index(item.source) if item.source in SOURCES else len(SOURCES)


def named(traced: Iterable[TracedFunction]) -> dict[str, TracedFunction]:
    """One function's signatures by rank: `declared x: f32[3,700], n: 3`, numbered where several are alike."""
    found: dict[str, TracedFunction] = {}
    alike: Counter[str] = Counter()
    for item in ranked(traced):
        name = f"{item.source} {', '.join(f'{one.name}: {one.type}' for one in item.parameters)}"
        alike[name] += 1
        found[name if alike[name] == 1 else f"{name} #{alike[name]}"] = item
    return found
