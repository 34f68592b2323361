"""`jaxscope.applyFix`: plans a fix, proves it in a worker where code may be run, and has the client make the edit.

It is planned and proved for one version of the text. Whatever is typed meanwhile, the edit is then not made.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types

from jaxscope.ide import fix
from jaxscope.lsp import fixing
from jaxscope.lsp.convert import to_path
from jaxscope.lsp.documents import Document
from jaxscope.lsp.fixing import CHANGED, Proof
from jaxscope.lsp.session import Session
from jaxscope.refactor.change import Refusal
from jaxscope.rules.finding import Finding
from jaxscope.text.edit import SourceChange

APPLY, CANCEL = "Apply", "Cancel"


async def handle(session: Session, target: Mapping[str, Any]) -> dict[str, object]:
    """Says what came of it by a message, and to the caller by `applied` and `message`."""
    applied, message = await _apply(session, target)
    return fixing.told(session, message, applied)


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
    change = fix.prepare_all(session.folder(document.path).workspace, findings)
    if isinstance(change, Refusal):
        return False, fix.refused(change, document.path)
    made_for = session.versions()
    proof, rejected = await _prove(session, change, findings)
    if rejected:
        return False, f"Not applied: {rejected}"
    doubt = _doubt(change, proof, findings)
    if doubt and not await _allowed(session, doubt):
        return False, f"Not applied: {doubt}"
    confirm = bool(doubt or target.get("preview"))
    failed = await fixing.make(session, change, made_for, _label(findings), confirm=confirm)
    if failed:
        return False, failed
    fixing.retrace(session, [document.path])
    return True, fix.applied(proof.reply, findings, proof.why_not) + _where(change)


def _findings(session: Session, document: Document, target: Mapping[str, Any]) -> list[Finding]:
    """The findings meant, one a name; by line where one name is found at several."""
    names: Sequence[str] = target.get("names") or [str(target.get("name", ""))]
    standing = session.folder(document.path).workspace.findings(document.path)
    found = []
    for name in names:
        same = [
            item
            for item in standing
            if (item.rule, item.name, item.function) == (target.get("rule"), name, target.get("function"))
        ]
        same.sort(key=lambda item: abs(item.range.start.line - int(target.get("line") or 0)))
        found += same[:1]
    return found if len(found) == len(names) else []


async def _prove(session: Session, change: SourceChange, findings: Sequence[Finding]) -> tuple[Proof, str | None]:
    """What was shown for all of the findings, which is what was for the one that least was; and what speaks against."""
    proofs = await fixing.prove(session, change, findings)
    for finding, proof in zip(findings, proofs, strict=True):
        if proof.reply is None or (rejected := proof.against(finding)):
            return proof, None if proof.reply is None else rejected
    return Proof(fix.weakest([proof.reply for proof in proofs if proof.reply is not None])), None


def _doubt(change: SourceChange, proof: Proof, findings: Sequence[Finding]) -> str | None:
    """Why the fix may change what the program does; None for one that is safe."""
    if doubt := fix.unproved(change, proof.reply):
        return doubt.reason
    offered = [offer for finding in findings for offer in finding.fixes[:1]]
    return "It may change what the program does." if any(offer.safety == "unsafe" for offer in offered) else None


async def _allowed(session: Session, doubt: str) -> bool:
    """Asks, unless the client asks by itself with all edits in sight."""
    if session.client.annotated_edits:
        session.client.message(f"Look at the edits before you apply them. {doubt}", types.MessageType.Warning)
        return True
    return await session.client.ask(f"{doubt} Apply the fix all the same?", [APPLY, CANCEL]) == APPLY


def _label(findings: Sequence[Finding]) -> str:
    """What undo calls it."""
    return findings[0].fixes[0].title if len(findings) == 1 else f"Pass {len(findings)} arrays as arguments"


def _where(change: SourceChange) -> str:
    """The files, where there are several: the user sees one of them."""
    names = [os.path.basename(file.path) for file in change.files]
    return f" Changed together: {', '.join(names)}." if len(names) > 1 else ""
