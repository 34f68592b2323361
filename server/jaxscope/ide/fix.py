"""Preparing the fix of a finding, what to run to prove it, and what to say about the outcome."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from jaxscope.ide import fix_kinds, new_argument
from jaxscope.ide.remap import LineMap
from jaxscope.ide.workspace import Workspace
from jaxscope.refactor.change import Hoist, Refusal
from jaxscope.refactor.unused_imports import without_unused
from jaxscope.rules.finding import SEVERITIES, Finding
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit
from jaxscope.text.figures import format_bytes
from jaxscope.text.span import Position, Range, Span
from jaxscope.tracing import planning
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Failure,
    Hoisted,
    TraceRequest,
    VerifyReply,
    VerifyRequest,
)

logger = logging.getLogger(__name__)
LARGE = 20_000
"""Characters of a file above which fixes are offered before they are planned."""


def fixable(finding: Finding) -> bool:
    """Is there a fix that can be planned here?"""
    return any(offer.kind in fix_kinds.PLANNERS for offer in finding.fixes)


def safe(workspace: Workspace, path: str) -> list[Finding]:
    """The findings of a file that may be fixed without asking: what the program gives and prints stays.

    A hint only says that something may be so.
    """
    least = SEVERITIES.index("warning")
    unchanging = fix_kinds.PLANNERS.keys() - fix_kinds.MENDING
    return [
        item
        for item in workspace.findings(path)
        if SEVERITIES.index(item.severity) >= least
        and any(offer.kind in unchanging and offer.safety == "safe" for offer in item.fixes)
    ]


def prepare(workspace: Workspace, finding: Finding) -> SourceChange | Refusal:
    """The change that fixes one finding."""
    plans = workspace.plans(finding.path)
    if finding not in plans:
        plans[finding] = _plan(workspace.project, finding)
    return plans[finding]


def prepared(workspace: Workspace, finding: Finding) -> SourceChange | Refusal | None:
    """What `prepare` would give, where it is known already."""
    return workspace.plans(finding.path).get(finding)


def quickly(workspace: Workspace, finding: Finding) -> bool:
    """Can a fix be planned before the user would notice?"""
    return len(workspace.text(finding.path) or "") <= LARGE


def offered(workspace: Workspace, finding: Finding) -> Finding:
    """The finding with why there is no fix, where planning it says so."""
    planned = prepare(workspace, finding) if fixable(finding) and quickly(workspace, finding) else None
    if not isinstance(planned, Refusal):
        return finding
    return dataclasses.replace(finding, fixes=(), refused=why_not(planned, finding.path))


def prepare_apart(root: str, texts: Mapping[str, str], finding: Finding) -> SourceChange | Refusal:
    """What `prepare` would give, worked out on texts of its own, in any thread."""
    return _plan(_scratch(root, texts), finding)


def prepare_all(workspace: Workspace, findings: Sequence[Finding]) -> SourceChange | Refusal:
    """One change that fixes several findings, or why one of them cannot be fixed."""
    if len(findings) == 1:
        return prepare(workspace, findings[0])
    plans = Plans(workspace)
    for finding in findings:
        if refusal := plans.add(finding):
            return refusal
    return plans.change()


class Plans:
    """Fixes that are made together: each is planned on the texts that those before it leave.

    It has texts of its own, those of the moment when it was made, so that any thread may use it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._scratch = _scratch(workspace.root, workspace.open_texts())
        self._originals: dict[str, str] = {}
        self.doubts: dict[Finding, tuple[Refusal, ...]] = {}
        """By finding that a fix was planned for."""
        self.files: dict[Finding, tuple[str, ...]] = {}
        """Which each of them changes."""

    def add(self, finding: Finding, within: str | None = None) -> Refusal | None:
        """Plans one more fix; why it cannot be. `within`: the only file that may be changed."""
        change = _plan(self._scratch, self._moved(finding))
        if isinstance(change, Refusal):
            return change
        outside = next((file for file in change.files if within not in (None, file.path)), None)
        if outside is not None:
            return Refusal("The fix changes another file, too.", outside.path, 0)
        self.doubts[finding] = change.doubts if isinstance(change, Hoist) else ()
        self.files[finding] = tuple(file.path for file in change.files)
        for file in change.files:
            self._originals.setdefault(file.path, file.original)
            self._scratch.set_text(file.path, file.changed)
        return None

    def change(self) -> Hoist:
        """All fixes planned so far, as one change of the texts as they were."""
        files = []
        for path, original in self._originals.items():
            module = self._scratch.module(path)
            files.append(FileChange(path, original, line_edits(original, module.text if module else original)))
        return Hoist(tuple(files), tuple(doubt for doubts in self.doubts.values() for doubt in doubts))

    def _moved(self, finding: Finding) -> Finding:
        """`finding` on the line where it is by now, as wide as it was."""
        original, module = self._originals.get(finding.path), self._scratch.module(finding.path)
        if original is None or module is None:
            return finding
        start, end = finding.range.start, finding.range.end
        line = LineMap(original, module.text).forward(start.line) or start.line
        moved = Range(Position(line, start.column), Position(line + end.line - start.line, end.column))
        return dataclasses.replace(finding, range=moved)


