"""The panel's model, in every state that it can be in."""

from __future__ import annotations

import time
from typing import Literal

from jaxscope.ide.functions import FunctionFacts
from jaxscope.ide.hover import unnamed
from jaxscope.ide.lens import told
from jaxscope.ide.numbers import format_seconds, short_type
from jaxscope.ide.panel_model import (
    ConstantRow,
    FailedTrace,
    FindingRow,
    FunctionRow,
    JaxprStage,
    PanelModel,
    PanelState,
    PythonStage,
    RefutedRow,
    Signature,
    SourceLine,
)
from jaxscope.ide.recorded import counted, only_recorded, when
from jaxscope.ide.signatures import named
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.rules.finding import Finding
from jaxscope.text.span import Position
from jaxscope.tracing.evidence import Evidence, text_hash
from jaxscope.tracing.planning import plan
from jaxscope.tracing.totals import passing
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Failure, Hello, TracedFunction

CHOOSE = "Put the cursor in a traced function, or choose one:"
RESTRICTED = (
    "Restricted Mode: your code is not run. Findings from reading the source still work. Programs, shapes and "
    "timings need this folder to be trusted, because tracing imports your code."
)
CONSENT = "May jaxscope run code in this folder?"


def panel(
    workspace: Workspace,
    path: str,
    function: str,
    position: Position | None,
    situation: Situation,
    *,
    signature: str = "",
) -> PanelModel:
    """The model for a named function, else for the one around `position`.

    It is shown under the signature of that id; where there is no such one, under its first.
    """
    facts = workspace.function(path, function) if function else None
    if facts is None and position is not None:
        facts = workspace.function_at(path, position.line)
    last = workspace.last_trace(path, facts) if facts else None
    traced = last.traced if last else facts.traced if facts else ()
    known = named(traced)
    signature = signature if signature in known else next(iter(known), "")
    shown = known.get(signature)
    state, message, failed = _state(workspace, path, facts, situation, shown)
    recorded = workspace.recorded(path) if facts and facts.only_recorded and not last else None
    hello = situation.hello or (recorded.hello if recorded else None)
    witness = workspace.evidence_of(path, facts.name) if facts else workspace.evidence(path)
    evidence = last.evidence if last else recorded or witness
    findings = _of_shown(facts.findings, traced, shown) if facts else workspace.judgement(path).findings
    return PanelModel(
        state=state,
        path=path,
        function=facts.name if facts else "",
        line=facts.line if facts else 0,
        functions=tuple(
            FunctionRow(item.name, item.line, told(workspace, item, situation)) for item in workspace.functions(path)
        ),
        signatures=tuple(_signature(workspace, name, item) for name, item in known.items()),
        signature=signature,
        findings=tuple(_finding(item) for item in findings),
        refuted=_refuted(workspace, path, facts),
        constants=_constants(workspace, shown, findings, hello) if shown else (),
        python=_python(workspace, facts) if facts else None,
        jaxpr=JaxprStage(shown.equations, len(shown.constants), shown.trace_seconds) if shown else None,
        jax=hello.jax if hello else None,
        interpreter=situation.interpreter,
        traced_at=_clock(evidence, recorded is not None) if evidence else None,
        stale_lines=() if recorded else workspace.stale_lines(path),
        threshold=workspace.config.threshold,
        message=message,
        only_recorded=only_recorded(workspace, facts, situation) if facts else None,
        offer=_offer(workspace, facts, situation) if facts and state == "no-shapes" else "",
        failed=failed,
        stopped_log=situation.stopped.traceback if situation.stopped and state == "stopped" else "",
        representation=_representation(workspace, shown, hello) if hello and shown else "",
        timings=situation.timings.get((facts.name, signature)) if facts and shown else None,
    )


def _clock(evidence: Evidence, recorded: bool) -> str:
    return when(evidence) if recorded else time.strftime("%H:%M:%S", time.localtime(evidence.traced_at))


