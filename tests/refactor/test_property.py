"""Random programs: whatever the fix changes must still give the same results, without the constant.

`JAXSCOPE_PROPERTY_EXAMPLES` sets how many programs are written (60); more than that are drawn at random.
"""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from program_maker import Program, programs

from jaxscope.refactor.change import Refusal
from jaxscope.refactor.hoist_argument import plan
from jaxscope.semantics.project import Project

EXAMPLES = int(os.environ.get("JAXSCOPE_PROPERTY_EXAMPLES", "60"))
RUNNER = Path(__file__).parent.parent / "support" / "run_programs.py"


class Runner:
    """A process that runs programs."""

    def __init__(self) -> None:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        self.process = subprocess.Popen(
            [sys.executable, str(RUNNER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.seen: list[tuple[Program, str]] = []

    def run(self, files: dict[str, str]) -> dict[str, object]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(files) + "\n")
        self.process.stdin.flush()
        answer: dict[str, object] = json.loads(self.process.stdout.readline())
        return answer


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    assert started.process.stdin
    started.process.stdin.close()
    started.process.wait(timeout=30)


def fixed(program: Program) -> dict[str, str] | Refusal:
    """The program's texts after the fix."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder)
        for name, text in program.files.items():
            (Path(folder) / f"{name}.py").write_text(text, encoding="utf-8", newline="")
        change = plan(project, f"{folder}/case.py", program.function, program.name, program.line)
        if isinstance(change, Refusal):
            return change
        after = dict(program.files)
        for file in change.files:
            after[Path(file.path).stem] = file.changed
        return after


def same(a: object, b: object) -> bool:
    """Equal, numbers up to the last digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4)
    return a == b


@pytest.mark.jax
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 60,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(program=programs())
def test_fixed_programs_give_the_same_results(runner: Runner, program: Program) -> None:
    note(program.files["case"])
    before = runner.run(program.files)
    assert "error" not in before, f"the program itself fails:\n{before['error']}"
    assert before["captured"], "the program captures nothing"
    after = fixed(program)
    if isinstance(after, Refusal):
        runner.seen.append((program, after.reason))
        assert after.reason.endswith(".") and after.line >= 1
        return
    note(after["case"])
    ast.parse(after["case"])
    result = runner.run(after)
    assert "error" not in result, result["error"]
    assert same(before["result"], result["result"])
    assert not result["captured"], "the constant is still there"
    runner.seen.append((program, ""))


@pytest.mark.jax
def test_most_programs_are_fixed(runner: Runner) -> None:
    """The property above would hold for a fix that always refuses."""
    if not runner.seen:
        pytest.skip("the programs were not run")
    refused = [(program.features, reason) for program, reason in runner.seen if reason]
    for features, reason in refused:
        print(reason, features)
    assert len(refused) <= len(runner.seen) * 0.5