def line_edits(old: str, new: str) -> TextEdit:
    """The edits that turn `old` into `new`, in lines that differ and there only where they do."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    edits = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "replace" and b - a == d - c:
            edits += [_within_line(starts[a + row], before[a + row], after[c + row]) for row in range(b - a)]
        elif tag != "equal":
            edits.append(Edit(Span(starts[a], starts[b]), "".join(after[c:d])))
    return TextEdit.of(edits)


def _within_line(start: int, old: str, new: str) -> Edit:
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    return Edit(Span(start + head, start + len(old) - tail), new[head : len(new) - tail])


def _alike(one: str, other: str) -> int:
    """Length of the common beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _plan(project: Project, finding: Finding) -> SourceChange | Refusal:
    for offer in finding.fixes:
        if offer.kind in fix_kinds.PLANNERS:
            try:
                planned = fix_kinds.PLANNERS[offer.kind](project, finding)
                return planned if isinstance(planned, Refusal) else without_unused(project, planned)
            except Exception as error:  # a mistake of ours: a server lives on, and the user need not know the kind
                logger.exception("%s of `%s` in %s", offer.kind, finding.name, finding.path)
                reason = f"the fix could not be planned: {error or type(error).__name__}"
                return Refusal(reason, finding.path, finding.range.start.line)
    reason = finding.refused or f"there is no fix for {finding.rule} here"
    return Refusal(reason, finding.path, finding.range.start.line)


def _scratch(root: str, texts: Mapping[str, str]) -> Project:
    """A project with the present texts of open documents, to try changes on."""
    scratch = Project(root)
    for path, text in texts.items():
        scratch.set_text(path, text)
    return scratch


def verification(
    workspace: Workspace,
    change: SourceChange,
    finding: Finding,
    entries: Sequence[str] = (),
    others: Sequence[Finding] = (),
) -> VerifyRequest | None:
    """What to run to see that `change` does what it should; None when the file cannot be read.

    `others` are findings that it fixes as well, and that the same file shows when it is run.
    """
    path = witness(workspace, finding)
    model = workspace.model(path)
    scratch = _scratch(workspace.root, workspace.open_texts())
    for file in change.files:
        scratch.set_text(file.path, file.changed)
    changed = scratch.model(path)
    if model is None or changed is None:
        return None
    before_texts = workspace.open_texts()
    after_texts = before_texts | {file.path: file.changed for file in change.files}
    before = _request(model, workspace.project, workspace, entries, before_texts)
    after = _request(changed, scratch, workspace, entries, after_texts)
    signatures = new_argument.in_signatures(model, changed, before.declared, after.declared, [finding, *others])
    after = dataclasses.replace(after, declared=signatures)
    also = tuple(Hoisted(other.function, other.name, _donates(other)) for other in others)
    request = VerifyRequest(before, after, finding.function, finding.name, also, donates=_donates(finding))
    kinds = (fix_kinds.RESULTS[offer.kind] for offer in finding.fixes if offer.kind in fix_kinds.RESULTS)
    return dataclasses.replace(request, results=next(kinds, "same"))


