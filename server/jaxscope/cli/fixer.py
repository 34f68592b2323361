"""Makes the fixes of one project's findings, one after the other, each proved where code may be run."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from jaxscope.cli.engine import Group, said
from jaxscope.cli.problem import Problem
from jaxscope.cli.report import SIGNATURE, with_python
from jaxscope.cli.targets import shown_path
from jaxscope.ide import fix as fixing
from jaxscope.ide import fix_kinds
from jaxscope.ide.remap import LineMap
from jaxscope.refactor.change import Refusal
from jaxscope.rules.finding import SEVERITIES, Finding
from jaxscope.text.edit import SourceChange
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, TraceReply, VerifyReply, VerifyRequest

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Applied:
    """A fix that was made."""

    finding: Finding
    files: tuple[str, ...]
    reply: VerifyReply | None
    """None: not verified, since no code may be run."""
    by: Finding | None = None
    """The finding whose fix took this one's array out as well; None when it has a fix of its own."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A fix that was not made, and the place that prevents it."""

    finding: Finding
    reason: str
    path: str
    line: int
    text: str
    """Of the file at `path` then: fixes made later may move the line."""
    failed: bool = True
    """False: it was left alone, since it is only a hint that nobody asked to fix."""

    def line_in(self, text: str) -> int:
        """The line's number in what the file holds by now; of a line that has changed, by those above it."""
        lines = LineMap(self.text, text)
        above = ((line, lines.forward(line)) for line in range(self.line, 0, -1))
        return next((now + self.line - line for line, now in above if now is not None), self.line)


@dataclass
class Outcome:
    """What became of the findings."""

    applied: list[Applied] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


