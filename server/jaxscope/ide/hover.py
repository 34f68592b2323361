"""The hover on a traced function, a captured name or a finding, as Markdown; of what is known, without waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.ide.functions import FunctionFacts
from jaxscope.ide.jaxpr import first_equations
from jaxscope.ide.lens import Link, cost_texts, signature_text
from jaxscope.ide.numbers import format_bytes, format_count, short_type
from jaxscope.ide.recorded import counted, counted_at, when
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.rules.finding import Finding
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, TracedFunction

ROWS = 8
"""Constants listed before `3 more`."""
EQUATIONS = 12
"""Equations shown where the editor cannot fold."""

RenderLink = Callable[[str, Link], str]
"""Markdown of a link with this title that calls this command; empty when the client has no such commands."""


@dataclass(frozen=True, slots=True)
class Style:
    """What the client can show."""

    link: RenderLink
    details: bool
    """Does it fold `<details>`?"""


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown, and what it is about."""

    markdown: str
    range: Range | None


def hover(workspace: Workspace, path: str, position: Position, situation: Situation, style: Style) -> Hover | None:
    """What is known at a position: of a traced function, a finding that needs words, or a call that was recorded."""
    here = [finding for finding in workspace.findings(path) if finding.range.contains(position)]
    for finding in here:
        if finding.array:
            return Hover(_finding(finding), finding.range)
    # What the diagnostic says already is not said again.
    said = [_finding(finding) for finding in here if finding.advice or finding.recorded]
    facts = _traced_at(workspace, path, position)
    if facts is not None:
        return Hover("\n\n---\n\n".join((*said, function_markdown(workspace, facts, situation, style))), None)
    if not here and (counted := counted_at(workspace, path, position)):
        return Hover(counted, None)
    return Hover("\n\n---\n\n".join(said), here[0].range) if said else None


def _traced_at(workspace: Workspace, path: str, position: Position) -> FunctionFacts | None:
    """The traced function whose name, decorators or jit expression is at `position`."""
    for facts in workspace.functions(path):
        function = facts.function
        if function is None:
            continue
        in_head = function.range.start.line <= position.line < function.line
        if in_head or function.name_range.contains(position):
            return facts
    model = workspace.model(path)
    around = [site for site in (model.traced if model else ()) if site.place.contains(position)]
    site = max(around, key=lambda item: item.place.start, default=None)
    return workspace.function(site.function.path, site.function.qualname) if site else None


def function_markdown(workspace: Workspace, facts: FunctionFacts, situation: Situation, style: Style) -> str:
    """The whole hover of one traced function."""
    shown = facts.shown
    if shown is None:
        return _untraced(workspace, facts, situation, style)
    parts = [
        f"```python\n{facts.name}: {signature_text(shown)}\n```",
        _origin(workspace, facts, shown),
        _table(workspace, facts.path, shown),
        " · ".join(text for text in cost_texts(situation.timings.get((facts.name, facts.signature))) if text),
        _jaxpr(workspace, facts.path, shown, style),
        _links(facts, situation, style),
    ]
    return "\n\n".join(part for part in parts if part)


def _origin(workspace: Workspace, facts: FunctionFacts, shown: TracedFunction) -> str:
    words = {
        "run": "from a run",
        "call site": "from a call",
        "annotation": "from its annotations",
        "guess": "are a guess, not yours",
        "recorded": "from a recorded run",
    }
    text = f"Shapes {words.get(shown.source, shown.source)}"
    text += f", {shown.origin}" if shown.origin else ""
    text += f", {format_count(shown.calls, 'call')}" if shown.calls > 1 else ""
    recorded = workspace.recorded(facts.path) if facts.only_recorded else None
    if evidence := recorded or workspace.evidence_of(facts.path, facts.name):
        at = when(evidence) if recorded else time.strftime("%H:%M:%S", time.localtime(evidence.traced_at))
        text += f"; {'recorded' if recorded else 'traced'} {at}"
    more = len(facts.traced) - 1
    text += f"; {format_count(more, 'other signature')}" if more else ""
    seen = workspace.recorded_run(shown) if shown.source == "recorded" else None
    return f"{text}.\n\nIn that run: {counted(seen)}." if seen else f"{text}."


def _table(workspace: Workspace, path: str, shown: TracedFunction) -> str:
    if not shown.constants:
        return "No captured arrays." if not shown.small_constants else _small(shown)
    ordered = sorted(shown.constants, key=lambda item: -item.bytes)
    rows = ["| constant | bound | type | bytes | read at |", "| --- | --- | --- | ---: | --- |"]
    rows += [_row(workspace, path, item) for item in ordered[:ROWS]]
    if len(ordered) > ROWS:
        rows.append(f"| {len(ordered) - ROWS} more | | | | |")
    return "\n".join(rows)


