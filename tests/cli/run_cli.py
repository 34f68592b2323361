"""Running the command line as its users do: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CLEAN = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x):\n    return x + jnp.ones(3)\n"
CAPTURE = """import jax
import jax.numpy as jnp

W = jnp.arange(512.0 * 1024).reshape(512, 1024)


@jax.jit
def f(x):
    return x @ W


def main():
    print("said by the user")
    return f(jnp.ones((2, 512)))
"""
UNGUESSABLE = """

@jax.jit
def stuck(x):
    if x.ndim != 7:
        raise ValueError("only rank 7")
    return x.reshape(-1, 512) @ W
"""


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


def findings(text: str) -> list[tuple[str, str, int]]:
    return [(f["rule"], f["name"], f["range"]["start"]["line"]) for f in json.loads(text)["findings"]]
