"""Retraces as a run showed them: those that were inferred confirmed or refuted, and those that only a run shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import Finding, Refuted, Related, Severity
from jaxscope.semantics.compiled_calls import CompiledCall, compiled_calls_of
from jaxscope.semantics.model import FileModel, Function
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply
from jaxscope.worker.jaxscope_worker.wire.retracing import Retraced

_NEW = "a new function object"
_SURE = (
    re.compile(r"weak type of (?P<name>\w+)"),
    re.compile(r"new type of (?P<name>\w+)[^:]*: ~\w+\[\] → ~\w+\[\]"),
    re.compile(r"(?P<name>\w+) is passed by "),
)
"""Reasons that are hardly ever meant: what a Python number becomes, and how something is passed."""
_MAYBE = re.compile(r"(?:new (?:shape|type) of|static) (?P<name>\w+)")
_MANY = 5
"""Shapes or static values at one call above which the run looks as if there was no end to them."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding from the source, and how to know it again in a run."""

    finding: Finding
    functions: tuple[Function, ...]
    """What would be traced each time; empty where the source does not tell."""
    lines: range
    """Of the call or site."""


def merge(model: FileModel, name: str, claims: list[Claim], evidence: TraceReply) -> Judgement:
    """The claims as the run showed them, and what it showed besides."""
    here = [one for one in evidence.retraced if one.at.path == model.path]
    findings: list[Finding] = []
    refuted: list[Refuted] = []
    told: set[int] = set()
    for claim in claims:
        seen = [one for one in here if _is_meant(claim, one)]
        told |= {id(one) for one in seen}
        again = [one for one in seen if one.traces > 1]
        if again:
            findings.append(_confirmed(claim.finding, again))
        elif any(one.found for one in seen):
            times = sum(one.traces + one.found for one in seen)
            reason = f"In this run {times} calls used one trace."
            refuted.append(Refuted(claim.finding, reason))
        else:
            findings.append(claim.finding)
    calls = compiled_calls_of(model)
    for one in here:
        if id(one) not in told:
            findings += _added(model, name, one, calls)
    return Judgement(tuple(findings), tuple(refuted))


def _is_meant(claim: Claim, seen: Retraced) -> bool:
    if claim.finding.via is not None and claim.finding.via.startswith("new-") and claim.functions:
        return any((one.path, one.qualname) == (seen.path, seen.function) for one in claim.functions)
    in_lines = seen.at.line in claim.lines
    if not claim.functions:
        return in_lines and (seen.traces < 2 or any(cause.startswith(_NEW) for cause in seen.causes))
    return in_lines and any((one.path, one.qualname) == (seen.path, seen.function) for one in claim.functions)


def _confirmed(finding: Finding, seen: list[Retraced]) -> Finding:
    said = finding.message.removesuffix(" (inferred)")
    return replace(finding, severity="warning", evidence="both", message=f"{said}: {figures(seen)}")


def figures(seen: list[Retraced]) -> str:
    """`traced 4 times in this run, compiled in 1.2 s`, and why."""
    compiled = [one.compile_seconds for one in seen if one.compile_seconds is not None]
    text = f"{sum(one.traces for one in seen)} traces in this run"
    if compiled:
        text += f", {sum(compiled):.2g} s spent compiling"
    causes = list(dict.fromkeys(cause for one in seen for cause in one.causes))
    return text + (f" ({causes[0]}{', …' if len(causes) > 1 else ''})" if causes else "")


def _added(model: FileModel, name: str, seen: Retraced, calls: list[CompiledCall]) -> Iterable[Finding]:
    """What no look at the source tells: numbers that change their type, shapes that follow from data."""
    found = _reason(seen)
    if found is None:
        return
    severity, parameter = found
    place = _place(model, seen, parameter, calls)
    times = "again" if seen.traces < 2 else f"{seen.traces} times"
    causes = "; ".join(seen.causes[:2]) + ("; …" if len(seen.causes) > 2 else "")
    yield Finding(
        name,
        severity,
        model.path,
        place,
        seen.function,
        parameter,
        f"`{seen.function}` was traced {times} here: {causes}",
        "traced",
        via="traced",
        related=(Related(seen.path, seen.line, "traced here"),),
    )


def _reason(seen: Retraced) -> tuple[Severity, str] | None:
    for cause in seen.causes:
        for pattern in _SURE:
            if match := pattern.match(cause):
                return "warning", match["name"]
    for cause in seen.causes:
        if seen.traces > 2 and (match := _MAYBE.match(cause)):
            return ("warning" if seen.traces >= _MANY else "hint"), match["name"]
    return None


def _place(model: FileModel, seen: Retraced, parameter: str, calls: list[CompiledCall]) -> Range:
    """The argument at the call; where that is not known, the line."""
    for call in calls:
        whole = model.module.range(call.scope.chunk, call.node)
        if whole.start.line <= seen.at.line <= whole.end.line:
            function = model.function_of(call.function)
            given = call.argument(parameter)
            if (function.path, function.qualname) == (seen.path, seen.function):
                node: ast.expr = given if given is not None else call.node.func
                place = model.module.range(call.scope.chunk, node)
                return place if place.start.line == place.end.line else _line(model, seen.at.line)
    return _line(model, seen.at.line)


def _line(model: FileModel, line: int) -> Range:
    text = model.module.lines.line(line)
    start = len(text) - len(text.lstrip()) + 1
    return Range(Position(line, start), Position(line, len(text.rstrip()) + 1))
