"""A compilation that never ends costs its own figures, not those of the other form."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope.ide.timings import timings
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, TracedFunction, TraceRequest
from jaxscope.worker.jaxscope_worker.wire.timing import TimeReply
from jaxscope.workers.measuring import measure
from jaxscope.workers.pool import Pool, Session

MakePool = Callable[..., Pool]
RequestFor = Callable[..., TraceRequest]

ENDLESS = """
import jax
import jax.numpy as jnp
import numpy as np

W = np.random.default_rng(0).random(1_000_000, np.float32)

@jax.jit
def folds(x):
    return x * jnp.sort(W)[0]

def main():
    folds.trace(1.0)
"""


def opening(pool: Pool, request: TraceRequest) -> Callable[[], tuple[Session, TracedFunction] | Failure]:
    def opened() -> tuple[Session, TracedFunction] | Failure:
        session = pool.open(request)
        return session if isinstance(session, Failure) else (session, session.evidence.reply.functions[0])

    return opened


def test_the_hoisted_form_is_measured_when_the_captured_one_never_compiles(
    make_pool: MakePool, request_for: RequestFor
) -> None:
    pool = make_pool(timeout=12)
    reply = measure(opening(pool, request_for(ENDLESS, entries=("main",))), ("captured", "hoisted"), None, None)
    assert isinstance(reply, TimeReply), reply
    captured, hoisted = reply.forms
    assert captured.stopped == "stopped after 12 s (jaxscope.trace.timeout)"
    assert {each.stage for each in captured.samples} <= {"trace", "lower"}
    assert captured.module_bytes is not None and captured.module_bytes > 4_000_000
    assert captured.alarms and all("Folding sort of a constant" in alarm for alarm in captured.alarms)
    assert all(alarm.endswith("(case.py:10).") for alarm in captured.alarms)
    assert hoisted.stopped == "" and hoisted.alarms == ()
    assert {"compile", "run"} <= {each.stage for each in hoisted.samples}
    shown = {row.label: row for row in timings(reply).comparison}
    assert shown["compile"].verdict == "captured: stopped after 12 s (jaxscope.trace.timeout)"
    assert (shown["compile"].captured, shown["run"].captured, shown["run"].verdict) == (None, None, "")


def test_one_form_alone_says_what_xla_said(make_pool: MakePool, request_for: RequestFor) -> None:
    pool = make_pool(timeout=8)
    reply = measure(opening(pool, request_for(ENDLESS, entries=("main",))), ("captured",), None, None)
    assert isinstance(reply, Failure) and reply.kind == "timed-out"
    assert "while compiling. XLA: Folding sort of a constant" in reply.message


def test_a_file_that_does_not_run_is_not_tried_again(make_pool: MakePool, request_for: RequestFor) -> None:
    tries = []
    pool, request = make_pool(), request_for("import os\nos._exit(3)\n")

    def opened() -> Failure:
        tries.append(pool.open(request))
        assert isinstance(tries[-1], Failure)
        return tries[-1]

    assert measure(opened, ("captured", "hoisted"), None, None) is tries[0]
    assert len(tries) == 1
