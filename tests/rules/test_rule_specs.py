"""Holds every example in the Markdown files beside this one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from rule_specs import Example, differences, examples, judged, record, recorded, trace

HERE = Path(__file__).parent
EXAMPLES = [example for spec in sorted(HERE.glob("*.md")) for example in examples(spec)]
TRACED = [example for example in EXAMPLES if example.entry is not None]


def _name(example: Example) -> str:
    return f"{example.spec.stem}: {example.title}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.mark.parametrize("example", EXAMPLES, ids=_name)
def test_source_alone(example: Example, folder: Path) -> None:
    example.write(folder)
    problems = differences(example, folder, judged(example, folder), "static")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("example", TRACED, ids=_name)
def test_recorded_trace(example: Example, folder: Path, bless: bool) -> None:
    example.write(folder)
    if bless:
        record(example, folder, trace(example, folder, sys.executable))
    judgement = judged(example, folder, recorded(example, folder))
    problems = differences(example, folder, judgement, "traced")
    assert not problems, "\n".join(problems)


@pytest.mark.jax
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="no JAX in this interpreter")
@pytest.mark.parametrize("example", TRACED, ids=_name)
def test_live_trace(example: Example, folder: Path) -> None:
    example.write(folder)
    reply = trace(example, folder, sys.executable)
    problems = differences(example, folder, judged(example, folder, reply), "traced")
    assert not problems, "\n".join(problems)
