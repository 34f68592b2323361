"""Recordings that a project did not make itself: they are data of a stranger's, and are read as such."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxscope.semantics.project import Project
from jaxscope.tracing.recordings import recordings_of
from jaxscope.worker.jaxscope_worker.wire import recording as wire
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Place, Read, TracedFunction

SOURCE = "def look(x):\n    return TABLE @ x\n"


def recording(root: Path, path: Path, helper: Path) -> None:
    """Writes a run in which `look` of `path` reads an array in a function of `helper`."""
    lines = SOURCE.splitlines()
    codes = tuple(wire.Code(str(file), "look", 1, 2, wire.code_hash(lines)) for file in (path, helper))
    read = Read("dot_general", (Place(str(helper), 2, function="look"),))
    constant = Constant(
        "TABLE", "global", "look", (700, 700), "float32", 1_960_000, "copy", "float32", None, None, None, "a", (read,)
    )
    function = TracedFunction(
        "1", str(path), "look", 1, None, (), ("f32[]",), "recorded", "", 1, 1, "", (constant,), 0, 0.1
    )
    started = wire.Started(
        wire.VERSION, 1.0, "run.py", str(root), 1, 0, "3.11", sys.executable, "0.10", None, "inlined"
    )
    event = wire.Recorded(1, function, (), "first call", codes, wire.text_hash(SOURCE), {}, {}, 1.0)
    run = wire.run_folder(str(root))
    wire.make_run(run)
    Path(run, "1.jsonl").write_bytes(wire.encode(started) + wire.encode(event))


@pytest.mark.parametrize("inside", [True, False])
def test_a_recording_has_no_files_read_outside_its_project(
    tmp_path: Path, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    path, helper = root / "model.py", (root if inside else tmp_path) / "helper.py"
    for file in (path, helper):
        file.write_text(SOURCE)
    recording(root, path, helper)
    asked: list[str] = []
    model = Project.model

    def asking(project: Project, file: str) -> object:
        asked.append(file)
        return model(project, file)

    monkeypatch.setattr(Project, "model", asking)
    evidence = recordings_of(str(root)).evidence(str(path), Project(str(root)))
    assert (evidence is not None) is inside
    assert (str(helper) in asked) is inside
