"""What captured arrays come to together: all those of one program, against the total from which JAX itself warns."""

from __future__ import annotations

from collections.abc import Iterable

from jaxscope.text.figures import format_bytes
from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction, TraceReply

FLAG = "jax_captured_constants_warn_bytes"


def passing(traced: Iterable[TracedFunction], reply: TraceReply | None) -> str:
    """Says that the constants of a function's largest program pass JAX's own limit; empty when they do not.

    JAX counts those of nested jits apart; they are in the same module, so they are counted in here.
    """
    largest = max(traced, key=lambda one: one.constant_bytes, default=None)
    limit = reply.warn_bytes if reply is not None else None
    if largest is None or limit is None or not limit <= largest.constant_bytes:
        return ""
    total = format_bytes(largest.constant_bytes)
    return f"all constants of `{largest.function}` together, {total}, pass `{FLAG}` ({format_bytes(limit)})"
