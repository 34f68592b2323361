"""Retraces as a run showed them: those that were inferred confirmed or refuted, and those that only a run shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from jaxscope.refactor import strong_type
from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import Finding, FixOffer, Refuted, Related, Severity
from jaxscope.rules.padding import PADDING, padding
from jaxscope.semantics.compiled.callers import CompiledCall, compiled_calls_of
from jaxscope.semantics.model import FileModel, Function
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply
from jaxscope.worker.jaxscope_worker.wire.retracing import Retraced

_NEW = "a new function object"
_SURE = (
    re.compile(r"weak type of (?P<name>\w+)[^:]*: \w+\[\]"),
    re.compile(r"new type of (?P<name>\w+)[^:]*: ~\w+\[\] → ~?\w+\[\]"),
    re.compile(r"(?P<name>\w+) is passed by "),
)
"""Reasons that are hardly ever meant: what a Python number becomes, and how something is passed."""
_WEAK = re.compile(r"weak type of (?P<name>\w+)")
"""Of an array: one trace more than needed, by how it was made, perhaps far from here."""
_MAYBE = re.compile(
    r"(?:new (?:shape|type) of|static) (?P<name>\w+)|(?P<part>\w+)[^;]* is (?:given as well|not given any more)"
)
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
"""Shapes, static values or functions at one call above which the run looks as if there was no end to them."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding from the source, and how to know it again in a run."""

    finding: Finding
    functions: tuple[Function, ...]
    """What would be traced each time; empty where the source does not tell."""
    lines: range
    """Of the call or site."""


def merge(model: FileModel, name: str, claims: list[Claim], evidence: TraceReply) -> Judgement:
    """The claims as a run showed them, and what it showed besides."""
    here = [one for one in evidence.retraced if one.at.path == model.path]
    findings: list[Finding] = []
    refuted: list[Refuted] = []
    told: set[int] = set()
    for claim in claims:
        seen = [one for one in here if _is_meant(claim, one)]
        told |= {id(one) for one in seen}
        if again := _of_one_run([one for one in seen if one.traces > 1]):
            findings.append(_confirmed(claim.finding, again))
        elif met := _of_one_run([one for one in seen if one.found]):
            times = sum(one.traces + one.found for one in met)
            refuted.append(Refuted(claim.finding, f"In {_run(met[0])} {times} calls used one trace."))
        else:
            findings.append(claim.finding)
    calls = compiled_calls_of(model)
    added: dict[object, Finding] = {}
    for one in here:
        if id(one) not in told and (found := _added(model, name, one, calls)):
            added.setdefault((_identity(one), one.at.line), found)
    return Judgement((*findings, *added.values()), tuple(refuted))


def _identity(seen: Retraced) -> tuple[object, ...]:
    return seen.path, seen.function, seen.line, seen.column


def _is_of(seen: Retraced, functions: tuple[Function, ...]) -> bool:
    """Lambdas of one line are told apart by their column."""
    return any(
        _identity(seen) == (one.path, one.qualname, one.line, one.name_range.start.column * (one.name == "<lambda>"))
        for one in functions
    )


def _of_one_run(seen: list[Retraced]) -> list[Retraced]:
    """What a run of the present text counted; else what a recorded one did. The two are not to be added up."""
    return [one for one in seen if one.source == "run"] or seen


def _run(seen: Retraced) -> str:
    return "the recorded run" if seen.source == "recorded" else "this run"


def _is_meant(claim: Claim, seen: Retraced) -> bool:
    if claim.finding.via is not None and claim.finding.via.startswith("new-") and claim.functions:
        return _is_of(seen, claim.functions)
    in_lines = seen.at.line in claim.lines
    if not claim.functions:
        return in_lines and (seen.traces < 2 or any(cause.startswith(_NEW) for cause in seen.causes))
    return in_lines and _is_of(seen, claim.functions)


