"""Runs programs as `jaxscope record` does, with nothing but the startup folder and the wire."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from jaxscope_worker.wire import recording as wire

from support import BUNDLE, write

STARTUP = str(BUNDLE / "jaxscope_worker" / "startup")
Kind = TypeVar("Kind")


def environment(project: Path, recorded: bool, **more: str) -> dict[str, str]:
    """Of a program that is recorded, or not; apart from that the same."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **more}
    env.pop(wire.RUN_VARIABLE, None)
    if recorded:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (STARTUP, env.get("PYTHONPATH"))))
        env[wire.RUN_VARIABLE] = str(project / wire.FOLDER / "run")
    return env


def run(project: Path, *arguments: str, recorded: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs `python ARGUMENTS` in a project."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment(project, recorded, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@dataclass
class Recording:
    """What a project's recording says."""

    parts: list[list[Any]]
    raw: bytes

    def all(self, kind: type[Kind]) -> list[Kind]:
        """Events of one kind, of all processes."""
        return [event for part in self.parts for event in part if isinstance(event, kind)]

    def functions(self) -> list[str]:
        """Qualified names of the recorded functions, one a signature, in order."""
        return [event.function.function for event in self.all(wire.Recorded)]

    def causes(self, function: str) -> list[str]:
        """Why each signature of a function was traced."""
        return [event.cause for event in self.all(wire.Recorded) if event.function.function == function]


def recording(project: Path) -> Recording:
    """Reads it; every line must be whole, and no fault of ours may be in it."""
    files = sorted((project / wire.FOLDER).glob("*/*.jsonl"))
    raw = [file.read_bytes() for file in files]
    parts = [[wire.decode(line) for line in text.splitlines()] for text in raw]
    assert None not in [event for part in parts for event in part]
    found = Recording(parts, b"".join(raw))
    assert not found.all(wire.Fault), found.all(wire.Fault)
    return found


def recorded(folder: Path, program: str, *arguments: str, status: int = 0, **more: str) -> Recording:
    """Writes a program, runs it recorded, and reads what was."""
    project = write(folder, {"program.py": program})
    done = run(project, "program.py", *arguments, **more)
    assert done.returncode == status, done.stderr
    return recording(project)