def _donates(finding: Finding) -> tuple[str, ...]:
    return next((offer.about for offer in finding.fixes if offer.kind == "donate"), ())


def witness(workspace: Workspace, finding: Finding) -> str:
    """The file to run in order to see the finding's function."""
    return workspace.witness(finding.path, finding.function)


def _request(
    model: FileModel, project: Project, workspace: Workspace, entries: Sequence[str], texts: dict[str, str]
) -> TraceRequest:
    path = model.module.path
    overlay = {file: text for file, text in texts.items() if file != path}
    return planning.plan(
        model, project, workspace.config, entries=tuple(entries), text=texts.get(path), overlay=overlay or None
    )


def rejection(reply: VerifyReply | Failure, finding: Finding) -> str | None:
    """Why the change must not be written, as one sentence; None when nothing speaks against it."""
    if isinstance(reply, Failure):
        return None if reply.kind in ("unsupported", "no-jax") else _sentence(reply.message)
    hoists = bool(fix_kinds.ARGUMENTS & _kinds([finding]))
    if not reply.imports:
        default = f"{finding.function} could no longer be imported"
    elif fix_kinds.OTHER_TYPES & _kinds([finding]):
        if reply.results_equal is not False:
            return None
        default = "what the program gives would be neither what it gave nor what it should be"
    elif reply.constant_gone is False and hoists:
        default = f"`{finding.name}` would still be compiled into {finding.function}"
    elif reply.avals_equal is False:
        default = f"the output of {finding.function} would change its type"
    elif reply.values_equal is False and not fix_kinds.RAISING & _kinds([finding]):
        default = f"the values that {finding.function} returns would change"
    elif reply.reuse is not None and reply.reuse.bytes == 0:
        return f"the compiled program would not reuse the memory of {_named(_donates(finding))}."
    else:
        return None
    stays = reply.constant_gone is False and not hoists  # and that is what the detail says
    return _sentence(default if stays else reply.detail or default)


def _is_of(kind: str, finding: Finding) -> bool:
    return any(offer.kind == kind for offer in finding.fixes)


def weakest(replies: Sequence[VerifyReply | Failure]) -> VerifyReply | Failure:
    """Of the outcomes for several findings the one that shows least: what is said must hold for all of them."""

    def shown(reply: VerifyReply | Failure) -> tuple[bool, ...]:
        if isinstance(reply, Failure):
            return (False,)
        return True, reply.constant_gone is True, reply.avals_equal is True, reply.values_equal is True

    return min(replies, key=shown)


def unproved(change: SourceChange, reply: VerifyReply | Failure | None) -> Refusal | None:
    """Why the change must not be written although nothing speaks against it: a doubt that no run has cleared."""
    if not isinstance(change, Hoist) or not change.doubts:
        return None
    proved = isinstance(reply, VerifyReply) and reply.avals_equal is True and reply.results_equal is True
    first = change.doubts[0]
    reason = f"{first.reason.rstrip('.')}; only a run of the program can show whether it is so."
    if isinstance(reply, VerifyReply) and reply.silent:
        nothing = "returns nothing and prints nothing that could be compared; return what it computes"
        reason = f"{first.reason.rstrip('.')}; `{reply.silent}` {nothing}."
    return None if proved else Refusal(reason, first.path, first.line)


