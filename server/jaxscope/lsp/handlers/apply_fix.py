"""`jaxscope.applyFix`: plans a fix, proves it in a worker where code may be run, and has the client make the edit.

It is planned and proved for one version of the text. Whatever is typed meanwhile, the edit is then not made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types

from jaxscope.ide import fix
from jaxscope.lsp.convert import to_path, workspace_edit
from jaxscope.lsp.documents import Document
from jaxscope.lsp.session import Session
from jaxscope.refactor.change import Refusal
from jaxscope.rules.finding import Finding
from jaxscope.text.edit import SourceChange
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, VerifyReply

CHANGED = "Not applied: the text has changed meanwhile."
_NOT_RUN = {
    "restricted": "your code is not run in Restricted Mode.",
    "consent": "jaxscope may not run code in this folder yet.",
    "off": "your code is not run.",
}


async def handle(session: Session, target: Mapping[str, Any]) -> dict[str, object]:
    """Says what came of it by a message, and to the caller by `applied` and `message`."""
    applied, message = await _apply(session, target)
    kind = types.MessageType.Info if applied else types.MessageType.Warning
    session.client.message(message, kind)
    return {"applied": applied, "message": message}


async def _apply(session: Session, target: Mapping[str, Any]) -> tuple[bool, str]:
    path = to_path(str(target.get("uri", "")))
    document = session.documents.get(path) if path else None
    if document is None:
        return False, "Not applied: the file is not open."
    if target.get("version") not in (None, document.version):
        return False, CHANGED
    findings = _findings(session, document, target)
    if not findings:
        return False, "Not applied: this finding is no longer there."
    workspace = session.folder(document.path).workspace
    change = fix.prepare_all(workspace, findings)
    if isinstance(change, Refusal):
        return False, fix.refused(change, document.path)
    made_for = session.versions()
    verified, why_not = await _verify(session, document, change, findings)
    if verified is not None and (rejected := fix.rejection(verified, findings[0])):
        return False, f"Not applied: {rejected}"
    if _changed(session, change, made_for) or any(workspace.text(file.path) != file.original for file in change.files):
        return False, CHANGED
    edit = workspace_edit(change, session.client.columns, made_for, session.client.versioned_edits)
    refused = await session.client.apply(edit, f"Pass {findings[0].name} as an argument")
    if refused is not None:
        changed = _changed(session, change, made_for)
        return False, CHANGED if changed else f"Not applied: {refused.rstrip('.')}."
    if session.folder(document.path).when != "manual":
        session.tracing(document.path).want(document.path)
    return True, fix.applied(verified, findings, why_not)


def _changed(session: Session, change: SourceChange, made_for: Mapping[str, tuple[str, int]]) -> bool:
    """Has a document been edited, opened or closed since the change was planned?"""
    return any(session.versions().get(file.path) != made_for.get(file.path) for file in change.files)


def _findings(session: Session, document: Document, target: Mapping[str, Any]) -> list[Finding]:
    """The findings meant, one a name; by line where one name is found at several."""
    names: Sequence[str] = target.get("names") or [str(target.get("name", ""))]
    judged = session.folder(document.path).workspace.judgement(document.path).findings
    found = []
    for name in names:
        same = [
            item
            for item in judged
            if (item.rule, item.name, item.function) == (target.get("rule"), name, target.get("function"))
        ]
        same.sort(key=lambda item: abs(item.range.start.line - int(target.get("line") or 0)))
        found += same[:1]
    return found if len(found) == len(names) else []


async def _verify(
    session: Session, document: Document, change: SourceChange, findings: Sequence[Finding]
) -> tuple[VerifyReply | Failure | None, str]:
    """The outcome of running the change, or why it was not run."""
    folder = session.folder(document.path)
    permission = folder.trust.permission
    if permission != "allowed":
        return None, _NOT_RUN[permission]
    if folder.no_jax:
        return None, folder.no_jax.message
    model = folder.workspace.model(document.path)
    if model and model.runs_when_imported:
        return None, "this file runs when imported."
    replies: list[VerifyReply | Failure] = []
    for finding in findings:
        request = fix.verification(folder.workspace, change, finding)
        if request is None:
            return None, "the file cannot be read."
        reply = await session.tracing(document.path).verify(document.path, finding.function, request)
        if fix.rejection(reply, finding):
            return reply, ""
        replies.append(reply)
    return fix.weakest(replies), ""
