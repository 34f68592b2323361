"""What one run of a file showed, with the text it is true of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Hello, TracedFunction, TraceReply
from jaxscope.worker.jaxscope_worker.wire.recording import text_hash as text_hash


def distinct_bytes(constants: Iterable[Constant]) -> int:
    """Bytes that captured arrays take together; one that is captured under several names counts once."""
    return sum({item.key or -index: item.bytes for index, item in enumerate(constants, 1)}.values())


def is_recorded(item: TracedFunction) -> bool:
    """Is it from a recorded run? Those keep no program."""
    return not item.jaxpr


@dataclass(frozen=True, slots=True)
class Evidence:
    """A trace reply and what it belongs to."""

    path: str
    text_hash: str
    """`text_hash` of the text that ran."""
    hello: Hello
    """The worker that ran it."""
    reply: TraceReply
    traced_at: float
    """Seconds since the epoch."""
