"""The pool of worker processes of a folder, and the workers that hold what is shown. Calls block, on any thread."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping

from jaxscope.config import Config
from jaxscope.tracing.cancellation import Cancellation
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Failure,
    FetchReply,
    FetchRequest,
    Hello,
    TracedFunction,
    TraceRequest,
    VerifyReply,
    VerifyRequest,
)
from jaxscope.workers.client import OnProgress
from jaxscope.workers.interpreter import find_interpreter
from jaxscope.workers.pool import Platform, Pool, Session

logger = logging.getLogger(__name__)

KEPT = 2
"""Workers kept alive after a trace, so that lowering starts at once; each holds a JAX and the user's data."""
JAXPR_LIMIT = 64 * 1024
"""Characters of the longest jaxpr that is fetched ahead for the hover."""


class Workers:
    """Starts the pool when it is first needed and keeps the sessions of the files traced last."""

    def __init__(self, root: str, config: Config) -> None:
        self.root, self.config = root, config
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._closed = False

    def _started(self) -> Pool | Failure:
        """The pool, started now if it was not."""
        with self._lock:
            if self._closed:
                return Failure("cancelled", "The workers of this folder are closed")
            if self._pool is None:
                interpreter = find_interpreter(self.config.interpreter, self.root)
                self._pool = Pool(interpreter, self.config, root=self.root, log=_log)
            return self._pool

    def hello(self) -> tuple[str, Hello | Failure]:
        """The interpreter in use and what it has."""
        pool = self._started()
        return ("", pool) if isinstance(pool, Failure) else (pool.interpreter, pool.hello())

    def open(
        self, request: TraceRequest, platform: Platform, on_progress: OnProgress, cancellation: Cancellation
    ) -> Session | Failure:
        """Traces a file in a fresh worker; whoever asked for it closes it."""
        pool = self._started()
        return pool if isinstance(pool, Failure) else pool.open(request, platform, on_progress, cancellation)

    def verify(
        self, request: VerifyRequest, on_progress: OnProgress, cancellation: Cancellation
    ) -> VerifyReply | Failure:
        """Compares two versions of a file in a fresh worker."""
        pool = self._started()
        return pool if isinstance(pool, Failure) else pool.verify(request, on_progress, cancellation)

    def trace(
        self, request: TraceRequest, on_progress: OnProgress, cancellation: Cancellation
    ) -> tuple[Session, dict[str, str]] | Failure:
        """Traces a file in a fresh worker; also the jaxprs that are not too long for a hover, by function id."""
        opened = self.open(request, "cpu", on_progress, cancellation)
        return opened if isinstance(opened, Failure) else (opened, self._jaxprs(opened, cancellation))

    def _jaxprs(self, session: Session, cancellation: Cancellation) -> dict[str, str]:
        found: dict[str, str] = {}
        for function in session.evidence.reply.functions:
            if not function.jaxpr or cancellation.cancelled:
                continue
            reply = session.request(FetchRequest(function.jaxpr, 0, JAXPR_LIMIT), None, cancellation)
            if isinstance(reply, FetchReply) and reply.total <= JAXPR_LIMIT:
                found[function.id] = reply.text
        return found

    def keep(self, path: str, session: Session) -> None:
        """Keeps the worker of a file's last trace and ends the one before."""
        with self._lock:
            old = [self._sessions.pop(path)] if path in self._sessions else []
            if self._closed:
                old.append(session)
            else:
                self._sessions[path] = session
            while len(self._sessions) > KEPT:
                old.append(self._sessions.popitem(last=False)[1])
        for item in old:
            item.close()

    def session(self, path: str, function: TracedFunction) -> Session | None:
        """The live worker that still holds this traced function."""
        with self._lock:
            found = self._sessions.get(path)
            if found is not None:
                self._sessions.move_to_end(path)
        if found is None or not found.alive:
            return None
        return found if any(item.id == function.id for item in found.evidence.reply.functions) else None

    def release(self, path: str) -> None:
        """Ends the worker that holds a file."""
        with self._lock:
            session = self._sessions.pop(path, None)
        if session:
            session.close()

    def close(self) -> None:
        """Ends every process."""
        with self._lock:
            self._closed, pool, self._pool = True, self._pool, None
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()
        if pool:
            pool.close()


def _log(line: str) -> None:
    logger.info("%s", line)


def environment_of(config: Config) -> Mapping[str, object]:
    """What of the settings a running pool depends on; when it changes, the pool must be replaced."""
    return {
        "interpreter": config.interpreter,
        "trace": config.trace,
        "timing": config.timing,
        "devices": config.simulated_devices,
    }
