"""The workers of one interpreter: one spare that is ready, those that serve a file, and when to stop starting more."""

from __future__ import annotations

import collections
import os
import re
import threading
import time
from collections.abc import Mapping
from typing import Any, Literal

from jaxscope.config import Config, parse_size
from jaxscope.source.files import read_source
from jaxscope.tracing.cancellation import Cancellation
from jaxscope.tracing.evidence import Evidence, text_hash
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Failure,
    FetchRequest,
    Hello,
    TraceReply,
    TraceRequest,
    VerifyReply,
    VerifyRequest,
)
from jaxscope.worker.jaxscope_worker.wire.timing import TimeRequest
from jaxscope.workers import spawn
from jaxscope.workers.client import Log, OnProgress, WorkerClient, ignore_log

Platform = Literal["cpu", "device"]
OLDEST_JAX = (0, 4, 30)
STORM_CRASHES, STORM_SECONDS = 3, 300.0
# Importing JAX can take long on a cold file system; that is no fault of the user's code, so it has its own limit.
START_SECONDS = 60.0
TURN_POLL_SECONDS = 0.05


class Session:
    """One worker that has imported one version of one file."""

    def __init__(self, pool: Pool, client: WorkerClient, evidence: Evidence) -> None:
        self._pool, self._client, self.evidence = pool, client, evidence
        self._turn = threading.Lock()

    @property
    def alive(self) -> bool:
        """Can it still be asked?"""
        return self._client.state != "dead"

    def request(
        self, message: Any, on_progress: OnProgress | None = None, cancellation: Cancellation | None = None
    ) -> Any | Failure:
        """Answer to a request about what was traced; requests of several threads wait for each other.

        Cancelling a request that still waits for its turn leaves the worker to the others.
        """
        while not self._turn.acquire(timeout=TURN_POLL_SECONDS):
            if cancellation and cancellation.cancelled:
                return Failure("cancelled", "Cancelled")
        try:
            if cancellation and cancellation.cancelled:
                return Failure("cancelled", "Cancelled")
            return self._pool.ask(self._client, message, on_progress, cancellation)
        finally:
            self._turn.release()

    def text(self, handle: str, cancellation: Cancellation | None = None) -> str | Failure:
        """The whole text behind a handle."""
        parts, length = [], 0
        while True:
            reply = self.request(FetchRequest(handle, length), None, cancellation)
            if isinstance(reply, Failure):
                return reply
            parts.append(reply.text)
            length += len(reply.text)
            if length >= reply.total or not reply.text:
                return "".join(parts)

    def close(self) -> None:
        """Ends the process and with it what it is working on, from any thread."""
        self._client.kill()
        self._pool.forget(self._client)


