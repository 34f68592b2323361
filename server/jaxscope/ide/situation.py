"""What the features must know beyond texts and traces: what is allowed, what is running, what stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from jaxscope.ide.panel_model import Status, Timings
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, Hello

Permission = Literal["allowed", "restricted", "consent", "off"]
_StatusState = Literal["starting", "ready", "busy", "restricted", "no-jax", "stopped", "off", "consent"]
_POLICIES = {
    "onSave": "traces on save",
    "onType": "traces as you type",
    "manual": "traces when asked",
    "off": "never traces",
}
# What holds whatever the setting says.
_NOT_YET = {"restricted": "never traces", "off": "never traces", "consent": "asks before it traces"}


@dataclass(frozen=True, slots=True)
class Activity:
    """Work that a worker is doing on a file."""

    path: str
    function: str
    """Empty: on all functions of the file."""
    stage: str
    """`importing`, `tracing`, `lowering`, `compiling`, `running`, `verifying`."""
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of affairs in which a feature answers."""

    permission: Permission = "restricted"
    when: str = "onSave"
    """Trace policy: `onSave`, `onType`, `manual` or `off`."""
    interpreter: str = ""
    hello: Hello | None = None
    activity: Activity | None = None
    no_jax: Failure | None = None
    """Why the interpreter cannot be used."""
    stopped: Failure | None = None
    """Why the last piece of work on this file ended without a reply, when the worker died of it."""
    timings: Mapping[tuple[str, str], Timings] = field(default_factory=dict)
    """Last timings of this file's functions, by qualified name and signature's name."""

    @property
    def jax_problem(self) -> str | None:
        """Why the interpreter's JAX cannot be used, as a sentence; None while it can or is not known."""
        return self.no_jax.message if self.no_jax else None


def short_interpreter(path: str) -> str:
    """The last three parts of an interpreter's path, `.venv/bin/python`."""
    parts = path.replace(os.sep, "/").split("/")
    return "/".join(parts[-3:]) if len(parts) > 3 else path


def status(situation: Situation) -> Status:
    """What the status bar says."""
    hello, problem = situation.hello, situation.jax_problem
    interpreter = short_interpreter(situation.interpreter)
    state, text, detail = _state(situation, interpreter)
    if problem and state not in ("restricted", "off", "consent"):
        state, text, detail = "no-jax", problem.rstrip("."), situation.no_jax.traceback if situation.no_jax else ""
    return Status(
        state=state,
        text=text,
        interpreter=situation.interpreter,
        python=hello.python if hello else "",
        jax=hello.jax if hello else None,
        policy=_NOT_YET.get(situation.permission) or _POLICIES.get(situation.when, situation.when),
        detail=detail,
    )


def _state(situation: Situation, interpreter: str) -> tuple[_StatusState, str, str]:
    if situation.permission == "restricted":
        return "restricted", "off (restricted)", "Your code is not run until this folder is trusted."
    if situation.permission == "off":
        return "off", "off", "Your code is not run."
    if situation.permission == "consent":
        return "consent", "may it run your code?", ""
    if situation.activity and situation.activity.seconds >= 1:
        return "busy", f"{situation.activity.stage} {situation.activity.seconds:.0f} s", situation.activity.detail
    if situation.stopped:
        return "stopped", "stopped", situation.stopped.message
    if situation.hello is None:
        return "starting", "starting", interpreter
    # Traces run on the CPU whatever devices there are.
    return "ready", f"JAX {situation.hello.jax} · cpu · ready", interpreter
