"""One project's files with the engine and the workers behind them, as the commands use them."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from jaxscope.cli.problem import Problem
from jaxscope.cli.report import (
    INTERNAL,
    NO_SHAPES,
    NOT_ASKED,
    RUNS_WHEN_IMPORTED,
    SIGNATURE,
    ErrorRow,
    FileReport,
    failure_row,
    function_row,
    reply_errors,
    signature_errors,
    with_python,
)
from jaxscope.cli.settings import Settings, settings_for
from jaxscope.cli.targets import Target, shown_path
from jaxscope.ide import fix
from jaxscope.ide.workspace import Workspace
from jaxscope.rules.base import Judgement
from jaxscope.source.files import not_python, parses
from jaxscope.tracing.evidence import Evidence, text_hash
from jaxscope.tracing.locations import project_root
from jaxscope.tracing.planning import entry_names, plan
from jaxscope.tracing.signatures import unknown_signatures
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, Hello, TraceReply, TraceRequest
from jaxscope.workers.interpreter import find_interpreter
from jaxscope.workers.pool import Pool, Session

_SYNTAX = ("SyntaxError:", "IndentationError:", "TabError:")
Step = Callable[[], None]
WORKERS = 2
"""Files traced at the same time."""


@dataclass
class Group:
    """The files of one project."""

    root: str
    settings: Settings
    targets: list[Target]
    entries: tuple[str, ...]
    workspace: Workspace = field(init=False)
    errors: dict[str, list[ErrorRow]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Why a file was not run, by path."""
    hello: Hello | None = None
    muted: bool = False
    """Is what the program prints left out, since it has been printed once?"""
    _pool: Pool | None = None

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Lets go of all that was read."""
        self.workspace = Workspace(self.root, self.settings.config)

    def pool(self, *, spare: bool = False) -> Pool:
        """The workers, made at the first call."""
        if self._pool is None:
            interpreter = find_interpreter(self.settings.config.interpreter, self.root, os.getcwd())
            self._pool = Pool(
                interpreter, self.settings.config, root=os.getcwd(), log=self._hear, spare=spare, give_up=False
            )
        return self._pool

    def _hear(self, line: str) -> None:
        if not self.muted:
            log(line)

    def close(self) -> None:
        """Ends the workers."""
        if self._pool is not None:
            self._pool.close()

    def request(self, path: str, function: str | None = None, args: str | None = None) -> TraceRequest:
        """What to run of a file, with the texts as they are in the workspace. Raises Problem."""
        model = self.workspace.model(path)
        if model is None:
            raise Problem(f"cannot read {shown_path(path)}")
        overlay = {file: text for file, text in self.workspace.open_texts().items() if file != path}
        return plan(
            model,
            self.workspace.project,
            self.settings.config,
            self.entries,
            args=args,
            function=function,
            text=model.module.text,
            overlay=overlay or None,
        )

    def open(self, request: TraceRequest, *, device: bool = False) -> Session:
        """Runs one file and keeps its worker. Raises Problem when the worker gave no answer."""
        session = self.pool().open(request, "device" if device else "cpu")
        if isinstance(session, Failure):
            raise Problem(said(session))
        self._take(session)
        return session

    def trace(self, targets: Sequence[Target], step: Step) -> None:
        """Runs files for their evidence, some at a time; what goes wrong becomes an error of the file.

        Raises Problem when the interpreter has no JAX, since then nothing can be run.
        """
        requests = [self.request(target.path) for target in targets]
        pool = self.pool()
        with ThreadPoolExecutor(min(WORKERS, len(requests) or 1)) as threads:
            futures = {threads.submit(pool.open, request): request for request in requests}
            try:
                for future in as_completed(futures):
                    self._settle(futures[future], future.result())
                    step()
            except BaseException:
                for future in futures:
                    future.cancel()
                pool.close()
                raise

    def _settle(self, request: TraceRequest, session: Session | Failure) -> None:
        path = request.path
        errors = self.errors.setdefault(path, [])
        if not isinstance(session, Failure):
            session.close()
            self._take(session)
            errors.extend(reply_errors(path, session.evidence.reply))
            errors.extend(signature_errors(request, session.evidence.reply))
        elif session.kind == "no-jax":
            raise Problem(said(session))
        else:
            errors.append(failure_row(path, session))

    def _take(self, session: Session) -> None:
        evidence = session.evidence
        self.hello = evidence.hello
        self.workspace.set_evidence(evidence.path, evidence)
        if self.entries:
            self._reach(dict.fromkeys(item.path for item in evidence.reply.functions))

    def take(self, path: str, reply: TraceReply) -> None:
        """Takes what a run of the present text showed that was made to verify it."""
        if self.hello is not None:
            text = self.workspace.text(path) or ""
            self.workspace.set_evidence(path, Evidence(path, text_hash(text), self.hello, reply, time.time()))

    def _reach(self, paths: Iterable[str]) -> None:
        """Takes in the project's files whose functions a run compiled, so that what it showed of them is told."""
        known = {target.path for target in self.targets}
        self.targets += [
            Target(path, named=False, relevant=True, reached=True)
            for path in paths
            if path not in known and project_root(path, os.getcwd()) == self.root
        ]

    def judgement(self, target: Target) -> Judgement:
        """What there is to say of a file: all, or what a run showed."""
        found = self.workspace.judgement(target.path)
        if not target.reached:
            return found
        return Judgement(tuple(item for item in found.findings if item.evidence != "static"), found.refuted)

    def to_trace(self) -> list[Target]:
        """The files that there is a reason to run."""
        return [target for target in self.targets if self._wants_trace(target)]

    def _wants_trace(self, target: Target) -> bool:
        model = self.workspace.model(target.path) if target.relevant else None
        if model is None or not_python(target.path):
            return False
        if model.runs_when_imported and not self.entries:
            self.skipped[target.path] = f"{RUNS_WHEN_IMPORTED} ({model.runs_when_imported})"
            return False
        return target.named or bool(model.traced) or bool(set(self.entries) & entry_names(model))

    def report(self, target: Target) -> FileReport:
        """What there is to say of one file, by now. A fault of ours in one file does not stop the others."""
        try:
            return FileReport(target.path) if self._has_nothing(target) else self._report(target)
        except Exception as error:
            log(traceback.format_exc())
            return FileReport(
                target.path, errors=(ErrorRow(target.path, 1, INTERNAL, f"{type(error).__name__}: {error}"),)
            )

    def _has_nothing(self, target: Target) -> bool:
        """Is there nothing to say of the file, not even that it does not parse?"""
        if self.workspace.recorded(target.path) is not None:
            return False
        if not target.relevant:
            return True
        return not target.compiles and not self.settings.trace and parses(target.path)

    def unread(self, target: Target) -> tuple[ErrorRow, ...]:
        """Why a file cannot be read, or not as Python."""
        module = self.workspace.project.module(target.path)
        if module is None:
            return (ErrorRow(target.path, 1, "read", "the file cannot be read"),)
        if why := not_python(target.path):
            return (ErrorRow(target.path, 1, "read", why),)
        return tuple(ErrorRow(target.path, one.range.start.line, "syntax", one.message) for one in module.problems)

    def _report(self, target: Target) -> FileReport:
        problems = self.unread(target)
        if any(row.kind == "read" for row in problems):
            return FileReport(target.path, errors=problems)
        # Running a file that does not parse fails for the same reason.
        same = [row for row in self.errors.get(target.path, ()) if row.path == target.path] if problems else []
        errors = [row for row in self.errors.get(target.path, ()) if row not in same or not _of_syntax(row)]
        judgement = self.judgement(target)
        findings = tuple(fix.offered(self.workspace, item) for item in judgement.findings)
        unasked = self.skipped.get(target.path) or self._unasked(target.path)
        return FileReport(
            target.path,
            findings,
            judgement.refuted,
            tuple(
                function_row(facts, unasked, self.workspace.reply(target.path))
                for facts in self.workspace.functions(target.path)
                if facts.traced or not target.reached
            ),
            (*problems, *errors),
        )

    def settings_errors(self) -> tuple[ErrorRow, ...]:
        """What is wrong with the project's own file, other than what stops the command."""
        unknown = unknown_signatures(self.targets[0].path, self.workspace.project) if self.targets else ()
        return tuple(ErrorRow(path, line, SIGNATURE, why) for path, line, why in unknown)

    def _unasked(self, path: str) -> str:
        if not self.settings.trace:
            return NOT_ASKED
        evidence = self.workspace.evidence(path)
        if evidence is None:
            return "the file was not run"
        return "the file did not run to its end" if evidence.reply.failure else NO_SHAPES


