"""What the server makes of recorded runs: real programs, run by `jaxscope record` while their files are open."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editor import PATIENCE, Editor, Start, capabilities

pytestmark = [pytest.mark.asyncio, pytest.mark.jax]

TRAINER = """\
import sys

import jax
import jax.numpy as jnp


def fit(steps):
    table = jnp.ones((700, 700), jnp.float32)

    @jax.jit
    def step(x):
        return table @ x

    x = jnp.ones(700)
    for _ in range(steps):
        x = step(x)
    return x


if __name__ == "__main__":
    fit(3)
    print("fitted", flush=True)
    sys.stdin.readline()
"""
MODEL = """\
import jax
import jax.numpy as jnp


@jax.jit
def score(x):
    return jnp.sum(x * x)
"""
RUN = """\
import sys
from model import score
import jax.numpy as jnp
score(jnp.ones(4))
print("fitted", flush=True)
for line in sys.stdin:
    print(line)
"""
ALLOWED = {"trusted": True, "trace": {"when": "onSave"}, "commands": True}
READ = types.Range(types.Position(11, 15), types.Position(11, 20))
RECORDED = "`table` (float32[700,700], 1.9 MiB) is compiled into `fit.<locals>.step` as a constant"
FACTS = "f32[700] → f32[700] · 1 constant 1.9 MiB"
WATCHING = capabilities()
assert WATCHING.workspace
WATCHING.workspace.did_change_watched_files = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)


async def record(folder: Path, *program: str) -> Process:
    """Starts a recorded program and waits until it has traced; it ends when its input does."""
    command = [sys.executable, "-m", "jaxscope.cli.main", "record", "--python", sys.executable, *program]
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert process.stdout
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE) == b"fitted\n"
    return process


async def end(process: Process) -> None:
    _, said = await asyncio.wait_for(process.communicate(b"\n"), PATIENCE)
    assert process.returncode == 0, said


def tell(editor: Editor) -> None:
    """What a client that watches files says of the newest part of a recording."""
    (part,) = editor.folder.glob(".jaxscope/recordings/*/*.jsonl")
    change = types.FileEvent(part.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))


def titles(found: list[types.CodeLens]) -> list[str]:
    return [lens.command.title for lens in found if lens.command]


def seen(found: list[types.Diagnostic]) -> bool:
    return [item.message for item in found] == [RECORDED]


async def known(editor: Editor, uri: str) -> None:
    """Waits until the server has taken what was recorded of `score`; it may have been told more than once by then."""
    for _ in range(int(PATIENCE / 0.1)):
        if titles(await editor.lenses(uri))[0] == "f32[4] → f32[]":
            return
        await asyncio.sleep(0.1)
    raise AssertionError(await editor.lenses(uri))


async def model_of(editor: Editor, uri: str) -> Any:
    return await editor.ask("jaxscope/panel", uri=uri, function="fit.<locals>.step")


@pytest.mark.parametrize("watching", [True, False], ids=["watching", "looking"])
async def test_a_run_is_taken_up_while_it_goes_on_also_without_trust(start: Start, watching: bool) -> None:
    editor = await start({"trusted": False, "commands": True}, WATCHING if watching else None)
    uri = editor.open("train.py", TRAINER)
    await editor.diagnostics(uri, lambda found: not seen(found))
    assert titles(await editor.lenses(uri)) == ["not traced: this folder is not trusted"]
    process = await record(editor.folder, "train.py")
    if watching:
        tell(editor)
    (item,) = await editor.diagnostics(uri, seen)
    assert (item.range, item.severity) == (READ, types.DiagnosticSeverity.Warning)
    assert process.returncode is None, "the run has not ended yet"
    assert titles(await editor.lenses(uri)) == [FACTS, "Panel"], "nothing is offered that would run code"
    assert [told.uri for told in editor.notified["jaxscope/didRecord"]][-1:] == [uri]
    assert "jaxscope/didTrace" not in editor.notified
    await end(process)


async def test_the_editor_asks_the_client_to_watch_recordings(start: Start) -> None:
    editor = await start(None, WATCHING)
    await editor.until(lambda: editor.watched or None, lambda: "nothing was registered")
    assert "**/.jaxscope/recordings/**" in editor.watched


async def test_a_folder_that_is_part_of_a_project_sees_what_is_recorded_above_it(start: Start) -> None:
    editor = await start({"trusted": False}, WATCHING)
    (editor.folder / "pyproject.toml").rename(editor.folder.parent / "pyproject.toml")
    uri = editor.open("train.py", TRAINER)
    await end(await record(editor.folder, "train.py"))
    assert not (editor.folder / ".jaxscope").exists()
    await editor.diagnostics(uri, seen)


async def test_edited_code_is_not_what_was_recorded(start: Start) -> None:
    editor = await start({"trusted": False}, WATCHING)
    (editor.folder / "train.py").write_text(TRAINER)
    await end(await record(editor.folder, "train.py"))
    uri = editor.open("train.py")
    await editor.diagnostics(uri, seen)
    editor.type(uri, types.Range(types.Position(0, 0), types.Position(0, 0)), "# moved\n")
    (item,) = await editor.diagnostics(uri, seen)
    assert item.range.start.line == READ.start.line + 1
    editor.type(uri, types.Range(types.Position(12, 25), types.Position(12, 25)), " + 1")
    await editor.diagnostics(uri, lambda found: not seen(found))


async def test_what_only_the_run_knows_has_no_program_and_says_why(start: Start) -> None:
    editor = await start(ALLOWED, WATCHING)
    uri = editor.open("train.py", TRAINER)
    await editor.traced(uri)
    await end(await record(editor.folder, "train.py"))
    tell(editor)
    await editor.diagnostics(uri, seen)
    assert titles(await editor.lenses(uri)) == [FACTS, "Panel", "Record"]
    model = await model_of(editor, uri)
    assert (model.state, model.signatures[0].source, model.constants[0].name) == ("ready", "recorded", "table")
    assert model.signatures[0].origin == "train.py:16"
    assert model.signatures[0].recorded.startswith("first call; ") and "compiling" in model.signatures[0].recorded
    assert model.onlyRecorded.reason == (
        "`step` exists only while `fit` runs, so importing the file does not trace it."
    )
    with pytest.raises(JsonRpcException, match="exists only while `fit` runs"):
        await editor.ask("jaxscope/program", uri=uri, function="fit.<locals>.step")
    hover = await editor.hover(uri, 10, 9) or ""
    assert "Shapes from a recorded run, train.py:16; recorded " in hover and "In that run: first call; " in hover


async def test_without_trust_the_panel_shows_the_run_and_says_what_trust_would_add(start: Start) -> None:
    editor = await start({"trusted": False, "commands": True}, WATCHING)
    (editor.folder / "train.py").write_text(TRAINER)
    await end(await record(editor.folder, "train.py"))
    uri = editor.open("train.py")
    model = await model_of(editor, uri)
    assert (model.state, model.constants[0].bytes, model.onlyRecorded.action) == ("ready", 4 * 700 * 700, "trust")
    with pytest.raises(JsonRpcException, match="Restricted Mode: your code is not run"):
        await editor.ask("jaxscope/program", uri=uri, function="fit.<locals>.step")


async def test_a_recorded_signature_is_traced_with_when_the_worker_can(start: Start) -> None:
    editor = await start(ALLOWED, WATCHING)
    uri = editor.open("model.py", MODEL)
    await editor.traced(uri)
    told, action, *_ = titles(await editor.lenses(uri))
    assert "f32[4]" not in told and action == "Record a run"
    (editor.folder / "run.py").write_text(RUN)
    await end(await record(editor.folder, "run.py"))
    tell(editor)
    await known(editor, uri)
    assert titles(await editor.lenses(uri)) == ["f32[4] → f32[]", "Panel", "Record"]
    program = await editor.ask("jaxscope/program", uri=uri, function="score")
    assert program.operations > 0
    assert titles(await editor.lenses(uri)) == ["f32[4] → f32[]", "Panel", "Time", "Record"]
    model = await editor.ask("jaxscope/panel", uri=uri, function="score")
    assert (model.signatures[0].source, model.signatures[0].origin) == ("recorded", "run.py:4")
    assert model.onlyRecorded is None and model.signatures[0].recorded.startswith("first call")


async def test_a_program_is_not_imported_for_what_a_run_showed_of_it(start: Start) -> None:
    editor = await start(ALLOWED, WATCHING)
    uri = editor.open("model.py", MODEL + RUN.replace("from model import score\n", ""))
    assert titles(await editor.lenses(uri))[0] == "not traced: this file runs when imported"
    await end(await record(editor.folder, "model.py"))
    tell(editor)
    await known(editor, uri)
    model = await editor.ask("jaxscope/panel", uri=uri, function="score")
    assert model.onlyRecorded.action == "trace" and "is not imported unasked" in model.onlyRecorded.reason
    with pytest.raises(JsonRpcException, match="is not imported unasked"):
        await editor.ask("jaxscope/program", uri=uri, function="score")
    assert "jaxscope/didTrace" not in editor.notified
