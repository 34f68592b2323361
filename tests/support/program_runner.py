"""The process that runs programs for tests of source changes, and how their results are compared."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent / "run_programs.py"


class Runner:
    """A process with JAX that runs one program after another."""

    def __init__(self, **environment: str) -> None:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, files: dict[str, str]) -> dict[str, Any]:
        """`result` and `captured`, or `error`. `files`: texts by module name; `case` is run."""
        return self._ask({"files": files})

    def compare(self, before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
        """Of both programs, traced: `captured`, a pair, and their `difference` or None; or `error`."""
        return self._ask({"before": before, "after": after})

    def _ask(self, request: dict[str, dict[str, str]]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=30)


def same(a: object, b: object) -> bool:
    """Equal, numbers up to the last digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4)
    return a == b
