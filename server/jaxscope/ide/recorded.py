"""Functions of which only a recorded run knows: why they have no program here, and what that run counted."""

from __future__ import annotations

import time

from jaxscope.ide.functions import FunctionFacts
from jaxscope.ide.numbers import format_count, format_seconds
from jaxscope.ide.panel_model import OnlyRecorded
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.text.span import Position, Range
from jaxscope.tracing.evidence import Evidence, text_hash
from jaxscope.tracing.recorded_runs import Seen
from jaxscope.worker.jaxscope_worker.wire.messages import Place

_ALL = "Shapes and constants are those of a recorded run."


def only_recorded(workspace: Workspace, facts: FunctionFacts, situation: Situation) -> OnlyRecorded | None:
    """Why a function has no program and no timings; None where it has, or where asking for them will make them."""
    if not facts.only_recorded:
        return None
    refusals = {
        "restricted": OnlyRecorded(
            "Restricted Mode: your code is not run.", _needs("this folder to be trusted"), "trust"
        ),
        "consent": OnlyRecorded(
            "Your code is not run yet.", _needs("your consent to run code in this folder"), "consent"
        ),
        "off": OnlyRecorded("Your code is not run here.", _needs("tracing to be on"), "consent"),
    }
    if refusal := refusals.get(situation.permission):
        return refusal
    if problem := situation.jax_problem:
        return OnlyRecorded(problem, _needs("JAX"), "interpreter")
    evidence = workspace.evidence(facts.path)
    if evidence is None or _outdated(workspace, facts, evidence):
        model = workspace.model(facts.path)
        if model and model.runs_when_imported:
            reason = f"This file runs when imported ({model.runs_when_imported}), so it is not imported unasked."
            return OnlyRecorded(reason, _needs("it to be imported"), "trace")
        return None
    return OnlyRecorded(_reason(workspace, facts, evidence), _needs("a function that can be traced here"))


def _outdated(workspace: Workspace, facts: FunctionFacts, evidence: Evidence) -> bool:
    """Could another trace show the function: of another text, or with shapes that were not known then?"""
    seen = workspace.recorded_run(facts.traced[0])
    newer = seen is not None and seen.event.time > evidence.traced_at
    known = newer and facts.name in workspace.recorded_names(facts.path)
    return known or evidence.text_hash != text_hash(workspace.text(facts.path) or "")


def _needs(what: str) -> str:
    return f"{_ALL} StableHLO and timings need {what}."


def _reason(workspace: Workspace, facts: FunctionFacts, evidence: Evidence) -> str:
    """Why a trace of the present text did not show the function."""
    if facts.not_traced:
        failure = facts.not_traced.failure
        said = failure.message if failure else facts.not_traced.reason
        return f"{'Its trace failed: ' if failure else ''}{said.rstrip('.')}."
    if evidence.reply.failure:
        return f"Importing the file failed: {evidence.reply.failure.message.rstrip('.')}."
    outer, within, inside = facts.name.rpartition(".<locals>.")
    if within:
        return f"`{inside}` exists only while `{outer}` runs, so importing the file does not trace it."
    return f"What `{facts.name}` was called with cannot be made from its shapes alone."


def when(evidence: Evidence) -> str:
    """When it ran: `14:02:11`, with the date where it was not today."""
    then = time.localtime(evidence.traced_at)
    return time.strftime("%H:%M:%S" if then[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M", then)


def counted_at(workspace: Workspace, path: str, position: Position) -> str:
    """What the recorded run counted at a call there that had something traced again, as Markdown; may be too little for
    a finding."""
    reply = workspace.recorded(path)
    found = []
    for one in reply.reply.retraced if reply else ():
        if one.causes and one.at.path == path and _covers(one.at, position):
            compiling = one.compile_seconds
            cost = f", {format_seconds(compiling)} compiling again" if compiling is not None else ""
            times = format_count(one.traces, "time")
            found.append(f"`{one.function}` was traced {times} here in the recorded run{cost}:")
            found += [
                f"- {cause}" + (f" ({format_count(count, 'trace')})" if count > 1 else "")
                for cause, count in zip(one.causes, one.times, strict=True)
            ]
    return "\n".join(found)


def _covers(at: Place, position: Position) -> bool:
    """Python before 3.11 knows the line only."""
    if at.column is None or at.end_line is None or at.end_column is None:
        return at.line == position.line
    return Range(Position(at.line, at.column), Position(at.end_line, at.end_column)).contains(position)


def counted(seen: Seen) -> str:
    """Why a function was traced in the recorded run and what that cost: `first call; 3 traces: …; 41 ms compiling`."""
    again = f"{format_count(seen.traces, 'trace')}, the last for {seen.again}" if seen.traces > 1 and seen.again else ""
    compiling = f"{format_seconds(seen.compile_seconds)} compiling" if seen.compiles else ""
    return "; ".join(part for part in (seen.event.cause, again, compiling) if part)
