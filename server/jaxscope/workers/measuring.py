"""Timing a function in a worker of its own, also where its captured form never ends compiling.

A compilation cannot be interrupted, so such a worker is killed; what it had told until then is kept, and the hoisted
form is measured alone in a fresh one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from jaxscope.tracing.cancellation import Cancellation
from jaxscope.worker.jaxscope_worker.wire.constants import ConstantsReply, ConstantsRequest
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, Progress, TracedFunction
from jaxscope.worker.jaxscope_worker.wire.timing import FormCost, Samples, TimeReply, TimeRequest
from jaxscope.workers.client import OnProgress
from jaxscope.workers.pool import Session

Form = Literal["captured", "hoisted"]
Open = Callable[[], tuple[Session, TracedFunction] | Failure]
"""Runs the file in a fresh worker on the device and finds the function there."""
_SAMPLE = re.compile(r"(captured|hoisted) (\d\S*)")
_STAGES: dict[str, Literal["trace", "lower", "compile", "run"]] = {
    "tracing": "trace",
    "lowering": "lower",
    "compiling": "compile",
    "running": "run",
}


@dataclass
class _Heard:
    """What workers told while they measured."""

    pass_on: OnProgress | None
    compiling: str = ""
    """The form that is being compiled for the first time."""
    alarms: list[str] = field(default_factory=list)
    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Seconds by form and stage."""

    def __call__(self, progress: Progress) -> None:
        sample = _SAMPLE.fullmatch(progress.detail)
        if progress.stage == "alarm":
            self.alarms.append(progress.detail)
        else:
            self.compiling = progress.detail if progress.stage == "compiling" and sample is None else ""
        if sample and progress.stage in _STAGES:
            self.samples.setdefault(sample[1], {}).setdefault(progress.stage, []).append(float(sample[2]))
        if self.pass_on:
            self.pass_on(progress)

    def cost(self, form: Form, module_bytes: int | None, stopped: Failure) -> FormCost:
        """What is known of a form whose worker was stopped."""
        samples = [Samples(_STAGES[stage], tuple(seconds)) for stage, seconds in self.samples.get(form, {}).items()]
        return FormCost(
            form=form,
            samples=tuple(samples),
            module_bytes=module_bytes,
            host_peak_bytes=None,
            generated_code_bytes=None,
            argument_bytes=None,
            output_bytes=None,
            temp_bytes=None,
            constant_bytes=None,
            flops=None,
            bytes_accessed=None,
            alarms=tuple(dict.fromkeys(self.alarms)) if form == "captured" else (),
            stopped=re.sub("^The worker (was )?", "", stopped.message),
        )


def measure(
    opened: Open, forms: tuple[Form, ...], on_progress: OnProgress | None, cancellation: Cancellation | None
) -> TimeReply | Failure:
    """Times the forms of one function."""
    heard = _Heard(on_progress)
    reply = _ask(opened, lambda session, traced: session.request(TimeRequest(traced.id, forms), heard, cancellation))
    if not isinstance(reply, Failure) or reply.kind not in ("timed-out", "crashed") or not heard.compiling:
        return reply
    if heard.compiling == "captured" and "hoisted" in forms:
        return _ask(opened, lambda session, traced: _other(session, traced, reply, heard, cancellation))
    alarms = " ".join(dict.fromkeys(heard.alarms))
    return replace(reply, message=f"{reply.message} while compiling. XLA: {alarms}") if alarms else reply


def _ask(opened: Open, question: Callable[[Session, TracedFunction], TimeReply | Failure]) -> TimeReply | Failure:
    held = opened()
    if isinstance(held, Failure):
        return held
    try:
        return question(*held)
    finally:
        held[0].close()


def _other(
    session: Session, traced: TracedFunction, stopped: Failure, heard: _Heard, cancellation: Cancellation | None
) -> TimeReply | Failure:
    """The hoisted form, with what is known of the captured one."""
    lowered: ConstantsReply | Failure = session.request(ConstantsRequest(traced.id), None, cancellation)
    reply: TimeReply | Failure = session.request(TimeRequest(traced.id, ("hoisted",)), heard, cancellation)
    if isinstance(lowered, Failure) or isinstance(reply, Failure):
        return stopped
    captured = heard.cost("captured", lowered.captured.module_bytes, stopped)
    return replace(reply, forms=(captured, *reply.forms))
