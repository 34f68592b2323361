"""Proving a planned fix and having the client make its edits, for one fix and for many."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lsprotocol import types

from jaxscope.ide import fix
from jaxscope.ide.fix_kinds import ARGUMENTS
from jaxscope.lsp.convert import annotated, workspace_edit
from jaxscope.lsp.session import Session
from jaxscope.rules.finding import Finding
from jaxscope.text.edit import SourceChange
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, VerifyReply

CHANGED = "Not applied: the text has changed meanwhile."
DISCARDED = "Not applied: the preview was closed, or no edit was ticked in it."
PARTLY = "Not all edits of the fix were made. What was verified is all of them together: undo, or look at the rest."
_NOT_RUN = {
    "restricted": "your code is not run in Restricted Mode.",
    "consent": "jaxscope may not run code in this folder yet.",
    "off": "your code is not run.",
}
_PATIENCE, _LOOK = 2.0, 0.02
"""Seconds in which the client tells of the edits that it made, and between two looks for that."""

Versions = Mapping[str, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Proof:
    """What running a change showed of one finding; `why_not`: why it was not run."""

    reply: VerifyReply | Failure | None
    why_not: str = ""

    def against(self, finding: Finding) -> str | None:
        """Why the change must not be made; None when nothing speaks against it."""
        return fix.rejection(self.reply, finding) if self.reply is not None else None

    def proves(self, finding: Finding) -> bool:
        """Did it show that the fix is right? Types alone show that of new arguments: no other fix touches them."""
        reply = self.reply
        if not isinstance(reply, VerifyReply) or reply.avals_equal is not True:
            return False
        return reply.results_equal is True or all(offer.kind in ARGUMENTS for offer in finding.fixes)


async def prove(session: Session, change: SourceChange, findings: Sequence[Finding]) -> list[Proof]:
    """Runs a change, the whole of it and once for each file that shows some of the findings, and looks at them all."""
    proofs: dict[Finding, Proof] = {}
    for finding in findings:
        if finding in proofs:
            continue
        workspace = session.folder(finding.path).workspace
        shown = fix.witness(workspace, finding)
        together = [item for item in findings if item.path == finding.path and fix.witness(workspace, item) == shown]
        proof = await _prove(session, change, together)
        replies = fix.each(proof.reply, together) if proof.reply is not None else [None] * len(together)
        proofs |= {item: Proof(reply, proof.why_not) for item, reply in zip(together, replies, strict=True)}
    return [proofs[finding] for finding in findings]


async def _prove(session: Session, change: SourceChange, findings: Sequence[Finding]) -> Proof:
    finding, *others = findings
    folder = session.folder(finding.path)
    permission = folder.trust.permission
    if permission != "allowed":
        return Proof(None, _NOT_RUN[permission])
    if folder.no_jax:
        return Proof(None, folder.no_jax.message)
    model = folder.workspace.model(finding.path)
    if model and model.runs_when_imported:
        return Proof(None, "this file runs when imported.")
    request = fix.verification(folder.workspace, change, finding, others=others)
    if request is None:
        return Proof(None, "the file cannot be read.")
    return Proof(await session.tracing(finding.path).verify(finding.path, finding.function, request))


def changed(session: Session, change: SourceChange, made_for: Versions) -> bool:
    """Has one of the files been edited, opened, closed or written since the change was planned?"""
    now = session.versions()
    return any(
        now.get(file.path) != made_for.get(file.path)
        or session.folder(file.path).workspace.text(file.path) != file.original
        for file in change.files
    )


async def make(
    session: Session, change: SourceChange, made_for: Versions, label: str, *, confirm: bool = False, asked: bool = True
) -> str | None:
    """Has the client make the edits. None when all are made, else a sentence that says why not.

    With `confirm` the user is shown the edits first, by a client that can. `asked`: it is the user who wants it now.
    """
    if changed(session, change, made_for):
        return CHANGED
    client = session.client
    edit = workspace_edit(change, client.columns, made_for, client.versioned_edits)
    if client.annotated_edits:
        edit = annotated(edit, change, confirm)
    if (refused := await client.apply(edit, label, asked)) is not None:
        if changed(session, change, made_for):
            return CHANGED
        return DISCARDED if confirm else f"Not applied: {refused.rstrip('.')}."
    for _ in range(round(_PATIENCE / _LOOK)):
        if not missing(session, change):
            return None
        await asyncio.sleep(_LOOK)
    untouched = len(missing(session, change)) == len(change.files) and not changed(session, change, made_for)
    return DISCARDED if untouched else PARTLY


def missing(session: Session, change: SourceChange) -> list[str]:
    """The files whose text is not what the change makes it."""
    return [file.path for file in change.files if session.folder(file.path).workspace.text(file.path) != file.changed]


def retrace(session: Session, paths: Sequence[str]) -> None:
    """Has the changed files traced, where that may be done unasked."""
    for path in paths:
        if path in session.documents and session.folder(path).when != "manual":
            session.tracing(path).want(path)


def told(session: Session, message: str, applied: bool) -> dict[str, object]:
    """Says what came of it to the user, and to the caller of the command."""
    session.client.message(message, types.MessageType.Info if applied else types.MessageType.Warning)
    return {"applied": applied, "message": message}
