"""What the server makes of recorded runs: real programs, run by `jaxscope record` while their files are open."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

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


async def test_a_save_looks_for_what_was_recorded(start: Start) -> None:
    editor = await start({"trusted": False}, WATCHING)
    uri = editor.open("train.py", TRAINER)
    await end(await record(editor.folder, "train.py"))
    assert not seen(await editor.diagnostics(uri, lambda found: True))
    editor.save(uri)
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