def _of_shown(
    findings: tuple[Finding, ...], traced: tuple[TracedFunction, ...], shown: TracedFunction | None
) -> tuple[Finding, ...]:
    """Without the arrays that were seen under other signatures only."""
    if shown is None:
        return findings
    others = {constant.name for item in traced for constant in item.constants}
    others -= {constant.name for constant in shown.constants}
    return tuple(item for item in findings if item.evidence == "static" or item.name not in others)


def _representation(workspace: Workspace, shown: TracedFunction, hello: Hello) -> str:
    total = passing((shown,), workspace.reply(shown.path))
    return f"{representation(hello)} JAX warns when it lowers: {total}." if total else representation(hello)


def representation(hello: Hello) -> str:
    """What this JAX does with captured arrays when it lowers; more is known once it has, see `ide/constants.py`."""
    if hello.constants == "hoisted":
        return f"JAX {hello.jax} passes large captured arrays as hidden arguments (`const_arg`)."
    return f"JAX {hello.jax} inlines captured arrays as `stablehlo.constant`."


_Outcome = tuple[PanelState, str, FailedTrace | None]


def _state(
    workspace: Workspace, path: str, facts: FunctionFacts | None, situation: Situation, shown: TracedFunction | None
) -> _Outcome:
    activity = situation.activity
    if activity and shown is None:
        what = facts.name if facts else path.replace("\\", "/").rsplit("/", 1)[-1]
        return "running", f"{activity.stage.capitalize()} {what} {format_seconds(activity.seconds)}", None
    if facts and facts.only_recorded:
        return "ready", "", None
    if situation.permission == "restricted":
        return "restricted", RESTRICTED, None
    if situation.permission == "consent":
        return "consent", CONSENT, None
    if problem := situation.jax_problem:
        return "no-jax", problem, None
    if shown is not None:
        return "ready", "", None
    if situation.stopped:
        return "stopped", _stopped_text(situation.stopped), None
    reply = workspace.reply(path)
    failure = facts.not_traced.failure if facts and facts.not_traced else None
    failure = failure or (reply.failure if reply else None)
    if failure:
        failed = _failed(workspace, path, facts, failure)
        here = f" on line {failed.line}" if failed.line else ""
        return "failed", f"The trace failed{here}", failed
    if facts is None:
        return "no-function", CHOOSE, None
    return "no-shapes", _no_shapes(workspace, facts, situation), None


def _stopped_text(failure: Failure) -> str:
    return (
        f"{failure.message.rstrip('.')}. Your editor and findings are unaffected; a new worker is ready. "
        "Not retried by itself."
    )


def _no_shapes(workspace: Workspace, facts: FunctionFacts, situation: Situation) -> str:
    name = facts.name.rpartition(".<locals>.")[2]
    return f"No shapes are known for `{name}` yet. {_why_no_shapes(workspace, facts, situation, name)}. Choose one:"


def _why_no_shapes(workspace: Workspace, facts: FunctionFacts, situation: Situation, name: str) -> str:
    model = workspace.model(facts.path)
    if _is_off(situation):
        return "Your code is not run: tracing is off"
    if model and model.runs_when_imported and workspace.reply(facts.path) is None:
        return f"This file runs when imported ({model.runs_when_imported}), so it is not imported unasked"
    outer, inside, _ = facts.name.partition(".<locals>.")
    if inside:
        return f"`{name}` exists only while `{outer}` runs, so importing the file does not trace it"
    if workspace.reply(facts.path) is None:
        return "The file has not been traced"
    if facts.not_traced and facts.not_traced.reason:
        return facts.not_traced.reason.rstrip(".")
    if not _is_new(workspace, facts.path) and _is_guessed(workspace, facts):
        return "Importing the file does not call it, and no shapes were found with which it traces"
    return "Importing the file does not call it"


def _offer(workspace: Workspace, facts: FunctionFacts, situation: Situation) -> Literal["", "guess", "trace", "policy"]:
    """A trace guesses by itself: once the text as it is was traced, doing it again finds no more."""
    if _is_off(situation):
        return "policy"
    if not _is_new(workspace, facts.path):
        return ""
    return "guess" if _is_guessed(workspace, facts) else "trace"


def _is_off(situation: Situation) -> bool:
    return situation.permission == "off" or situation.when == "off"