def _small(shown: TracedFunction) -> str:
    return f"No captured arrays but {format_count(shown.small_constants, 'small constant')}."


def _row(workspace: Workspace, path: str, constant: Constant) -> str:
    found = workspace.bound(path, constant)
    bound = place_text(path, *found) if found else ""
    reads = dict.fromkeys(
        place_text(path, read.frames[0].path, read.frames[0].line) for read in constant.reads if read.frames
    )
    shown = list(reads)[:3] + ([f"+{len(reads) - 3}"] if len(reads) > 3 else [])
    name = f"`{constant.name}`".replace("|", "\\|") if constant.name else unnamed(path, constant)
    kind = short_type(constant.dtype, constant.shape)
    size = format_bytes(constant.bytes, 2) + (f" × {constant.copies} programs" if constant.copies > 1 else "")
    return f"| {name} | {bound} | `{kind}` | {size} | {' '.join(shown)} |"


def unnamed(path: str, constant: Constant) -> str:
    """What stands in the place of a name that was not found."""
    if constant.bound is None:
        return "no name found"
    return f"made at {place_text(path, constant.bound.path, constant.bound.line)}"


def place_text(here: str, path: str, line: int) -> str:
    """`:29` in the same file, `train.py:18` in another."""
    name = "" if path == here else path.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{name}:{line}"


def _jaxpr(workspace: Workspace, path: str, shown: TracedFunction, style: Style) -> str:
    text = workspace.jaxpr(path, shown)
    if not text:
        return ""
    title = f"jaxpr, {format_count(shown.equations, 'equation')}"
    if style.details:
        return f"<details><summary>{title}</summary>\n\n```jaxpr\n{text}\n```\n\n</details>"
    head, more = first_equations(text, EQUATIONS)
    open_link = style.link("Open jaxpr", Link("jaxscope.openPanel", (shown.function, "jaxpr"))) if more else ""
    tail = f"\n\n… {more} more" + (f" · {open_link}" if open_link else "") if more else ""
    return f"{title}\n\n```jaxpr\n{head}\n```{tail}"


def _links(facts: FunctionFacts, situation: Situation, style: Style) -> str:
    links = [("Open panel", Link("jaxscope.openPanel", (facts.name,)))]
    if situation.permission == "allowed" and facts.shown and not facts.only_recorded:
        links.append(("Time", Link("jaxscope.time", (facts.name,))))
        if facts.shown.constants:
            links.append(("What does this cost?", Link("jaxscope.measure", (facts.name,))))
    return " · ".join(text for title, link in links if (text := style.link(title, link)))


def _untraced(workspace: Workspace, facts: FunctionFacts, situation: Situation, style: Style) -> str:
    lines = [f"`{facts.name}` becomes a JAX program ({' of '.join(_chain(facts))})."]
    reply = workspace.reply(facts.path)
    failed = facts.not_traced
    if situation.permission == "restricted":
        lines.append("Not traced: this folder is not trusted.")
    elif failed and failed.failure:
        lines.append(f"The trace failed: {failed.failure.message}")
    elif failed:
        lines.append(f"Not traced: {failed.reason}")
    elif reply and reply.failure:
        lines.append(f"The trace failed: {reply.failure.message}")
    else:
        lines.append("No shapes are known for it yet." if reply else "Not traced yet.")
    lines += [f"- {finding.message}" for finding in facts.findings]
    return "\n\n".join(part for part in ("\n\n".join(lines), _links(facts, situation, style)) if part)


def _chain(facts: FunctionFacts) -> list[str]:
    chain = facts.sites[0].chain if facts.sites else ()
    return list(chain) or ["jit"]


def _finding(finding: Finding) -> str:
    array = finding.array
    lines = []
    if array and array.dtype and array.shape is not None:
        text = f"{finding.name}: {short_type(array.dtype, array.shape)}"
        total = array.total_bytes if array.total_bytes is not None else array.bytes
        text += f"  # {format_bytes(total)}" if total is not None else ""
        lines.append(f"```python\n{text}\n```")
    lines.append(f"{finding.message}." if not finding.message.endswith(".") else finding.message)
    seen = "seen in a recorded run" if finding.recorded else "seen in the trace"
    lines.append({"static": "Inferred from the source.", "traced": f"{seen.capitalize()}."}.get(
        finding.evidence, f"Inferred from the source and {seen}."
    ))  # fmt: skip
    for related in finding.related[: 3 if array else None]:
        lines.append(f"{place_text(finding.path, related.path, related.line)} {related.message}")
    if finding.advice:
        lines.append(finding.advice)
    elif finding.refused:
        lines.append(f"No fix is offered: {finding.refused}")
    return "\n\n".join(lines)
