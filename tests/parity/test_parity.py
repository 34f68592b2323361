"""The worker's constants are those that JAX writes into the lowered program, of every program in `programs/`.

One process runs them all, at three thresholds; another runs them with JAX's simplified constants, where it has them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
THRESHOLDS = (33, 1 << 10, 1 << 20)

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs jax")


@cache
def outcomes(simplified: bool = False) -> dict[tuple[str, int], dict[str, Any]]:
    """What `compare.py` says of each program and threshold."""
    environment = {**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(simplified))}
    thresholds = THRESHOLDS[:1] if simplified else THRESHOLDS
    command = [sys.executable, str(HERE / "compare.py"), "--min-bytes", ",".join(map(str, thresholds))]
    done = subprocess.run([*command, str(HERE / "programs")], env=environment, capture_output=True, text=True)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert told, done.stderr
    return {(one["program"], one["min_bytes"]): one for one in told}


@pytest.mark.parametrize("min_bytes", THRESHOLDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_worker_finds_what_jax_captures(program: str, min_bytes: int) -> None:
    _agree(outcomes()[program, min_bytes])


def test_the_programs_capture_something() -> None:
    told = outcomes()
    assert sum(one["constants"] for (_, min_bytes), one in told.items() if min_bytes == THRESHOLDS[0]) > 150
    assert any(one["constants"] for (_, min_bytes), one in told.items() if min_bytes == THRESHOLDS[-1])


@pytest.mark.parametrize("program", PROGRAMS)
def test_simplified_constants_are_found_as_well(program: str) -> None:
    import jax

    if not hasattr(jax.config, "jax_use_simplified_jaxpr_constants"):
        pytest.skip("this JAX has one way to hold constants")
    _agree(outcomes(simplified=True)[program, THRESHOLDS[0]])


def _agree(outcome: dict[str, Any]) -> None:
    assert not outcome["failure"]
    assert (outcome["missing"], outcome["extra"]) == ([], [])
