"""Running the command line as its users do: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """What came of it."""

    status: int
    out: str
    err: str


def jaxscope(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Done:
    """Runs `jaxscope ARGUMENTS` in `cwd`, with the interpreter of the tests as the user's."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxscope.cli.main", *arguments],
        cwd=cwd,
        env={**os.environ, "VIRTUAL_ENV": "", "PYTHONIOENCODING": "utf-8", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
