"""`trace`: imports one file and reports what is traced meanwhile, while entries run, and under declared signatures."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy

from .. import declaring, depending, functions, guard, guesses, importing, jax_compat, objects, printing, targets
from ..failing import failure_of
from ..observing import Observer
from ..reporting import Reporter
from ..session import Session
from ..sources import UserFiles
from ..wire.messages import DeclaredSignature, Denied, Failure, NotTraced, TraceReply, TraceRequest
from ..wire.stale import ChangedValue

Report = Callable[[str, str, "float | None"], None]


def handle(session: Session, request: TraceRequest, progress: Report) -> TraceReply:
    """Answers a trace request."""
    return trace_file(session, request, progress)


def trace_file(session: Session, request: TraceRequest, progress: Report) -> TraceReply:
    """Runs the file of `request` and reports. Never raises for what the user's code does.

    May be called again in one process, with other texts: the user's modules are then imported anew.
    """
    files = session.files = UserFiles(request.root)
    importing.forget(files)
    jax.clear_caches()
    run = _Run(request, files, progress, session.results)
    jax_compat.observe(run.observer)
    try:
        with guard.watching(files, request.allow_side_effects) as run.denied:
            run.everything()
    finally:
        jax_compat.observe(None)
    session.module = run.module
    traced = Reporter(run.observer, session).functions()
    return TraceReply(
        functions=traced,
        not_traced=(*run.observer.failed, *run.not_traced),
        denied=tuple(run.denied),
        failure=run.failure,
        import_seconds=run.import_seconds,
        imported=tuple(dict.fromkeys(path for _, path in importing.imported(files))),
        warn_bytes=jax_compat.warn_bytes(),
        leaks=tuple(run.observer.leaks.found),
        changed=run.changed,
        retraced=tuple(count.report() for count in run.observer.traces.counts()),
    )


class _Run:
    def __init__(
        self, request: TraceRequest, files: UserFiles, progress: Report, results: dict[str, Any] | None
    ) -> None:
        self.request, self.files, self.progress, self.results = request, files, progress, results
        self.observer = Observer(files, request.min_bytes)
        self.module: ModuleType | None = None
        self.failure: Failure | None = None
        self.not_traced: list[NotTraced] = []
        self.denied: list[Denied] = []
        """What the guard stopped, as it goes."""
        self.changed: tuple[ChangedValue, ...] = ()
        self.import_seconds = 0.0

    def everything(self) -> None:
        self.progress("importing", self.request.module, None)
        started = time.perf_counter()
        try:
            self.module = importing.import_file(self.request)
        except BaseException as error:
            # The module as far as it came is gone; what was traced before it stopped is not.
            self.failure = failure_of(error, self.files)
        self.import_seconds = time.perf_counter() - started
        if self.module is None:
            return
        unsure = [declared for declared in self.request.declared if declared.source in ("call site", "guess")]
        for declared in self.request.declared:
            if declared not in unsure:
                self.progress("tracing", declared.function, None)
                with self.observer.staling.ours():
                    self._declared(self.module, declared)
        for entry in self.request.entries:
            self.progress("tracing", entry, None)
            if not self._entry(self.module, entry):
                break
        # By the program, not by what is traced for its own sake now.
        self.changed = depending.report(self.observer, self.denied)
        path = self.files.path(self.request.path)
        for declared in unsure:
            if declared.source == "call site" and not guesses.is_traced(declared, path, self.observer):
                self._declared(self.module, declared)
        wanted = [declared for declared in unsure if declared.source == "guess"]
        guesses.trace(self.module, path, wanted, self.observer, self.denied)

    def _entry(self, module: ModuleType, entry: str) -> bool:
        self.observer.source, self.observer.origin = "run", f"{entry}()"
        try:
            function = functions.attribute(module, entry)
        except LookupError as error:
            self.failure = Failure("user-error", str(error))
            return False
        try:
            if self.results is None:
                _finish(function())
            else:
                self.results[entry] = _outcome(function)
        except BaseException as error:
            self.failure = failure_of(error, self.files)
            return False
        return True

    def _declared(self, module: ModuleType, declared: DeclaredSignature) -> None:
        self.observer.source, self.observer.origin = declared.source, declared.origin
        failed_before = len(self.observer.failed)
        try:
            function = functions.find(module, declared.function, self.files, declared.line)
            arguments = guesses.arguments(
                function, declared.signature, objects.Builder(module), self.observer, self.denied
            )
        except (LookupError, declaring.BadSignature) as error:
            self.not_traced.append(self._not_traced(module, declared, str(error), None))
            return
        try:
            jitted = functions.jitted_inside(function)
            self.observer.jitted = jitted is not None
            (jitted or jax.jit(function)).trace(*arguments.args, **arguments.kwargs)
        except BaseException as error:
            failure = failure_of(error, self.files)
            if len(self.observer.failed) == failed_before:
                self.not_traced.append(self._not_traced(module, declared, failure.message, failure))
        finally:
            self.observer.source, self.observer.origin, self.observer.jitted = "run", "", True

    def _not_traced(
        self, module: ModuleType, declared: DeclaredSignature, reason: str, failure: Failure | None
    ) -> NotTraced:
        line = 0
        try:
            function = targets.user_function(
                functions.find(module, declared.function, self.files, declared.line), self.files
            )
            if function is not None:
                line = targets.describe(function, self.files).line
        except LookupError:
            pass
        return NotTraced(
            self.files.path(self.request.path), declared.function, line, reason, failure,
            declared.signature, declared.source, declared.origin,
        )  # fmt: skip


def _outcome(function: Callable[[], Any]) -> Any:
    """What it returns, or else what it prints."""
    with printing.kept() as written:
        result = function()
        _finish(result)
        jax.effects_barrier()
    return printing.Printed.of("".join(written)) if result is None else _copied(result)


def _copied(result: Any) -> Any:
    """As it is now: further traces may change lists and NumPy arrays that it shares with the program."""
    try:
        return jax.tree_util.tree_map(lambda leaf: leaf.copy() if isinstance(leaf, numpy.ndarray) else leaf, result)
    except Exception:  # a tree of the user's own that cannot be rebuilt
        return result


def _finish(result: Any) -> None:
    """Computations run behind the program's back; their errors are the entry's."""
    if result is not None:
        try:
            jax.block_until_ready(result)
        except TypeError:
            return
