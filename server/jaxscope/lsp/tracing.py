"""When what is traced: the policy, the newest wins, and the requests that need a worker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from jaxscope.ide.constants import constants_lowered
from jaxscope.ide.functions import FunctionFacts
from jaxscope.ide.panel_model import ConstantsLowered, ProgramText, Timings
from jaxscope.ide.program import program_text
from jaxscope.ide.recorded import only_recorded
from jaxscope.ide.signatures import named
from jaxscope.ide.situation import Activity
from jaxscope.ide.timings import timings
from jaxscope.lsp.client import Client
from jaxscope.lsp.documents import Document
from jaxscope.lsp.folder import Folder, Signed
from jaxscope.lsp.work import Works
from jaxscope.lsp.workers import Workers
from jaxscope.tracing import planning
from jaxscope.tracing.cancellation import Cancellation
from jaxscope.worker.jaxscope_worker.wire.constants import ConstantsReply, ConstantsRequest
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Failure,
    Hello,
    LowerReply,
    LowerRequest,
    TracedFunction,
    TraceRequest,
    VerifyReply,
    VerifyRequest,
)
from jaxscope.worker.jaxscope_worker.wire.timing import TimeReply
from jaxscope.workers.client import OnProgress
from jaxscope.workers.measuring import measure
from jaxscope.workers.pool import Session

logger = logging.getLogger(__name__)

TYPING_PAUSE = 0.3
"""Seconds without a key before unsaved text is traced."""
Form = Literal["captured", "hoisted"]
Opened = Callable[[], Iterable[Document]]


class Tracing:
    """What runs the user's code in one folder. Its methods are called on the event loop and never block it."""

    def __init__(
        self,
        folder: Folder,
        client: Client,
        executor: ThreadPoolExecutor,
        documents: Opened,
        changed: Callable[[str], None],
    ) -> None:
        """`documents` gives the open documents of the folder; `changed` is called with a path when what is known of
        that file, or what is under way for it, has changed."""
        self._folder, self._documents, self._changed = folder, documents, changed
        self._executor = executor
        self.works = Works(client, executor, changed)
        self._workers = Workers(folder.root, folder.config)
        self._jobs: dict[str, asyncio.Task[Failure | None]] = {}
        self._pauses: dict[str, asyncio.TimerHandle] = {}
        self._traced: Callable[[str], None] = lambda path: None

    def on_traced(self, callback: Callable[[str], None]) -> None:
        """`callback` is called with the path of a file whose trace has come."""
        self._traced = callback

    # ------------------------------------------------------------ when

    async def start(self) -> None:
        """Finds the interpreter and what it has, if code may be run; then traces what is open, if it is to be."""
        folder = self._folder
        if folder.trust.permission != "allowed":
            return
        found = await asyncio.wrap_future(self._executor.submit(self._workers.hello))
        self._heard(*found)
        if folder.no_jax is None and folder.when != "manual":
            for document in list(self._documents()):
                self.want(document.path)

    def _heard(self, interpreter: str, hello: Hello | Failure) -> None:
        folder = self._folder
        folder.interpreter = interpreter
        if isinstance(hello, Hello):
            folder.hello, folder.no_jax = hello, None
        elif hello.kind == "no-jax":
            folder.hello, folder.no_jax = None, hello
        elif hello.kind != "cancelled":
            folder.stopped[""] = hello
        self._changed("")

    def opened(self, path: str) -> None:
        """A document was opened."""
        if self._folder.when != "manual" and self._folder.workspace.evidence(path) is None:
            self.want(path)

    def saved(self, path: str) -> None:
        """A document was saved: it is traced, and so are open files that import it."""
        if self._folder.when != "manual":
            self.want(path)
        self.changed_on_disk(path)

    def changed_on_disk(self, path: str) -> None:
        """Open files that import a file are traced again."""
        if self._folder.when == "manual":
            return
        for document in list(self._documents()):
            evidence = self._folder.workspace.evidence(document.path)
            if document.path != path and evidence and path in evidence.reply.imported:
                self.want(document.path)

    def edited(self, path: str) -> None:
        """A document was edited: with `onType` its new text is traced after a pause."""
        if pause := self._pauses.pop(path, None):
            pause.cancel()
        if self._folder.when == "onType":
            loop = asyncio.get_running_loop()
            self._pauses[path] = loop.call_later(TYPING_PAUSE, self._want_if_whole, path)

    def _want_if_whole(self, path: str) -> None:
        self._pauses.pop(path, None)
        model = self._folder.workspace.model(path)
        if model and not model.module.problems:
            self.want(path)

    def want(self, path: str) -> None:
        """Traces a file soon, if it has anything to trace and may be imported unasked."""
        model = self._folder.workspace.model(path)
        if self._folder.trust.permission != "allowed" or self._folder.no_jax:
            return
        if model is None or not model.traced or model.runs_when_imported or model.module.problems:
            return
        self._begin(path)

    def _begin(self, path: str) -> asyncio.Task[Failure | None]:
        if old := self._jobs.get(path):
            old.cancel()
        job = asyncio.ensure_future(self._trace(path))
        self._jobs[path] = job
        job.add_done_callback(lambda done: self._ended(path, done))
        return job

    def _ended(self, path: str, job: asyncio.Task[Failure | None]) -> None:
        if self._jobs.get(path) is job:
            del self._jobs[path]
        if not job.cancelled() and (error := job.exception()):
            logger.error("tracing %s", path, exc_info=error)

    # ------------------------------------------------------------ what

    async def trace(self, path: str) -> Failure | None:
        """Traces a file now, whatever the policy. None when it went well. A newer trace of it answers as well."""
        if refusal := self._forbidden():
            return refusal
        job = self._begin(path)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            newer = self._jobs.get(path)
            if job.cancelled() and newer is not None and newer is not job:
                return await asyncio.shield(newer)
            job.cancel()
            raise

    def _forbidden(self) -> Failure | None:
        reasons = {
            "restricted": "Restricted Mode: your code is not run",
            "consent": "jaxscope may not run code in this folder yet",
            "off": "Your code is not run: tracing is off",
        }
        permission = self._folder.trust.permission
        if permission != "allowed":
            return Failure("unsupported", reasons[permission])
        return self._folder.no_jax

    async def _trace(self, path: str) -> Failure | None:
        folder, workspace = self._folder, self._folder.workspace
        request = self._request(path)
        if request is None:
            return Failure("unsupported", f"{path} cannot be read")
        texts = workspace.texts(path) | workspace.open_texts()
        title = f"Tracing {path.replace(chr(92), '/').rsplit('/', 1)[-1]}"

        def call(on_progress: OnProgress, cancellation: Cancellation) -> tuple[Session, dict[str, str]] | Failure:
            return self._workers.trace(request, on_progress, cancellation)

        found = await self.works.run(title, Activity(path, "", "importing", 0.0), call, _close)
        if isinstance(found, Failure):
            self._failed(path, found)
            return found
        session, jaxprs = found
        folder.stopped.pop(path, None)
        folder.stopped.pop("", None)
        folder.hello = session.evidence.hello
        workspace.set_evidence(path, session.evidence, texts, jaxprs)
        folder.traced(path, self._programs(path))
        self._workers.keep(path, session)
        self._traced(path)
        return None

    def _programs(self, path: str) -> dict[Signed, str | None]:
        """The jaxpr of each traced function under each signature, where it was fetched."""
        workspace = self._folder.workspace
        return {
            (facts.name, signature): workspace.jaxpr(path, traced)
            for facts in workspace.functions(path)
            for signature, traced in facts.signatures.items()
        }

    def _failed(self, path: str, failure: Failure) -> None:
        if failure.kind == "no-jax":
            self._folder.no_jax = failure
        elif failure.kind != "cancelled":
            self._folder.stopped[path] = failure
            logger.warning("%s: %s\n%s", path, failure.message, failure.traceback)
        self._changed(path)

    def _request(self, path: str) -> TraceRequest | None:
        workspace = self._folder.workspace
        model = workspace.model(path)
        if model is None:
            return None
        dirty = {item.path: item.text for item in self._documents() if item.dirty and item.path != path}
        return planning.plan(model, workspace.project, workspace.config, text=model.module.text, overlay=dirty or None)

    # ------------------------------------------------------------ requests of the panel

    async def _held(self, path: str, name: str, signature: str = "") -> tuple[Session, TracedFunction] | Failure:
        """A live worker that holds a function as it stands now; traces again where there is none.

        Without a signature's name it is the function under its first one.
        """
        if refusal := self._forbidden():
            return refusal
        for attempt in range(2):
            facts = self._folder.workspace.function(path, name)
            shown = facts.signatures.get(signature or facts.signature) if facts else None
            witness = self._folder.workspace.witness(path, name)
            session = self._workers.session(witness, shown) if shown else None
            if session and shown:
                return session, shown
            refused = only_recorded(self._folder.workspace, facts, self._folder.situation(path)) if facts else None
            if refused:
                return Failure("unsupported", f"{refused.reason} {refused.detail}")
            if attempt == 0 and (failure := await self.trace(witness)):
                return failure
        return self._unknown(path, name, facts)

    def _unknown(self, path: str, name: str, facts: FunctionFacts | None) -> Failure:
        item = facts.not_traced if facts else None
        if facts and facts.traced:
            return Failure("unsupported", f"{name} is no longer traced under this signature")
        if item and item.failure:
            return item.failure
        reply = self._folder.workspace.reply(path)
        if reply and reply.failure:
            return reply.failure
        return Failure("unsupported", item.reason if item else f"No shapes are known for {name} yet")

    async def program(self, path: str, name: str, form: Form, signature: str = "") -> ProgramText | Failure:
        """The StableHLO of a function."""
        held = await self._held(path, name, signature)
        if isinstance(held, Failure):
            return held
        session, traced = held

        def call(on_progress: OnProgress, cancellation: Cancellation) -> LowerReply | Failure:
            return session.request(LowerRequest(traced.id, form), on_progress, cancellation)

        reply = await self.works.run(f"Lowering {name}", Activity(path, name, "lowering", 0.0), call)
        return reply if isinstance(reply, Failure) else program_text(reply, traced)

    async def constants(self, path: str, name: str, signature: str = "") -> ConstantsLowered | Failure:
        """What lowering makes of a function's captured arrays."""
        held = await self._held(path, name, signature)
        if isinstance(held, Failure):
            return held
        session, traced = held

        def call(on_progress: OnProgress, cancellation: Cancellation) -> ConstantsReply | Failure:
            return session.request(ConstantsRequest(traced.id), on_progress, cancellation)

        reply = await self.works.run(f"Lowering {name}", Activity(path, name, "lowering", 0.0), call)
        return reply if isinstance(reply, Failure) else constants_lowered(reply, traced, session.evidence.hello)

    async def jaxpr(self, path: str, name: str) -> str | Failure:
        """The whole printed jaxpr of a function."""
        workspace = self._folder.workspace
        facts = workspace.function(path, name)
        if facts and facts.shown:
            known = workspace.jaxpr(path, facts.shown)
            if known is not None:
                return known
        held = await self._held(path, name)
        if isinstance(held, Failure):
            return held
        session, traced = held
        return await self.works.run(
            f"Reading the jaxpr of {name}",
            Activity(path, name, "reading", 0.0),
            lambda on_progress, cancellation: session.text(traced.jaxpr, cancellation),
        )

    async def time(self, path: str, name: str, forms: tuple[Form, ...], signature: str = "") -> Timings | Failure:
        """Measures a function on the device, in a worker of its own."""
        if refusal := self._forbidden():
            return refusal
        workspace = self._folder.workspace
        facts = workspace.function(path, name)
        request = self._request(workspace.witness(path, name))
        if request is None:
            return Failure("unsupported", f"{path} cannot be read")
        signature = signature or (facts.signature if facts else "")
        shown = facts.signatures.get(signature) if facts else None
        if facts and facts.traced and shown is None:
            return self._unknown(path, name, facts)
        program = workspace.jaxpr(path, shown) if shown else None
        unknown = f"{name} was not traced{' under this signature' if shown else ''}"

        def call(on_progress: OnProgress, cancellation: Cancellation) -> TimeReply | Failure:
            def opened() -> tuple[Session, TracedFunction] | Failure:
                session = self._workers.open(request, "device", on_progress, cancellation)
                if isinstance(session, Failure):
                    return session
                target = _same(session.evidence.reply.functions, path, name, shown.line if shown else 0, signature)
                if target is not None:
                    return session, target
                session.close()
                return session.evidence.reply.failure or Failure("unsupported", unknown)

            return measure(opened, forms, on_progress, cancellation)

        reply = await self.works.run(f"Timing {name}", Activity(path, name, "importing", 0.0), call)
        if isinstance(reply, Failure):
            return reply
        measured = timings(reply)
        self._folder.measured(path, (name, signature), program, measured)
        self._changed(path)
        return measured

    async def verify(self, path: str, name: str, request: VerifyRequest) -> VerifyReply | Failure:
        """Runs the code before and after a change."""
        if refusal := self._forbidden():
            return refusal

        def call(on_progress: OnProgress, cancellation: Cancellation) -> VerifyReply | Failure:
            return self._workers.verify(request, on_progress, cancellation)

        return await self.works.run(f"Checking the fix of {name}", Activity(path, name, "verifying", 0.0), call)

    # ------------------------------------------------------------ ending

    def cancel(self, path: str) -> None:
        """Ends what is being done on a file."""
        if job := self._jobs.get(path):
            job.cancel()
        self.works.cancel(path)

    def closed(self, path: str) -> None:
        """A document was closed: nothing more is done on it, and its worker ends."""
        if pause := self._pauses.pop(path, None):
            pause.cancel()
        self.cancel(path)
        self._workers.release(path)
        if self._folder.stopped.pop(path, None):
            self._changed(path)

    def stop(self) -> None:
        """Ends every worker and all work. Another `Tracing` must be made to go on."""
        for pause in self._pauses.values():
            pause.cancel()
        for job in list(self._jobs.values()):
            job.cancel()
        self.works.cancel()
        self._workers.close()


def _close(found: tuple[Session, dict[str, str]] | Failure) -> None:
    if not isinstance(found, Failure):
        found[0].close()


def _same(
    functions: Iterable[TracedFunction], path: str, name: str, line: int, signature: str
) -> TracedFunction | None:
    """A function under a signature in another worker's reply; under its first one where none was known yet."""
    same = [item for item in functions if (item.path, item.function) == (path, name) and line in (0, item.line)]
    found = named(same)
    return found.get(signature or next(iter(found), ""))