def _is_new(workspace: Workspace, path: str) -> bool:
    """Has the text as it is not been traced?"""
    evidence = workspace.evidence(path)
    return evidence is None or evidence.text_hash != text_hash(workspace.text(path) or "")


def _is_guessed(workspace: Workspace, facts: FunctionFacts) -> bool:
    """Would a trace have nothing but a guess to go by, once importing the file has not called the function?"""
    model = workspace.model(facts.path)
    if model is None or "<" in facts.name:
        return False
    declared = plan(model, workspace.project, workspace.config).declared
    return {item.source for item in declared if item.function == facts.name} == {"guess"}


def _failed(workspace: Workspace, path: str, facts: FunctionFacts | None, failure: Failure) -> FailedTrace:
    item = facts.not_traced if facts else None
    place = failure.place
    file = place.path if place else path
    line = place.line if place else (facts.line if facts else 0)
    module = workspace.project.module(file)
    around = range(max(line - 1, 1), line + 2) if line else range(0)
    source = tuple((number, module.lines.line(number).rstrip("\r\n")) for number in around) if module else ()
    tried = f"{item.signature} ({item.source})" if item and item.signature else ""
    guess = bool(item and item.source == "guess")
    return FailedTrace(file, line, failure.message, source, failure.traceback, tried, guess)


def _signature(workspace: Workspace, name: str, item: TracedFunction) -> Signature:
    seen = workspace.recorded_run(item) if item.source == "recorded" else None
    return Signature(
        id=name,
        parameters=tuple((parameter.name, parameter.type) for parameter in item.parameters),
        out=item.out,
        source=item.source,
        origin=item.origin,
        calls=item.calls,
        recorded=counted(seen) if seen else "",
    )


def _finding(item: Finding) -> FindingRow:
    array = item.array
    known = array is not None and array.dtype is not None and array.shape is not None
    return FindingRow(
        rule=item.rule,
        severity=item.severity,
        name=item.name,
        type=short_type(array.dtype or "", array.shape or ()) if array and known else "",
        bytes=(array.total_bytes if array.total_bytes is not None else array.bytes) if array else None,
        path=item.path,
        line=item.range.start.line,
        column=item.range.start.column,
        message=item.message,
        evidence="recorded" if item.recorded else item.evidence,
        fix=item.fixes[0].title if item.fixes else None,
    )


def _refuted(workspace: Workspace, path: str, facts: FunctionFacts | None) -> tuple[RefutedRow, ...]:
    return tuple(
        RefutedRow(item.finding.name, item.finding.range.start.line, item.reason)
        for item in workspace.judgement(path).refuted
        if facts is None or item.finding.function == facts.name
    )


def _constants(
    workspace: Workspace, shown: TracedFunction, findings: tuple[Finding, ...], hello: Hello | None
) -> tuple[ConstantRow, ...]:
    reported = {item.name for item in findings}
    lowered = "const_arg" if hello and hello.constants == "hoisted" else "stablehlo.constant"
    rows = []
    for index, item in sorted(enumerate(shown.constants), key=lambda each: -each[1].bytes):
        bound = workspace.bound(shown.path, item)
        rows.append(
            ConstantRow(
                index=index,
                name=item.name or unnamed(shown.path, item),
                bound=SourceLine(*bound) if bound else None,
                type=short_type(item.dtype, item.shape),
                bytes=item.bytes,
                variable=item.variable,
                representation=item.representation,
                lowered=lowered,
                reads=_reads(item),
                finding=item.name in reported,
            )
        )
    return tuple(rows)


def _reads(item: Constant) -> tuple[SourceLine, ...]:
    places = dict.fromkeys((read.frames[0].path, read.frames[0].line) for read in item.reads if read.frames)
    return tuple(SourceLine(*place) for place in places)


def _python(workspace: Workspace, facts: FunctionFacts) -> PythonStage | None:
    module = workspace.project.module(facts.path)
    if module is None or facts.function is None:
        return None
    first, last = facts.function.range.start.line, facts.function.range.end.line
    text = module.source(facts.function.range)
    return PythonStage(last - first + 1, len(text.encode("utf-8", "surrogatepass")))
