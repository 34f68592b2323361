"""The light bulb: what can be done about the findings at a place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from jaxscope.ide import fix
from jaxscope.ide.numbers import format_bytes
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.refactor import suppress
from jaxscope.refactor.change import Refusal
from jaxscope.rules.finding import Finding
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range

FIX_ALL: Literal["source.fixAll.jaxscope"] = "source.fixAll.jaxscope"


@dataclass(frozen=True, slots=True)
class Action:
    """One entry. Of `change`, `fixes`, `fixes_all`, `measures`, `shows` and `disabled` one says what it does."""

    title: str
    kind: Literal["quickfix", "source", "source.fixAll.jaxscope"]
    findings: tuple[Finding, ...]
    preferred: bool = False
    change: SourceChange | None = None
    """An edit that needs no proof."""
    fixes: bool = False
    """The fix of `findings`: planned again, verified and applied by the server."""
    planned: bool = True
    """False: the file is large, and nobody has looked yet whether the fix can be made."""
    preview: bool = False
    """Is the fix shown before it is applied?"""
    fixes_all: bool = False
    """All safe fixes of the file."""
    measures: str = ""
    """The function whose costs the client shows."""
    shows: Refusal | None = None
    """The place that prevents a fix, and how."""
    disabled: str = ""
    """Why it cannot be done."""


def actions(workspace: Workspace, path: str, place: Range, situation: Situation) -> list[Action]:
    """The actions for a selection, the preferred one first."""
    here = [
        finding
        for finding in workspace.findings(path)
        if finding.range.start <= place.end and place.start <= finding.range.end
    ]
    # Two rules may tell of one read, and the one refuse what the other offers.
    offered: dict[str, list[Action]] = {}
    for fixes in filter(None, (_fixes(workspace, finding) for finding in here)):
        if fixes[0].title not in offered or offered[fixes[0].title][0].disabled:
            offered[fixes[0].title] = fixes
    found = [*chain.from_iterable(offered.values()), *_all(workspace, path, here)]
    for finding in {(item.rule, item.range.start.line): item for item in here}.values():
        found += _ignore(workspace, finding)
    return found + _measure(workspace, path, place, here, situation)


def fix_all(workspace: Workspace, path: str) -> list[Action]:
    """All safe fixes of a file in one action, where it has any."""
    found = tuple(fix.safe(workspace, path))
    return [Action("Fix all jaxscope findings that are safe to fix", FIX_ALL, found, fixes_all=True)] if found else []


def _fixes(workspace: Workspace, finding: Finding) -> list[Action]:
    """The fix, or why there is none, and what goes with it."""
    title = finding.fixes[0].title if finding.fixes else f"Pass `{finding.name}` as an argument"
    if not fix.fixable(finding):
        if not finding.refused:
            return []
        reason = finding.refused if finding.refused.startswith("Not offered") else f"Not offered: {finding.refused}"
        return [Action(title, "quickfix", (finding,), disabled=reason)]
    planned = fix.prepare(workspace, finding) if fix.quickly(workspace, finding) else fix.prepared(workspace, finding)
    if isinstance(planned, Refusal):
        return _refused(title, finding, planned)
    safe, known = finding.fixes[0].safety == "safe", planned is not None
    return [
        Action(title, "quickfix", (finding,), preferred=safe, fixes=True, planned=known),
        Action(f"{title} (preview)", "quickfix", (finding,), fixes=True, preview=True, planned=known),
    ]


def _refused(title: str, finding: Finding, refusal: Refusal) -> list[Action]:
    """The fix that is not offered, and the way to the place that prevents it."""
    disabled = Action(title, "quickfix", (finding,), disabled=fix.refused(refusal, finding.path))
    if not refusal.line:
        return [disabled]
    where = f"{os.path.basename(refusal.path)}:{refusal.line}"
    return [disabled, Action(f"Show why not: {title} ({where})", "quickfix", (finding,), shows=refusal)]


def _all(workspace: Workspace, path: str, here: list[Finding]) -> list[Action]:
    """`Pass all 5 captured arrays as arguments`, for the functions that the selection has findings of."""
    found = []
    for function in dict.fromkeys(item.function for item in here):
        every = [
            item
            for item in workspace.findings(path)
            if item.function == function and item.rule == "captured-array" and fix.fixable(item)
        ]
        names = list({item.name: item for item in every}.values())
        if len(names) < 2 or any(isinstance(fix.prepared(workspace, item), Refusal) for item in names):
            continue
        if fix.quickly(workspace, names[0]) and isinstance(fix.prepare_all(workspace, names), Refusal):
            continue
        sizes = [item.array.total_bytes or item.array.bytes for item in names if item.array]
        known = [size for size in sizes if size is not None]
        note = f" ({format_bytes(sum(known))})" if len(known) == len(names) else ""
        found.append(
            Action(f"Pass all {len(names)} captured arrays as arguments{note}", "quickfix", tuple(names), fixes=True)
        )
    return found


def _ignore(workspace: Workspace, finding: Finding) -> list[Action]:
    module = workspace.project.module(finding.path)
    if module is None:
        return []
    title = f"Ignore `{finding.rule}` on this line"
    change = suppress.ignore_on_line(module, finding.rule, finding.range.start.line)
    if isinstance(change, Refusal):
        return [Action(title, "quickfix", (finding,), disabled=fix.refused(change, finding.path))]
    return [Action(title, "quickfix", (finding,), change=change)] if change.files else []


def _measure(workspace: Workspace, path: str, place: Range, here: list[Finding], situation: Situation) -> list[Action]:
    if situation.permission != "allowed":
        return []
    facts = workspace.function(path, here[0].function) if here else workspace.function_at(path, place.start.line)
    if facts is None or facts.shown is None or not facts.shown.constants:
        return []
    return [Action("What does this cost?", "source", tuple(here), measures=facts.name)]