def _of_syntax(row: ErrorRow) -> bool:
    return row.kind == "user-error" and row.message.startswith(_SYNTAX)


def groups(targets: Iterable[Target], options: argparse.Namespace) -> list[Group]:
    """The targets by project. Raises Problem for bad settings."""
    found: dict[str, Group] = {}
    for target in targets:
        root = project_root(target.path, os.getcwd())
        if root not in found:
            found[root] = Group(root, settings_for(target.path, options), [], tuple(options.run))
        found[root].targets.append(target)
    return list(found.values())


def check_entries(every: Sequence[Group]) -> None:
    """Raises Problem when a function that is to be run is in none of the files."""
    for group in every:
        for entry in group.entries:
            known = (
                entry_names(model)
                for other in every
                for target in other.targets
                if target.relevant and (model := other.workspace.model(target.path))
            )
            if not any(entry in names for names in known):
                raise Problem(f"--run {entry}: none of the files has a function of that name")


def said(failure: Failure, ran: Hello | None = None) -> str:
    """A failure for a person; `ran`: where it came from."""
    if failure.kind != "user-error":
        return failure.message + (f"\n{failure.traceback.rstrip()}" if failure.traceback else "")
    # The user's frames come first, then the message again and the frames of JAX and of the worker.
    frames = []
    for line in failure.traceback.splitlines():
        if not line.startswith("  "):
            break
        frames.append(line)
    return "\n".join([with_python(failure.message, ran), *frames])


def log(line: str) -> None:
    """What the user's code printed, kept away from standard output."""
    print(line, file=sys.stderr)
