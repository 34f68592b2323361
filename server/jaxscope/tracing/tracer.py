"""What the engine asks of whoever runs the user's code; `workers.pool` answers with processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from jaxscope.tracing.cancellation import Cancellation
from jaxscope.tracing.evidence import Evidence
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Failure,
    Hello,
    Progress,
    TraceRequest,
    VerifyReply,
    VerifyRequest,
)

OnProgress = Callable[[Progress], None]
Platform = Literal["cpu", "device"]


class TracerSession(Protocol):
    """A process that has imported one version of one file and keeps what it traced."""

    @property
    def evidence(self) -> Evidence:
        """What importing and tracing showed."""

    def request(
        self, message: Any, on_progress: OnProgress | None = None, cancellation: Cancellation | None = None
    ) -> Any | Failure:
        """Answer to a lower, time or fetch request about what was traced. Blocks; never raises."""

    def text(self, handle: str) -> str | Failure:
        """The whole text behind a handle, `TracedFunction.jaxpr` for one."""

    def cancel(self) -> None:
        """Ends the process and with it what it is working on, from any thread."""

    def close(self) -> None:
        """Ends the process. More than once is fine."""


class Tracer(Protocol):
    """Runs files in processes of the user's interpreter. All calls block, never raise, and may come from any thread."""

    def hello(self) -> Hello | Failure:
        """What the interpreter has: its Python and its JAX."""

    def open(
        self,
        request: TraceRequest,
        platform: Platform = "cpu",
        on_progress: OnProgress | None = None,
        cancellation: Cancellation | None = None,
    ) -> TracerSession | Failure:
        """Traces in a fresh process and keeps that process. `device` lets JAX have the user's accelerator."""

    def verify(
        self,
        request: VerifyRequest,
        on_progress: OnProgress | None = None,
        cancellation: Cancellation | None = None,
    ) -> VerifyReply | Failure:
        """Runs before and after in a fresh process and compares."""

    def close(self) -> None:
        """Ends every process."""