class Pool:
    """Workers of one interpreter. Calls block, never raise, and may come from any thread."""

    def __init__(
        self,
        interpreter: str,
        config: Config,
        *,
        root: str,
        log: Log = ignore_log,
        env: Mapping[str, str] | None = None,
        spare: bool = True,
        give_up: bool = True,
    ) -> None:
        """`root` is where workers run. With `spare` a worker is kept ready from now on; with `give_up` the pool stops
        starting workers after three of them died within five minutes."""
        self.interpreter, self.config, self.root = interpreter, config, root
        self._log, self._env, self._keep_spare, self._give_up = log, dict(env or {}), spare, give_up
        self._lock = threading.Lock()
        self._spare: WorkerClient | None = None
        self._clients: set[WorkerClient] = set()
        self._hello: Hello | None = None
        self._deaths: collections.deque[float] = collections.deque(maxlen=STORM_CRASHES)
        self._closed = False
        self._refill()

    # ------------------------------------------------------------ what callers use

    def hello(self) -> Hello | Failure:
        """What the interpreter has. Starts a worker when none has spoken yet."""
        if self._hello is not None:
            return self._hello
        taken = self._acquire("cpu", None)
        if isinstance(taken, Failure):
            return taken
        client, hello = taken
        with self._lock:
            if self._keep_spare and self._spare is None and not self._closed:
                self._spare = client
                return hello
        self._drop(client)
        return hello

    def open(
        self,
        request: TraceRequest,
        platform: Platform = "cpu",
        on_progress: OnProgress | None = None,
        cancellation: Cancellation | None = None,
    ) -> Session | Failure:
        """Traces in a fresh worker, which then stays with the session."""
        ran = request.text if request.text is not None else _on_disk(request.path)
        taken = self._acquire(platform, cancellation)
        if isinstance(taken, Failure):
            return taken
        client, hello = taken
        reply = self.ask(client, request, on_progress, cancellation)
        self._refill()
        if not isinstance(reply, TraceReply):
            self._drop(client)
            return reply
        evidence = Evidence(request.path, text_hash(ran), hello, reply, time.time())
        return Session(self, client, evidence)

    def verify(
        self,
        request: VerifyRequest,
        on_progress: OnProgress | None = None,
        cancellation: Cancellation | None = None,
    ) -> VerifyReply | Failure:
        """Compares the two versions in a fresh worker."""
        taken = self._acquire("cpu", cancellation)
        if isinstance(taken, Failure):
            return taken
        reply = self.ask(taken[0], request, on_progress, cancellation)
        self._drop(taken[0])
        self._refill()
        return reply

    def close(self) -> None:
        """Kills every worker. What is being asked ends with a `cancelled` failure."""
        with self._lock:
            self._closed, clients, self._spare = True, list(self._clients), None
            self._clients.clear()
        for client in clients:
            client.kill()

    # ------------------------------------------------------------ what sessions use

    def ask(
        self,
        client: WorkerClient,
        message: Any,
        on_progress: OnProgress | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any | Failure:
        """The client's answer under the pool's deadline; notes when the worker died of it."""
        seconds = self.config.trace.timeout * (2 if isinstance(message, VerifyRequest) else 1)
        # Timing repeats each stage on purpose, so only silence tells that it hangs.
        renew = isinstance(message, TimeRequest)
        reply = client.request(message, on_progress, deadline=seconds, renew=renew, cancellation=cancellation)
        if isinstance(reply, Failure):
            self._note(reply)
        return reply

    def forget(self, client: WorkerClient) -> None:
        """The client is no longer of this pool."""
        with self._lock:
            self._clients.discard(client)

    # ------------------------------------------------------------ starting

    def _acquire(self, platform: Platform, cancellation: Cancellation | None) -> tuple[WorkerClient, Hello] | Failure:
        """A worker that has said hello and has a JAX that is new enough."""
        with self._lock:
            client = None
            if platform == "cpu":
                client, self._spare = self._spare, None
        if client is not None and client.state == "dead":
            self.forget(client)
            client = None
        if client is None:
            started = self._start("cpu" if platform == "cpu" else self.config.timing.platform)
            if isinstance(started, Failure):
                return started
            client = started
        hello = client.wait_hello(max(START_SECONDS, self.config.trace.timeout), cancellation)
        failure = self._not_started(hello) if isinstance(hello, Failure) else self._unfit(hello)
        if failure is not None:
            self._note(failure)
            self._drop(client)
            if failure.kind == "cancelled":
                self._refill()  # it was not the worker's fault: the next request finds one ready again
            return failure
        assert isinstance(hello, Hello)
        self._hello = hello
        return client, hello

    def _start(self, platform: str) -> WorkerClient | Failure:
        with self._lock:
            if self._closed:
                return Failure("cancelled", "Cancelled")
            if self._is_storm():
                return Failure("crashed", "Stopped three times; not started again.")
        extra = {**self.config.trace.env, **self._env}
        env = spawn.environment(platform, extra, devices=self.config.simulated_devices)
        limit = parse_size(self.config.trace.memory_limit)
        try:
            client = WorkerClient(self.interpreter, env, self.root, memory_limit=limit, log=self._log)
        except OSError as error:
            return Failure("no-jax", f"Cannot run {self.interpreter}: {error.strerror or error}")
        with self._lock:
            if not self._closed:
                self._clients.add(client)
                return client
        client.kill()
        return Failure("cancelled", "Cancelled")

    def _refill(self) -> None:
        """Starts the next spare, which gets ready by itself."""
        with self._lock:
            if not self._keep_spare or self._closed or self._spare is not None:
                return
        client = self._start("cpu")
        if isinstance(client, Failure):
            return
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = client
                return
        self._drop(client)

    def _drop(self, client: WorkerClient) -> None:
        client.kill()
        self.forget(client)

    def _note(self, failure: Failure) -> None:
        if failure.kind in ("crashed", "timed-out"):
            with self._lock:
                self._deaths.append(time.monotonic())

    def _is_storm(self) -> bool:
        full = self._give_up and len(self._deaths) == STORM_CRASHES
        return full and time.monotonic() - self._deaths[0] < STORM_SECONDS

    def _not_started(self, failure: Failure) -> Failure:
        """An interpreter that is too old, or no Python at all, ends before it says hello."""
        if failure.kind != "crashed":
            return failure
        said = failure.traceback.strip().rpartition("\n")[2] or failure.message
        return Failure(
            "crashed", f"No worker starts in {_shown(self.interpreter)}: {said}", traceback=failure.traceback
        )

    def _unfit(self, hello: Hello) -> Failure | None:
        if hello.jax is None:
            version = ".".join(hello.python.split(".")[:2])
            why = f"No JAX in {_shown(self.interpreter)} ({version})."
            return Failure("no-jax", why, traceback=hello.error or "")
        if _version(hello.jax) < OLDEST_JAX:
            return Failure("no-jax", f"JAX {hello.jax} is older than 0.4.30, the oldest supported.")
        return None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _shown(interpreter: str) -> str:
    """`.venv/bin/python` rather than the whole path, where it lies in an environment of the project."""
    parts = interpreter.split(os.sep)
    return os.sep.join(parts[-3:]) if len(parts) > 3 and parts[-3] in (".venv", "venv") else interpreter


def _on_disk(path: str) -> str:
    try:
        return read_source(path)
    except OSError:
        return ""
