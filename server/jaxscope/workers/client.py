"""One worker process: starting it, asking it, watching it, and saying why it gave no answer."""

from __future__ import annotations

import collections
import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from jaxscope.tracing.cancellation import Cancellation
from jaxscope.worker.jaxscope_worker.wire import codec
from jaxscope.worker.jaxscope_worker.wire.messages import PROTOCOL, Failure, Hello, Progress
from jaxscope.worker.jaxscope_worker.wire.requests import METHODS, REPLIES
from jaxscope.workers import spawn

State = Literal["starting", "idle", "busy", "dead"]
Log = Callable[[str], None]
OnProgress = Callable[[Progress], None]

TAIL_LINES = 40
_METHOD_OF = {kind: method for method, kind in METHODS.items()}


def ignore_log(line: str) -> None:
    """A log that keeps nothing."""


class WorkerClient:
    """A worker process. `request` blocks and never raises; `kill` may come from any thread."""

    def __init__(
        self,
        interpreter: str,
        env: Mapping[str, str],
        cwd: str,
        *,
        memory_limit: int,
        log: Log = ignore_log,
    ) -> None:
        """Starts the process. Raises OSError when the interpreter cannot be run."""
        self._process = spawn.start(interpreter, env, cwd)
        self._memory_limit, self._log = memory_limit, log
        self._changed = threading.Condition()
        self._hello: Hello | None = None
        self._answers: dict[int, dict[str, Any]] = {}
        self._progress: tuple[int, OnProgress] | None = None
        self._last_sign = time.monotonic()
        self._next_id = 0
        self._busy = False
        self._ended: Failure | None = None
        self._stopped: Failure | None = None
        self._tail: collections.deque[str] = collections.deque(maxlen=TAIL_LINES)
        self._errors = threading.Thread(target=self._pump_errors, name="jaxscope worker stderr", daemon=True)
        self._errors.start()
        threading.Thread(target=self._read, name="jaxscope worker answers", daemon=True).start()

    # ------------------------------------------------------------ what callers use

    @property
    def pid(self) -> int:
        """Process id; also the id of its process group."""
        return self._process.pid

    @property
    def state(self) -> State:
        """Where the worker is in its life."""
        with self._changed:
            if self._ended is not None or self._stopped is not None:
                return "dead"
            return "starting" if self._hello is None else "busy" if self._busy else "idle"

    def wait_hello(self, deadline: float, cancellation: Cancellation | None = None) -> Hello | Failure:
        """What the worker says of itself, within `deadline` seconds from now."""
        result = self._wait(lambda: self._hello, deadline, cancellation)
        if isinstance(result, Hello) and result.protocol != PROTOCOL:
            self.kill()
            return Failure("crashed", f"The worker speaks protocol {result.protocol}, not {PROTOCOL}")
        return result  # type: ignore[no-any-return]

    def request(
        self,
        message: Any,
        on_progress: OnProgress | None = None,
        *,
        deadline: float,
        renew: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Any | Failure:
        """The reply to `message`, or why there is none. A worker that fails to answer in time is killed.

        `deadline` is in seconds; with `renew` it starts again at each sign of progress.
        """
        kind = type(message)
        with self._changed:
            if failure := self._stopped or self._ended:
                return failure
            self._next_id, self._busy, self._last_sign = self._next_id + 1, True, time.monotonic()
            number = self._next_id
            self._progress = (number, on_progress) if on_progress else None
        try:
            frame = {"id": number, "method": _METHOD_OF[kind], "params": codec.to_json(message)}
            # A worker that has just ended shows as a broken pipe here; the wait below says why it ended.
            with contextlib.suppress(OSError, ValueError):
                codec.write_frame(self._process.stdin, frame)  # type: ignore[arg-type]
            answer = self._wait(lambda: self._answers.pop(number, None), deadline, cancellation, renew)
        finally:
            with self._changed:
                self._busy, self._progress = False, None
        return answer if isinstance(answer, Failure) else self._decode(kind, answer)

    def kill(self) -> None:
        """Ends the process and all that it started, at once."""
        self._stop(Failure("cancelled", "Cancelled"))

    # ------------------------------------------------------------ waiting

    def _wait(
        self,
        ready: Callable[[], Any],
        seconds: float,
        cancellation: Cancellation | None,
        renew: bool = False,
    ) -> Any:
        """What `ready` gives, or the Failure that came first."""
        with contextlib.ExitStack() as stack:
            if cancellation:
                stack.enter_context(cancellation.calling(self.kill))
            begun = time.monotonic()
            while True:
                with self._changed:
                    if (result := ready()) is not None:
                        return result
                    if failure := self._stopped or self._ended:
                        return failure
                    self._changed.wait(spawn.MEMORY_POLL_SECONDS)
                    since = max(begun, self._last_sign) if renew else begun
                if time.monotonic() - since > seconds:
                    self._stop(self._timed_out(seconds))
                elif (used := spawn.memory_in_use(self.pid)) is not None and used > self._memory_limit:
                    limit = f"{self._memory_limit / (1 << 30):.1f} GiB"
                    self._stop(Failure("crashed", f"The worker was stopped at {limit} (jaxscope.trace.memoryLimit)"))

    def _timed_out(self, seconds: float) -> Failure:
        return Failure("timed-out", f"The worker was stopped after {seconds:g} s (jaxscope.trace.timeout)")

    def _stop(self, why: Failure) -> None:
        """Kills the process for a reason of ours, unless it has ended for one of its own."""
        with self._changed:
            if self._stopped is None and self._ended is None:
                self._stopped = Failure(why.kind, why.message, traceback="\n".join(self._tail))
            self._changed.notify_all()
        spawn.kill(self._process)

    # ------------------------------------------------------------ reading

    def _read(self) -> None:
        problem = ""
        try:
            while (frame := codec.read_frame(self._process.stdout)) is not None:  # type: ignore[arg-type]
                self._take(frame)
        except (codec.ProtocolError, OSError, ValueError) as error:
            problem = f"The worker sent something that is no answer: {error}"
            spawn.kill(self._process)
        self._finish(problem)

    def _take(self, frame: dict[str, Any]) -> None:
        on_progress = None
        with self._changed:
            if frame.get("progress", {}).get("stage") != "alarm":
                self._last_sign = time.monotonic()
            if "hello" in frame:
                self._hello = codec.from_json(Hello, frame["hello"])
            elif "progress" in frame:
                progress = codec.from_json(Progress, frame["progress"])
                if self._progress and self._progress[0] == progress.id:
                    on_progress = self._progress[1]
            elif isinstance(frame.get("id"), int):
                self._answers[frame["id"]] = frame
            self._changed.notify_all()
        if on_progress:
            try:
                on_progress(progress)
            except Exception as error:  # a listener's mistake must not stop the reading of answers
                self._log(f"progress was not taken: {error!r}")

    def _finish(self, problem: str) -> None:
        """The worker closed its channel: find out why, and leave nothing of it running."""
        try:
            status = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            spawn.kill(self._process)
            status = self._process.wait()
        spawn.sweep(self._process)
        self._errors.join(timeout=0.5)
        if problem:
            message = problem
        elif status < 0:
            message = f"The worker crashed (signal {-status})"
        else:
            message = f"The worker ended with exit status {status}"
        with self._changed:
            self._ended = Failure("crashed", message, traceback="\n".join(self._tail))
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        self._process.stdout.close()  # type: ignore[union-attr]

    def _pump_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(ValueError, OSError), stream:
            for raw in stream:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                self._tail.append(line)
                self._log(line)

    def _decode(self, kind: type, answer: dict[str, Any]) -> Any | Failure:
        try:
            if "failure" in answer:
                return codec.from_json(Failure, answer["failure"])
            return codec.from_json(REPLIES[kind], answer.get("result"))
        except codec.ProtocolError as error:
            failure = Failure("crashed", f"The worker sent something that is no answer: {error}")
            self._stop(failure)
            return failure
