"""Workspaces as they are after a trace, made from what was recorded of a real one."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from recording import PROGRAMS, RECORDED

from jaxscope.config import Config
from jaxscope.ide.panel_model import Timings
from jaxscope.ide.situation import Situation
from jaxscope.ide.timings import timings
from jaxscope.ide.workspace import Workspace
from jaxscope.tracing.evidence import Evidence, text_hash
from jaxscope.worker.jaxscope_worker.wire.codec import from_json
from jaxscope.worker.jaxscope_worker.wire.messages import Hello, LowerReply, TraceReply
from jaxscope.worker.jaxscope_worker.wire.timing import TimeReply

ROOT = "/project"
TRACED_AT = time.mktime((2026, 1, 2, 14, 2, 11, 0, 0, -1))


@dataclass
class Replay:
    """A file, its workspace and what was recorded of it."""

    path: str
    text: str
    workspace: Workspace
    recorded: dict[str, Any]
    hello: Hello | None = None

    def situation(self, permission: Any = "allowed", **more: Any) -> Situation:
        """A situation in which this program was traced."""
        return Situation(permission, interpreter=f"{ROOT}/.venv/bin/python", hello=self.hello, **more)

    @property
    def timed(self) -> Timings:
        """What was measured of its first function."""
        return timings(from_json(TimeReply, self.recorded["timed"]))

    @property
    def lowered(self) -> LowerReply:
        """How its first function was lowered."""
        reply = from_json(LowerReply, self.recorded["lowered"])
        assert isinstance(reply, LowerReply)
        return reply


def untraced(name: str) -> Replay:
    """A program of which only the source is known."""
    path, text = f"{ROOT}/{name}.py", (PROGRAMS / f"{name}.py").read_text()
    workspace = Workspace(ROOT, Config())
    workspace.set_text(path, text)
    return Replay(path, text, workspace, {})


def traced(name: str) -> Replay:
    """A program as it is known after its trace."""
    replay = untraced(name)
    replay.recorded = json.loads((RECORDED / f"{name}.json").read_text().replace("$ROOT", ROOT))
    replay.hello = from_json(Hello, replay.recorded["hello"])
    assert replay.hello is not None
    reply = from_json(TraceReply, replay.recorded["reply"])
    evidence = Evidence(replay.path, text_hash(replay.text), replay.hello, reply, TRACED_AT)
    replay.workspace.set_evidence(replay.path, evidence, jaxprs=replay.recorded["jaxprs"])
    return replay