def _confirmed(finding: Finding, seen: list[Retraced]) -> Finding:
    said = finding.message.removesuffix(" (inferred)")
    return replace(
        finding,
        severity="warning",
        evidence="both",
        message=f"{said}: {figures(seen)}",
        related=(*finding.related, *(one for each in seen for one in _traces(each))),
        recorded=seen[0].source == "recorded",
    )


def figures(seen: list[Retraced]) -> str:
    """`4 traces in this run, 1.2 s spent compiling again`, and why."""
    text = f"{sum(one.traces for one in seen)} traces in {_run(seen[0])}{_compiling(seen)}"
    causes = list(dict.fromkeys(cause for one in seen for cause in one.causes))
    return text + (f" ({causes[0]}{', …' if len(causes) > 1 else ''})" if causes else "")


def _compiling(seen: list[Retraced]) -> str:
    known = [one.compile_seconds for one in seen if one.compile_seconds is not None]
    seconds = sum(known)
    text = f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.{1 if seconds < 10 else 0}f} s"
    return f", {text} spent compiling again" if known else ""


def _traces(seen: Retraced) -> Iterable[Related]:
    """Each trace's difference from the nearest earlier one."""
    at = seen.at
    for index, cause in enumerate(seen.causes):
        times = seen.times[index] if index < len(seen.times) else 1
        again = "traced again" if times < 2 else f"traced again {times} times"
        yield Related(at.path, at.line, f"{again}: {cause}", at.column or 0, _end_column(seen))
    if seen.times and seen.traces - sum(seen.times) > 1:
        yield Related(at.path, at.line, "traced again: more reasons than are kept", at.column or 0, _end_column(seen))


def _end_column(seen: Retraced) -> int:
    return seen.at.end_column or 0 if seen.at.end_line == seen.at.line else 0


def _added(model: FileModel, name: str, seen: Retraced, calls: list[CompiledCall]) -> Finding | None:
    """What no look at the source tells: numbers that change their type, shapes that follow from data."""
    found = _reason(seen)
    if found is None:
        return None
    severity, parameter = found
    times = "again" if seen.traces < 2 else f"{seen.traces} times"
    where = "here in the recorded run" if seen.source == "recorded" else "here"
    causes = "; ".join(seen.causes[:2]) + ("; …" if len(seen.causes) > 2 else "")
    is_shape = any(cause.startswith(f"new shape of {parameter}") for cause in seen.causes)
    return Finding(
        name,
        severity,
        model.path,
        _place(model, seen, parameter, calls),
        seen.function,
        parameter or seen.function,
        f"`{seen.function}` was traced {times} {where}{_compiling([seen])}: {causes}",
        "traced",
        via="traced",
        related=(Related(seen.path, seen.line, "traced here"), *_traces(seen)),
        fixes=_fixes(seen, parameter),
        refused=PADDING if is_shape else None,
        recorded=seen.source == "recorded",
        advice=padding("length") if is_shape else "",
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
            return ("warning" if seen.traces >= _MANY else "hint"), match["name"] or match["part"]
    if seen.traces > 2 and any(cause.startswith(_NEW) for cause in seen.causes):
        return ("warning" if seen.traces >= _MANY else "hint"), ""
    return None


def _place(model: FileModel, seen: Retraced, parameter: str, calls: list[CompiledCall]) -> Range:
    """The argument at the call; where that is not known, the line."""
    for call in calls:
        whole = model.module.range(call.scope.chunk, call.node)
        if whole.start.line <= seen.at.line <= whole.end.line:
            given = call.argument(parameter) if parameter else None
            if _is_of(seen, (model.function_of(call.function),)):
                node: ast.expr = given if given is not None else call.node.func
                place = model.module.range(call.scope.chunk, node)
                return place if place.start.line == place.end.line else _line(model, seen.at.line)
    return _line(model, seen.at.line)


def _line(model: FileModel, line: int) -> Range:
    text = model.module.lines.line(line)
    start = len(text) - len(text.lstrip()) + 1
    return Range(Position(line, start), Position(line, len(text.rstrip()) + 1))
