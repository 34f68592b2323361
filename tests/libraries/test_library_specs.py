"""Holds real programs of the libraries on JAX, in the Markdown files beside this one: what the source alone says, what
a trace says, and that what was traced is what JAX itself captures when it lowers the same program."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rule_specs import Example, differences, examples, judged

from jaxscope.config import Config
from jaxscope.semantics.project import Project
from jaxscope.tracing import planning
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, TraceReply, TraceRequest
from jaxscope.workers.pool import Pool

HERE = Path(__file__).parent
LARGE = Config().threshold
SIMULATED = 4
_PATH = re.compile(r"^# constant: (.+)$", re.MULTILINE)
"""The path to a captured array, where the message names what it is part of."""
Captured = set[tuple[tuple[int, ...], str]]


def _runs_here(example: Example) -> bool:
    text = "\n".join(marked.text for marked in example.files.values())
    roots = set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE))
    return example.entry is not None and all(importlib.util.find_spec(root) is not None for root in roots)


EXAMPLES = {
    f"{example.spec.stem}: {example.title}": example for spec in sorted(HERE.glob("*.md")) for example in examples(spec)
}
RUN = {name: example for name, example in EXAMPLES.items() if _runs_here(example)}
ON_DEVICES = {name: example for name, example in RUN.items() if re.search(r"pmap|shard_map", name)}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The programs, each in a folder of its own, under one root."""
    root = tmp_path_factory.mktemp("programs").resolve()
    found = {name: root / f"program{number}" for number, name in enumerate(EXAMPLES)}
    for name, folder in found.items():
        EXAMPLES[name].write(folder)
    return found


def _traces(programs: dict[str, Example], folders: dict[str, Path], devices: int) -> Iterator[tuple[str, TraceReply]]:
    """Traces one program after another in one worker."""
    root = next(iter(folders.values())).parent
    pool = Pool(sys.executable, replace(Config(), simulated_devices=devices), root=str(root), spare=False)
    session = None
    try:
        for name, example in programs.items():
            request = _request(example, folders[name], root)
            if session is None:
                session = pool.open(request)
                assert not isinstance(session, Failure), session
                yield name, session.evidence.reply
            else:
                reply = session.request(request)
                assert isinstance(reply, TraceReply), reply
                yield name, reply
    finally:
        pool.close()


def _request(example: Example, folder: Path, root: Path) -> TraceRequest:
    project = Project(str(root))
    model = project.model(str(folder / "case.py"))
    assert model is not None and example.entry is not None
    return planning.plan(model, project, example.config, (example.entry,))


@pytest.fixture(scope="module")
def traced(folders: dict[str, Path]) -> dict[str, TraceReply]:
    """The traces, by the program's name."""
    return dict(_traces(RUN, folders, 0))


@pytest.fixture(scope="module")
def traced_on_devices(folders: dict[str, Path]) -> dict[str, TraceReply]:
    """The traces of what is about devices, on several."""
    return dict(_traces(ON_DEVICES, folders, SIMULATED))


@pytest.fixture(scope="module")
def captured(folders: dict[str, Path]) -> dict[str, Captured]:
    """What JAX captures in each program, by its name."""
    command = [sys.executable, str(HERE / "lowering.py"), str(LARGE), *(str(folders[name]) for name in RUN)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(command, env=environment, check=True, timeout=600, stdout=subprocess.PIPE, text=True)
    found = json.loads(run.stdout.splitlines()[-1])
    return {name: {(tuple(shape), dtype) for shape, dtype in found[str(folders[name])]} for name in RUN}


def _held(name: str, folders: dict[str, Path], reply: TraceReply, captured: dict[str, Captured]) -> None:
    example, folder = EXAMPLES[name], folders[name]
    assert reply.failure is None, reply.failure
    problems = differences(example, folder, judged(example, folder, reply), "traced")
    constants = [c for f in reply.functions for c in f.constants if c.bytes >= LARGE]
    seen = {(c.shape, c.dtype) for c in constants}
    if seen != captured[name]:
        problems.append(f"JAX captures {captured[name]}, traced were {seen}")
    paths = _PATH.findall("\n".join(marked.text for marked in example.files.values()))
    problems += [f"no constant is called {path}" for path in paths if path not in {c.name for c in constants}]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", EXAMPLES)
def test_source_alone(name: str, folders: dict[str, Path]) -> None:
    example, folder = EXAMPLES[name], folders[name]
    problems = differences(example, folder, judged(example, folder), "static")
    assert not problems, "\n".join(problems)


@pytest.mark.jax
@pytest.mark.parametrize("name", RUN)
def test_trace(
    name: str, folders: dict[str, Path], traced: dict[str, TraceReply], captured: dict[str, Captured]
) -> None:
    _held(name, folders, traced[name], captured)


@pytest.mark.jax
@pytest.mark.parametrize("name", ON_DEVICES)
def test_trace_on_several_devices(
    name: str, folders: dict[str, Path], traced_on_devices: dict[str, TraceReply], captured: dict[str, Captured]
) -> None:
    _held(name, folders, traced_on_devices[name], captured)


def test_each_library_is_run_where_the_tests_are() -> None:
    """Programs that were left out would hide that nothing is tested."""
    named = {name.partition(":")[0] for name in RUN}
    assert named >= {spec.stem for spec in HERE.glob("*.md") if importlib.util.find_spec(spec.stem.partition("_")[0])}
