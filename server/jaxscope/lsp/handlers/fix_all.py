"""`jaxscope.fixAll`: all safe fixes of a file or of a folder as one change, proved as a whole before it is made.

A fix that cannot be planned, or that its proof speaks against, is left out, and the rest is proved again. On save only
what stays within the file and was proved is fixed, and nothing is said where there is nothing to fix.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from jaxscope.ide import fix
from jaxscope.ide.workspace import Workspace
from jaxscope.lsp import fixing
from jaxscope.lsp.client import ProgressBar
from jaxscope.lsp.convert import to_path
from jaxscope.lsp.fixing import CHANGED, Proof
from jaxscope.lsp.session import Session
from jaxscope.refactor.change import Hoist
from jaxscope.rules.finding import Finding
from jaxscope.semantics import prefilter
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, VerifyReply

logger = logging.getLogger(__name__)
CANCELLED = "Not applied: cancelled."
_PLANNING = 0.1
"""Share of the progress bar that finding and planning take."""


async def handle(session: Session, target: Mapping[str, Any]) -> dict[str, object]:
    """`target` has the `uri` of a file, and `project` where all files of its folder are meant."""
    path = to_path(str(target.get("uri", "")))
    document = session.documents.get(path) if path else None
    if path is None or (document is None and not target.get("project")):
        return fixing.told(session, "Not applied: the file is not open.", False)
    if document and target.get("version") not in (None, document.version):
        return fixing.told(session, CHANGED, False)
    run = _FixAll(session, session.folder(path).workspace, path if target.get("automatic") else None)
    bar = None if run.only else await session.client.progress("Fixing jaxscope findings", run.cancel)
    try:
        applied, message = await run.run(path, bool(target.get("project")), bar)
    finally:
        if bar:
            bar.end()
    if run.only and not applied:
        return {"applied": False, "message": message}
    return fixing.told(session, message, applied)


class _FixAll:
    """One run of the command."""

    def __init__(self, session: Session, workspace: Workspace, only: str | None) -> None:
        self._session, self._workspace = session, workspace
        self.only = only
        """The file that is being saved, and alone may be changed; None when the user asked for the fixes."""
        self._working = ""
        self._cancelled = False
        self._left: dict[Finding, str] = {}
        """Findings that are not fixed, with the reasons."""

    def cancel(self) -> None:
        """Stops before anything is written."""
        self._cancelled = True
        if self._working:
            self._session.tracing(self._working).cancel(self._working)

    async def run(self, path: str, project: bool, bar: ProgressBar | None) -> tuple[bool, str]:
        """Was anything changed? And what there is to say."""
        paths = await self._traced(path, bar) if project else [path]
        findings = [finding for item in paths for finding in fix.safe(self._workspace, item)]
        if not findings and not self._cancelled:
            return False, "Nothing to fix: there is no finding here that is safe to fix."
        while findings and not self._cancelled:
            made_for, plans = self._session.versions(), fix.Plans(self._workspace)
            findings = await _in_thread(partial(self._plan, plans, findings))
            change = plans.change()
            proofs = await self._prove(plans, change, findings, bar) if findings else {}
            if self._cancelled:
                break
            if len(proofs) < len(findings) or not findings:
                findings = [finding for finding in findings if finding not in self._left]
                continue
            label = f"Fix {len(findings)} jaxscope findings"
            failed = await fixing.make(self._session, change, made_for, label, asked=self.only is None)
            if failed:
                return False, failed
            names = [file.path for file in change.files]
            if self.only is None:  # a save traces by itself
                fixing.retrace(self._session, names)
            return True, self._said(names, proofs)
        return False, CANCELLED if self._cancelled else f"Nothing was fixed.{self._said_of_left()}"

    # ------------------------------------------------------------ steps

    async def _traced(self, path: str, bar: ProgressBar | None) -> list[str]:
        """The files of the folder that can have findings, traced where that may be done unasked."""
        paths = await _in_thread(partial(_compiling, self._workspace))
        for number, item in enumerate(paths):
            if self._cancelled:
                break
            model = self._workspace.model(item)
            await asyncio.sleep(0)
            allowed = self._session.folder(item).trust.permission == "allowed"
            if not allowed or model is None or not model.traced or model.runs_when_imported:
                continue
            if self._workspace.evidence(item) is None:
                _report(bar, f"tracing {os.path.basename(item)}", number / len(paths) * _PLANNING)
                self._working = item
                await self._session.tracing(item).trace(item)
        return paths

    def _plan(self, plans: fix.Plans, findings: Sequence[Finding]) -> list[Finding]:
        """Plans them one after the other; those that could be."""
        planned = []
        for finding in findings:
            if refusal := plans.add(finding, self.only):
                self._left[finding] = fix.why_not(refusal, finding.path)
            else:
                planned.append(finding)
        return planned

    async def _prove(
        self, plans: fix.Plans, change: Hoist, findings: Sequence[Finding], bar: ProgressBar | None
    ) -> dict[Finding, Proof]:
        """What running the whole change showed of each finding, up to the first that it speaks against."""
        proofs: dict[Finding, Proof] = {}
        paths = list(dict.fromkeys(finding.path for finding in findings))
        for number, path in enumerate(paths):
            here = [finding for finding in findings if finding.path == path]
            share = _PLANNING + number / len(paths) * (1 - _PLANNING)
            _report(bar, f"checking {len(here)} in {os.path.basename(path)}", share)
            self._working = path
            for finding, proof in zip(here, await fixing.prove(self._session, change, here), strict=True):
                if isinstance(proof.reply, Failure) and proof.reply.kind == "cancelled":
                    self._cancelled = True
                if self._cancelled:
                    return proofs
                if why := self._against(proof, finding, plans):
                    self._left[finding] = why
                    return proofs
                proofs[finding] = proof
        return proofs

    def _against(self, proof: Proof, finding: Finding, plans: fix.Plans) -> str | None:
        if rejected := proof.against(finding):
            return rejected
        if doubt := fix.unproved(Hoist((), plans.doubts[finding]), proof.reply):
            return doubt.reason
        if self.only and not proof.proves(finding):
            return proof.why_not or "It could not be verified."
        return None

    # ------------------------------------------------------------ words

    def _said(self, paths: Sequence[str], proofs: Mapping[Finding, Proof]) -> str:
        count = len(proofs)
        files = ", ".join(os.path.basename(path) for path in paths)
        head = f"{count} finding{'s' if count > 1 else ''} fixed in {files}."
        unproved = [(finding, proof) for finding, proof in proofs.items() if not proof.proves(finding)]
        if len(unproved) < count:
            head += f" Verified by running the code: {count - len(unproved)}."
        if unproved:
            finding, proof = unproved[0]
            compared = isinstance(proof.reply, VerifyReply) and proof.reply.avals_equal
            unseen = "no results were compared." if compared else f"no shapes are known for {finding.function}."
            why = proof.why_not or unseen
            head += f" Not verified: {len(unproved)}, since {why}"
        return head + self._said_of_left()

    def _said_of_left(self) -> str:
        for finding, why in self._left.items():
            logger.info("%s:%d: not fixed: `%s`: %s", finding.path, finding.range.start.line, finding.name, why)
        if not self._left:
            return ""
        first, why = next(iter(self._left.items()))
        more = f" And {len(self._left) - 1} more: see the log." if len(self._left) > 1 else ""
        return f" Not fixed: `{first.name}` in {first.function}: {why}{more}"


def _compiling(workspace: Workspace) -> list[str]:
    looks = {}
    for file in workspace.project.python_files():
        path = os.path.realpath(file)
        with contextlib.suppress(OSError), open(path, "rb") as stream:
            looks[path] = prefilter.look(stream.read())
    return sorted(prefilter.compiling(looks))


def _report(bar: ProgressBar | None, message: str, done: float) -> None:
    if bar:
        bar.report(message, done)


async def _in_thread(work: Callable[[], list[Any]]) -> list[Any]:
    """`work` away from the event loop: planning many fixes takes a while."""
    return await asyncio.get_running_loop().run_in_executor(None, work)
