"""The line over each traced function: its shapes, what it holds, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.ide.functions import FunctionFacts
from jaxscope.ide.numbers import format_bytes, format_count, format_flops, format_run_seconds
from jaxscope.ide.panel_model import Timings
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.tracing.evidence import distinct_bytes
from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction

LONGEST = 120
"""Characters of the facts; beyond, parts are left out."""


@dataclass(frozen=True, slots=True)
class Link:
    """Something of the client's that a lens or a hover can call; the first argument, the file, is added later."""

    command: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lens:
    """One entry of the line over a function."""

    line: int
    title: str
    link: Link | None
    tells: bool = False
    """Does it say something, rather than only offer an action?"""


def lenses(workspace: Workspace, path: str, situation: Situation) -> list[Lens]:
    """All lenses of a file, in order."""
    found: list[Lens] = []
    for facts in workspace.functions(path):
        found += _of(workspace, facts, situation)
    return found


def told(workspace: Workspace, facts: FunctionFacts, situation: Situation) -> str:
    """What the lens of one function says, without its actions."""
    return next((item.title for item in _of(workspace, facts, situation) if item.tells), "")


def facts_text(facts: FunctionFacts, timings: Timings | None) -> str:
    """`f32[3,700] → f32[3,700] · 1 constant 1.9 MiB · 2.9 MFLOP · 41 µs cpu`; empty when nothing was traced."""
    shown = facts.shown
    if shown is None:
        return ""
    signature, constants = signature_text(shown), _constants_text(shown)
    flops, seconds = cost_texts(timings)
    for parts in ((constants, flops, seconds), (constants, seconds), (constants,)):
        text = " · ".join(part for part in (signature, *parts) if part)
        if len(text) <= LONGEST:
            return text
    room = LONGEST - len(constants) - 3
    return " · ".join(part for part in (_shortened(shown, room), constants) if part)


def signature_text(traced: TracedFunction) -> str:
    """`f32[3,700], n=3 → f32[3,700]`, with the word `guess` where it is one."""
    prefix = "guess: " if traced.source == "guess" else ""
    return f"{prefix}{', '.join(_parameters(traced))} → {', '.join(traced.out) or '()'}"


def _parameters(traced: TracedFunction) -> list[str]:
    return [f"{item.name}={item.type}" if item.static else item.type for item in traced.parameters] or ["()"]


def _shortened(traced: TracedFunction, room: int) -> str:
    """The signature without its middle, so that the first parameter and the result stay."""
    parameters, out = _parameters(traced), ", ".join(traced.out)
    prefix = "guess: " if traced.source == "guess" else ""
    for count in range(len(parameters) - 1, 0, -1):
        more = f"{', '.join(parameters[:count])}, … {len(parameters) - count} more"
        if len(text := f"{prefix}{more} → {out}") <= room:
            return text
    text = f"{prefix}{parameters[0]} → {out}"
    return text if len(text) <= room else text[: max(room - 1, 1)] + "…"


def _constants_text(traced: TracedFunction) -> str:
    if not traced.constants:
        return ""
    return f"{format_count(len(traced.constants), 'constant')} {format_bytes(distinct_bytes(traced.constants))}"


def cost_texts(timings: Timings | None) -> tuple[str, str]:
    """`15.4 GFLOP` and `41.7 ms cpu`, each empty when not known."""
    form = next((item for item in timings.forms if item.form == "captured"), None) if timings else None
    if timings is None or form is None:
        return "", ""
    run = next((item for item in form.stages if item.stage == "run"), None)
    flops = format_flops(form.flops) if form.flops else ""
    return flops, f"{format_run_seconds(run.median)} {timings.device.split(' ')[0]}" if run else ""


def _of(workspace: Workspace, facts: FunctionFacts, situation: Situation) -> Sequence[Lens]:
    line, name = facts.top, facts.name
    panel = Link("jaxscope.openPanel", (name,))
    activity = situation.activity
    if activity and activity.seconds >= 1 and activity.function in ("", name):
        running = Lens(line, f"{activity.stage}… {activity.seconds:.0f} s", panel, tells=True)
        return (running, Lens(line, "Cancel", Link("jaxscope.cancel")))
    if text := facts_text(facts, situation.timings.get((name, facts.signature))):
        actions = [Lens(line, text, panel, tells=True)]
        if facts.shown and facts.shown.source == "guess":
            return [*actions, _record(facts, "Record a run")] if situation.permission == "allowed" else actions
        actions.append(Lens(line, "Panel", panel))
        if situation.permission == "allowed":
            time = [] if facts.only_recorded else [Lens(line, "Time", Link("jaxscope.time", (name,)))]
            actions += [*time, _record(facts, "Record")]
        return actions
    return _untraced(workspace, facts, situation, panel)


def _record(facts: FunctionFacts, title: str) -> Lens:
    return Lens(facts.top, title, Link("jaxscope.record", (facts.name,)))


def _untraced(workspace: Workspace, facts: FunctionFacts, situation: Situation, panel: Link) -> Sequence[Lens]:
    line = facts.top
    declare = Lens(line, "Declare shapes", Link("jaxscope.declareShapes", (facts.name,)))
    now = Lens(line, "Trace now", Link("jaxscope.traceNow"))
    if situation.permission == "restricted":
        return (Lens(line, "not traced: this folder is not trusted", panel, tells=True),)
    if situation.permission == "off":
        return (Lens(line, "not traced: code of this folder is not run", panel, tells=True),)
    if situation.permission == "consent":
        return (
            Lens(line, "not traced: jaxscope may not run code here yet", panel, tells=True),
            Lens(line, "Choose", panel),
        )
    if problem := situation.jax_problem:
        return (Lens(line, f"not traced: {problem.rstrip('.')}", panel, tells=True),)
    if situation.stopped:
        return (Lens(line, "not traced: the worker was stopped", panel, tells=True), Lens(line, "Show", panel), now)
    model, reply = workspace.model(facts.path), workspace.traces(facts.path)
    if model and model.runs_when_imported and not (reply and reply.functions):
        told = Lens(line, "not traced: this file runs when imported", panel, tells=True)
        return (told, _record(facts, "Record a run"), declare)
    failure = facts.not_traced.failure if facts.not_traced else None
    failure = failure or (reply.failure if reply else None)
    if failure:
        place = failure.place
        where = f" on line {place.line}" if place and place.path == facts.path else ""
        return (Lens(line, f"trace failed{where}", panel, tells=True), Lens(line, "Show", panel))
    if reply is None:
        return (Lens(line, "not traced yet", panel, tells=True), now)
    if facts.not_traced is None and workspace.stale_lines(facts.path):
        return (Lens(line, "changed since the last trace", panel, tells=True), now)
    return (Lens(line, "shapes not known", panel, tells=True), _record(facts, "Record a run"), declare)
