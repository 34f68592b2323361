"""Retraces as a run showed them: those that were inferred confirmed or refuted, and those that only a run shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from jaxscope.refactor import strong_type
from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import Finding, FixOffer, Refuted, Related, Severity
from jaxscope.semantics.compiled.callers import CompiledCall, compiled_calls_of
from jaxscope.semantics.model import FileModel, Function
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply
from jaxscope.worker.jaxscope_worker.wire.retracing import Retraced

_NEW = "a new function object"
_SURE = (
    re.compile(r"weak type of (?P<name>\w+)[^:]*: \w+\[\]"),
    re.compile(r"new type of (?P<name>\w+)[^:]*: ~\w+\[\] → ~\w+\[\]"),
    re.compile(r"(?P<name>\w+) is passed by "),
)
"""Reasons that are hardly ever meant: what a Python number becomes, and how something is passed."""
_WEAK = re.compile(r"weak type of (?P<name>\w+)")
"""Of an array: one trace more than needed, by how it was made, perhaps far from here."""
_MAYBE = re.compile(r"(?:new (?:shape|type) of|static) (?P<name>\w+)")
_TYPES = re.compile(
    r"(?:weak|new) type of \w+: (?P<weak>~?)(?P<old>\w+)\[\](?: of a Python number)? → (?P<new>~?\w+)\[\]$"
)
_SHORT = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}
_DTYPES = frozenset(
    f"{kind}{bits}"
    for kind, sizes in (("float", (16, 32, 64)), ("bfloat", (16,)), ("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)))
    for bits in sizes
)
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
        fixes=_fixes(seen, parameter),
    )


def _fixes(seen: Retraced, parameter: str) -> tuple[FixOffer, ...]:
    """A number that is given its type at once: that of the later calls."""
    found = [
        match
        for cause in seen.causes
        if cause.split(":")[0].endswith(f"type of {parameter}") and (match := _TYPES.match(cause))
    ]
    if len(found) != 1:
        return ()
    weak, old, new = found[0]["weak"], found[0]["old"], found[0]["new"]
    if new.startswith("~"):
        both = {old.rstrip("0123456789"), new[1:].rstrip("0123456789")}
        python = FixOffer(f"Pass `{parameter}` as a float each time", "strong-type", "safe", (strong_type.PYTHON,))
        return (python,) if weak and both == {"i", "f"} else ()
    dtype = _SHORT.get(new.rstrip("0123456789"), "") + new.lstrip("abcdefghijklmnopqrstuvwxyz")
    if (not weak and "of a Python number" not in found[0][0]) or dtype not in _DTYPES:
        return ()
    return (FixOffer(f"Begin with a `{dtype}`", "strong-type", "safe", (dtype,)),)


def _reason(seen: Retraced) -> tuple[Severity, str] | None:
    for cause in seen.causes:
        for pattern in _SURE:
            if match := pattern.match(cause):
                return "warning", match["name"]
    for cause in seen.causes:
        if match := _WEAK.match(cause):
            return "hint", match["name"]
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
