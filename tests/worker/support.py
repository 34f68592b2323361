"""Runs real workers on real programs, with nothing but the standard library and the wire codec."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

BUNDLE = Path(__file__).resolve().parents[2] / "server" / "jaxscope" / "worker"
sys.path.append(str(BUNDLE))

from jaxscope_worker.wire import codec  # noqa: E402
from jaxscope_worker.wire.messages import (  # noqa: E402
    Constant,
    Failure,
    Hello,
    ShutdownRequest,
    TracedFunction,
    TraceReply,
    TraceRequest,
)
from jaxscope_worker.wire.requests import METHODS, REPLIES  # noqa: E402

MAIN = BUNDLE / "jaxscope_worker" / "__main__.py"
_METHOD_OF = {kind: method for method, kind in METHODS.items()}


class Worker:
    """A worker process, driven as the server drives it."""

    def __init__(self, folder: Path, env: dict[str, str] | None = None) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        environment.update({"JAX_PLATFORMS": "cpu", **(env or {})})
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", str(MAIN)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment,
        )  # fmt: skip
        self._stderr: list[bytes] = []
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        self.progress: list[dict[str, Any]] = []
        self._number = 0
        message = self.read()
        assert message is not None, self.stderr
        self.hello: Hello = codec.from_json(Hello, message["hello"])

    def _drain(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read1(65536):
            self._stderr.append(chunk)

    @property
    def stderr(self) -> str:
        """What it wrote to its log so far."""
        return b"".join(self._stderr).decode(errors="replace")

    def read(self) -> dict[str, Any] | None:
        """The next frame; None when the worker has ended."""
        assert self.process.stdout is not None
        return codec.read_frame(self.process.stdout)

    def send(self, request: Any) -> int:
        """Sends a request and does not wait."""
        assert self.process.stdin is not None
        self._number += 1
        message = {"id": self._number, "method": _METHOD_OF[type(request)], "params": codec.to_json(request)}
        codec.write_frame(self.process.stdin, message)
        return self._number

    def request(self, request: Any) -> Any:
        """The reply; a Failure when the worker answers with one; None when it died."""
        number = self.send(request)
        while (message := self.read()) is not None:
            if "progress" in message:
                self.progress.append(message["progress"])
                continue
            assert message["id"] == number
            if "failure" in message:
                return codec.from_json(Failure, message["failure"])
            return codec.from_json(REPLIES[type(request)], message["result"])
        self.process.wait(30)
        self._reader.join(30)
        return None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()

    def shutdown(self) -> int:
        """Asks it to end; its exit status."""
        self.request(ShutdownRequest())
        return self.process.wait(30)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes a project; returns its folder as the worker will spell it."""
    folder = Path(os.path.realpath(folder)) / "project"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


def request(folder: Path, module: str = "program", **fields: Any) -> TraceRequest:
    """A trace request for a module of a project."""
    path = folder.joinpath(*module.split(".")).with_suffix(".py")
    return TraceRequest(path=str(path), root=str(folder), module=module, **fields)


def trace(folder: Path, files: dict[str, str], **fields: Any) -> TraceReply:
    """Writes a project and traces its `program.py` in a fresh worker."""
    project = write(folder, files)
    with Worker(project) as worker:
        reply = worker.request(request(project, **fields))
    assert isinstance(reply, TraceReply), (reply, worker.stderr)
    return reply


def one(reply: TraceReply, function: str) -> TracedFunction:
    """The only traced function of that name."""
    found = [f for f in reply.functions if f.function == function]
    assert len(found) == 1, (function, [f.function for f in reply.functions], reply.failure)
    return found[0]


def constant(reply: TraceReply, function: str) -> Constant:
    """The only constant of the only function of that name."""
    constants = one(reply, function).constants
    assert len(constants) == 1, constants
    return constants[0]


def line_of(text: str, marker: str) -> int:
    """Number of the only line of a program that holds `marker`."""
    lines = [i for i, line in enumerate(textwrap.dedent(text).splitlines(), 1) if marker in line]
    assert len(lines) == 1, (marker, lines)
    return lines[0]