def applied(reply: VerifyReply | Failure | None, findings: Sequence[Finding], why_not: str = "") -> str:
    """What to say once the change was written. `why_not`: why it was not verified, where it was not."""
    names = [finding.name for finding in findings]
    arguments = all(any(offer.kind in fix_kinds.ARGUMENTS for offer in finding.fixes) for finding in findings)
    if not arguments:
        titles = dict.fromkeys(finding.fixes[0].title for finding in findings if finding.fixes)
        head = f"Done in {findings[0].function}: {'; '.join(titles)}."
    elif len(names) == 1 and findings[0].via == "numpy-made-inside":
        head = f"{names[0]} is no longer made by NumPy while {findings[0].function} is traced."
    else:
        what = (
            f"{names[0]} is now an argument" if len(names) == 1 else f"{len(names)} captured arrays are now arguments"
        )
        head = f"{what} of {findings[0].function}."
    if isinstance(reply, Failure):
        why_not = reply.message
    if not isinstance(reply, VerifyReply):
        return f"{head} Not verified: {_sentence(why_not)}" if why_not else f"{head} Not verified."
    if _is_of("donate", findings[0]) and reply.avals_equal:
        return f"{head} {_donated(reply)}"
    if reply.programs_equal and not reply.results_equal and not arguments and "prints" in _wanted(findings):
        return f"{head} Traced again: the same program but for what it prints."
    if not arguments or (reply.constant_gone is None and reply.results_equal):
        seen = _seen(reply, findings)
        return f"{head} {seen}" if reply.results_equal else f"{head} Not verified: no results were compared."
    if reply.constant_gone is None:
        return f"{head} Not verified: no shapes are known for {findings[0].function}."
    gone = "constant gone" if len(names) == 1 else "constants gone"
    return f"{head} Traced again: {', '.join(part for part in (gone, _output(reply)) if part)}.{_how(reply)}"


def _donated(reply: VerifyReply) -> str:
    """What was seen of arguments that are given away now."""
    same = "the same program" if reply.programs_equal else _output(reply)
    how = f"Run again: {_output(reply)}" if reply.results_equal else f"Traced again: {same}"
    if reply.reuse is None or reply.reuse.bytes is None:
        why = reply.reuse.why if reply.reuse is not None else "no trace shows what is given away"
        return f"{how}. Reuse of memory not verified: {why}."
    return f"{how}. The compiled program reuses {format_bytes(reply.reuse.bytes)}."


def _named(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _wanted(findings: Sequence[Finding]) -> set[str]:
    """What the program is to give after these fixes, other than the same."""
    return {fix_kinds.RESULTS[kind] for kind in _kinds(findings) if kind in fix_kinds.RESULTS}


def _seen(reply: VerifyReply, findings: Sequence[Finding]) -> str:
    """What another run of the program showed."""
    wanted = _wanted(findings)
    if "any" in wanted:
        return "Run again: it runs, with 64 bits."
    if "types" in wanted:
        return "Run again: shapes and dtypes as they were; the numbers are others, as they should be."
    if "prints" in wanted:
        return "Run again: all else is printed as before." if reply.printed else f"Run again: {_output(reply)}."
    if fix_kinds.MENDING & _kinds(findings):
        if reply.printed:
            return "Run again: printed as before, or as without `jit`."
        return "Run again: results as they were, or as without `jit`."
    return "Run again: printed the same." if reply.printed else f"Run again: {_output(reply)}."


def _kinds(findings: Sequence[Finding]) -> set[str]:
    return {offer.kind for finding in findings for offer in finding.fixes}


def _output(reply: VerifyReply) -> str:
    return "output unchanged" if reply.values_equal else "output types unchanged" if reply.avals_equal else ""


def _how(reply: VerifyReply) -> str:
    """By what the output was seen to be the same."""
    if reply.programs_equal:
        return " But for the new argument the program is the same."
    made_up = reply.values_equal and reply.results_equal is None
    return " The program is another one; its output was compared for made-up arguments." if made_up else ""


def each(reply: VerifyReply | Failure, findings: Sequence[Finding]) -> list[VerifyReply | Failure]:
    """The outcome for each of the findings that were verified together."""
    return [reply, *reply.others] if isinstance(reply, VerifyReply) else [reply] * len(findings)


def refused(refusal: Refusal, path: str) -> str:
    """`Not offered: layer is a lax.scan body; its parameters are fixed (line 43).`"""
    return f"Not offered: {why_not(refusal, path)}"


def why_not(refusal: Refusal, path: str) -> str:
    """`layer is a lax.scan body; its parameters are fixed (line 43).`"""
    text = refusal.reason.rstrip(".")
    if f"line {refusal.line}" not in text and refusal.line:
        where = "" if refusal.path == path else f"{refusal.path.replace(chr(92), '/').rsplit('/', 1)[-1]} "
        text += f" ({where}line {refusal.line})"
    return f"{text}."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