class Fixer:
    """Works through the findings of one project."""

    def __init__(
        self, group: Group, options: argparse.Namespace, outcome: Outcome, tell: Callable[[str], None]
    ) -> None:
        self._group, self._options, self._outcome, self._tell = group, options, outcome, tell
        self._workspace = group.workspace
        self.originals: dict[str, str] = {}
        """Texts of the changed files as they were before the first change, by path."""
        self._standing: list[Finding] = []
        """Findings of the first list that have not been fixed."""
        self._shown: dict[str, TraceReply] = {}
        """What the runs showed, by file, that verified the change which is made now."""

    def fix_all(self) -> None:
        """All that can be planned together at once; the others one after the other, each on the text that is left."""
        if self._group.settings.trace:
            wanted = self._group.to_trace()
            self._tell("tracing")
            self._group.pool(spare=True)
            self._group.trace(wanted, lambda: None)
            self._group.muted = True
            self._stop_on_errors([target.path for target in wanted])
        found = self._findings()
        self._standing = list(found)
        alone = [item for item in found if fix_kinds.is_setting(item) and self._worth(item) and self._offered(item)]
        if self._group.settings.trace and len(found) > 1 and not alone:
            self._fix_together(found)
        # A setting first: under it the others may be none.
        found = [item for item in (*alone, *(item for item in found if item not in alone)) if item in self._standing]
        for number, original in enumerate(found):
            finding = self._present(original)
            if finding is None:
                self._gone(original)
            elif not self._worth(finding):
                self._leave(finding)
            elif self._fix(finding):
                self._standing.remove(original)
                if number + 1 < len(found):
                    self._trace_again()

    def _fix_together(self, found: list[Finding]) -> None:
        """Proves as one change what can be, so that the program is run once before it and once after it.

        Where it cannot be proved nothing is made: one by one it will show which of the fixes is at fault.
        """
        plans = fixing.Plans(self._workspace)
        wanted = [item for item in found if self._worth(item) and self._offered(item)]
        planned = [item for item in wanted if plans.add(item) is None]
        # The others may be gone as well: a function passes on what it is given by then.
        change, others = plans.change(), [item for item in wanted if item not in planned]
        replies = self._verify_all(change, planned + others) if len(planned) > 1 else {}
        if not replies or any(self._against(change, item, replies[item]) for item in planned):
            return
        self._make(change)
        for finding in planned:
            self._done(Applied(finding, plans.files[finding], replies[finding]), finding)
        for finding in others:
            if replies[finding].constant_gone:
                by = next((item for item in planned if item.name == finding.name), planned[-1])
                self._done(Applied(finding, plans.files[by], replies[finding], by), finding)
        if self._standing:
            self._trace_again()

    def _done(self, applied: Applied, standing: Finding) -> None:
        self._outcome.applied.append(applied)
        self._standing.remove(standing)

    def _against(self, change: SourceChange, finding: Finding, reply: VerifyReply) -> bool:
        return bool(fixing.rejection(reply, finding) or fixing.unproved(change, reply))

    def _verify_all(self, change: SourceChange, findings: list[Finding]) -> dict[Finding, VerifyReply]:
        """What running the change showed of each; nothing where it could not be run."""
        self._shown = {}
        by_file: dict[str, list[Finding]] = defaultdict(list)
        for finding in findings:
            by_file[fixing.witness(self._workspace, finding)].append(finding)
        replies: dict[Finding, VerifyReply] = {}
        for first, *others in by_file.values():
            request = fixing.verification(self._workspace, change, first, self._group.entries, others)
            reply = self._run(request) if request else None
            if not isinstance(reply, VerifyReply):
                return {}
            replies |= zip([first, *others], [reply, *reply.others], strict=True)
        return replies

    def _make(self, change: SourceChange) -> None:
        for file in change.files:
            self.originals.setdefault(file.path, file.original)
            self._workspace.set_text(file.path, file.changed)

    def _offered(self, finding: Finding) -> bool:
        return any(offer.safety == "safe" or self._options.unsafe for offer in finding.fixes)

    def _present(self, original: Finding) -> Finding | None:
        """A finding of the first list as it is found now, after the fixes made so far; None when it is gone."""
        if not self._outcome.applied:
            return original
        found = self._findings()
        alike = [item for item in found if _key(item) == _key(original)]
        standing = [item for item in self._standing if _key(item) == _key(original)]
        # Findings of the same name in functions of the same name, such as lambdas, keep their order.
        index = next(number for number, item in enumerate(standing) if item is original)
        if len(alike) == len(standing):
            return alike[index]
        if alike:
            same = [item for item in alike if item.message == original.message]
            return same[0] if len(same) == 1 else None
        known = set(map(_key, self._standing))
        moved = [
            item
            for item in found
            if (item.path, item.name) == (original.path, original.name) and _key(item) not in known
        ]
        return moved[0] if moved else None

    def _gone(self, finding: Finding) -> None:
        """A fix before took the array out as well, or hid it."""
        last = next(item for item in reversed(self._outcome.applied) if item.by is None)
        before = f"the fix of `{last.finding.name}` in `{last.finding.function}`"
        elsewhere = fix_kinds.is_setting(last.finding) or last.finding.function == finding.function
        rows = [row for path in {finding.path, *last.files} for row in self._group.errors.get(path, ())]
        if self._group.settings.trace and any(row.kind not in ("blocked", SIGNATURE) for row in rows):
            self._lost(finding, f"it could not be traced again after {before}: {rows[-1].message}")
        elif not elsewhere and finding.path not in self.originals:
            self._lost(finding, f"it is no longer found after {before}; run the command again")
        else:
            self._done(Applied(finding, last.files, last.reply, last.finding), finding)

    def _worth(self, finding: Finding) -> bool:
        # A hint says that something may be so: it is fixed when it is asked for by name.
        least = SEVERITIES.index("hint" if self._options.name or self._options.function else "warning")
        return SEVERITIES.index(finding.severity) >= least

    def _leave(self, finding: Finding) -> None:
        reason = f"it is only {_article(finding.severity)}: --name or --function asks for it"
        self._refuse(finding, reason, failed=False)

    def _stop_on_errors(self, paths: list[str]) -> None:
        rows = [
            row for path in paths for row in self._group.errors.get(path, ()) if row.kind not in ("blocked", SIGNATURE)
        ]
        if rows:
            shown = "\n".join(
                f"{shown_path(row.path)}:{row.line}: {row.kind}: {with_python(row.message, self._group.hello)}"
                for row in rows
            )
            raise Problem(f"nothing was fixed, since a fix could not be verified:\n{shown}")

    def _findings(self) -> list[Finding]:
        options = self._options
        found = [
            finding
            for target in self._group.targets
            if target.relevant
            for finding in self._group.judgement(target).findings
            if finding.rule == options.rule
            and options.function in (None, finding.function)
            and options.name in (None, finding.name)
        ]
        return list({(*_key(item), item.range): item for item in found}.values())

    def _fix(self, finding: Finding) -> bool:
        """Makes one fix in the workspace. Was it made?"""
        if finding.fixes and not self._offered(finding):
            return self._refuse(finding, "the fix may change what the program does: --unsafe applies it")
        change = fixing.prepare(self._workspace, finding)
        if isinstance(change, Refusal):
            return self._refuse(finding, change.reason, change.path, change.line)
        reply = self._verify(change, finding) if self._group.settings.trace else None
        if isinstance(reply, str):
            return self._refuse(finding, reply)
        if doubt := fixing.unproved(change, reply):
            return self._refuse(finding, doubt.reason, doubt.path, doubt.line)
        self._make(change)
        self._outcome.applied.append(Applied(finding, tuple(file.path for file in change.files), reply))
        return True

    def _lost(self, finding: Finding, reason: str) -> None:
        """Refuses one of the first list, which stands where it stood then."""
        self._refuse(finding, reason)
        last = self._outcome.refused[-1]
        self._outcome.refused[-1] = replace(last, text=self.originals.get(last.path, last.text))

    def _refuse(self, finding: Finding, reason: str, path: str = "", line: int = 0, failed: bool = True) -> bool:
        path, line = path or finding.path, line or finding.range.start.line
        module = self._workspace.project.module(path)
        text = module.text if module is not None else ""
        self._outcome.refused.append(Refused(finding, reason, path, line, text, failed))
        return False

    def _verify(self, change: SourceChange, finding: Finding) -> VerifyReply | str:
        """What running the change showed, or why it must not be written."""
        self._shown = {}
        request = fixing.verification(self._workspace, change, finding, self._group.entries)
        if request is None:
            return "the changed file cannot be read"
        reply = self._run(request)
        if isinstance(reply, Failure):
            return f"not verified: {said(reply).splitlines()[0]}"
        return fixing.rejection(reply, finding) or reply

    def _run(self, request: VerifyRequest) -> VerifyReply | Failure:
        self._tell("verifying")
        reply = self._group.pool().verify(
            replace(request, tell=True), lambda now: self._tell(f"verifying: {now.stage} {now.detail}")
        )
        if isinstance(reply, VerifyReply) and reply.after is not None:
            self._shown[request.after.path] = reply.after
        return reply

    def _trace_again(self) -> None:
        """Takes new evidence of the files that ran what has changed since, from the runs that verified it if it can."""
        for path, shown in self._shown.items():
            self._group.take(path, shown)
        changed = {path for item in self._outcome.applied for path in item.files}
        stale = [
            target
            for target in self._group.targets
            if target.path not in self._shown
            and (evidence := self._workspace.evidence(target.path))
            and changed & {target.path, *evidence.reply.imported}
        ]
        if stale:
            self._group.trace(stale, lambda: None)


def _key(finding: Finding) -> Key:
    return finding.rule, finding.path, finding.function, finding.name


def _article(severity: str) -> str:
    return {"hint": "a hint", "information": "information"}.get(severity, severity)
