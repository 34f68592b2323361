"""Random programs: whatever the fix changes must still give the same results, without the constant.

`JAXSCOPE_PROPERTY_EXAMPLES` sets how many programs are written (60); more than that are drawn at random.
"""

from __future__ import annotations

import ast
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from program_maker import Program, programs
from program_runner import Runner, same

from jaxscope.refactor.change import Refusal
from jaxscope.refactor.hoist_argument import plan
from jaxscope.semantics.project import Project

EXAMPLES = int(os.environ.get("JAXSCOPE_PROPERTY_EXAMPLES", "60"))


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.close()


SEEN: list[tuple[Program, str]] = []
"""Programs that were tried, with the reason of a refusal."""


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
        SEEN.append((program, after.reason))
        assert after.reason.endswith(".") and after.line >= 1
        return
    note(after["case"])
    ast.parse(after["case"])
    result = runner.run(after)
    assert "error" not in result, result["error"]
    assert same(before["result"], result["result"])
    assert not result["captured"], "the constant is still there"
    SEEN.append((program, ""))


@pytest.mark.jax
def test_most_programs_are_fixed() -> None:
    """The property above would hold for a fix that always refuses."""
    if not SEEN:
        pytest.skip("the programs were not run")
    refused = [(program.features, reason) for program, reason in SEEN if reason]
    for features, reason in refused:
        print(reason, features)
    assert len(refused) <= len(SEEN) * 0.5
