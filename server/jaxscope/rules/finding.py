"""What a rule says, in the engine's own values. The fields are those of the command line's JSON contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from jaxscope.semantics.compiled.functions import Place
from jaxscope.text.span import Range

Severity = Literal["hint", "information", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The least first."""
INFERRED = " (inferred)"
"""Ends what is said without a trace."""
UNPARSED = "This part of the file does not parse at the moment."
"""Why no fix is offered in text that was good before."""
Evidence = Literal["static", "traced", "both"]


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """A captured array as it stands in the compiled program; None for what is not known."""

    shape: tuple[int, ...] | None
    dtype: str | None
    bytes: int | None
    """Of one array; of a container its largest leaf."""
    count: int = 1
    total_bytes: int | None = None
    sharding: str | None = None
    source_dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding. `column` is 0 when only the line is known."""

    path: str
    line: int
    message: str
    column: int = 0
    end_column: int = 0


def related(place: Place, message: str) -> Related:
    """Another place that belongs to a finding, where its columns are known."""
    start, end = place.range.start, place.range.end
    return Related(place.path, start.line, message, start.column, end.column if end.line == start.line else 0)


def line_of(place: Place, path: str) -> str:
    """`on line 3`, and of which file where that is not the one at `path`."""
    line = f"on line {place.range.start.line}"
    return line if place.path == path else f"{line} of `{place.path.rpartition('/')[2]}`"


@dataclass(frozen=True, slots=True)
class FixOffer:
    """A fix that the rule can plan for this finding."""

    title: str
    kind: str
    safety: Literal["safe", "unsafe"]
    about: tuple[str, ...] = ()
    """What the planner needs to know besides the finding: names of parameters."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `path` is absolute here; the command line prints it relative to where it was called."""

    rule: str
    severity: Severity
    path: str
    range: Range
    function: str
    """Qualified name of the traced function that the constant ends up in."""
    name: str
    """The expression as the user wrote it."""
    message: str
    evidence: Evidence
    inner: str | None = None
    """Qualified name of the function that does the read, when it is another."""
    array: ArrayFacts | None = None
    via: str | None = None
    related: tuple[Related, ...] = ()
    fixes: tuple[FixOffer, ...] = ()
    refused: str | None = None
    """Why no fix is offered, in one sentence."""
    recorded: bool = False
    """Was it a recorded run that showed it, not a trace of the present text?"""
    advice: str = ""
    """What to do where no edit of ours can: Markdown, for the hover."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A static finding that the trace showed to be wrong, kept with the reason."""

    finding: Finding
    reason: str
