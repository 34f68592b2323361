"""What a file captures through the files that it imports is looked at again when one of them changes."""

from __future__ import annotations

import pytest
from lsprotocol import types

from editor import Editor, Start

pytestmark = pytest.mark.asyncio

ALLOWED = {"trusted": True, "trace": {"when": "onSave"}}
TABLES = """import numpy as np

BIAS = np.ones(3, np.float32)
MASK = np.arange({rows} * 700, dtype=np.float32).reshape(700, {rows})


def masked(x):
    return x @ MASK
"""
MODEL = """import jax

import tables
from tables import MASK, masked


# jaxscope: f32[2,700]
@jax.jit
def by_name(x):
    return x @ MASK


# jaxscope: f32[2,700]
@jax.jit
def by_attribute(x):
    return x @ tables.MASK


# jaxscope: f32[2,700]
@jax.jit
def by_helper(x):
    return masked(x)
"""


def write(editor: Editor, rows: int) -> None:
    """Changes `tables.py` behind the editor's back, and has the client tell of it."""
    path = editor.folder / "tables.py"
    path.write_text(TABLES.replace("{rows}", str(rows)), encoding="utf-8")
    change = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))


def sizes(found: list[types.Diagnostic], said: str = "") -> dict[int, str]:
    """Sizes in the messages, by line."""
    return {item.range.start.line: item.message for item in found if "MASK" in item.message and said in item.message}


async def test_the_source_counts_as_it_is_on_disk(start: Start) -> None:
    editor = await start()
    write(editor, 3)
    uri = editor.open("model.py", MODEL)
    await editor.diagnostics(uri, lambda found: not sizes(found))
    write(editor, 500)
    found = sizes(await editor.diagnostics(uri, lambda found: len(sizes(found, "1.3 MiB")) == 2))
    assert sorted(found) == [9, 15]
    write(editor, 600)
    await editor.diagnostics(uri, lambda found: len(sizes(found, "1.6 MiB")) == 2)


@pytest.mark.jax
async def test_what_was_traced_is_traced_again(start: Start) -> None:
    editor = await start(ALLOWED)
    write(editor, 500)
    uri = editor.open("model.py", MODEL)
    found = sizes(await editor.diagnostics(uri, lambda found: len(sizes(found, "float32[700,500]")) == 2))
    assert sorted(found) == [9, 15]
    write(editor, 600)
    await editor.diagnostics(uri, lambda found: len(sizes(found, "float32[700,600]")) == 2)


@pytest.mark.jax
async def test_the_finding_stands_where_a_helper_of_another_file_reads(start: Start) -> None:
    editor = await start(ALLOWED)
    write(editor, 500)
    model = editor.open("model.py", MODEL)
    tables = editor.open("tables.py")
    await editor.diagnostics(model, lambda found: len(sizes(found, "float32[700,500]")) == 2)
    (item,) = await editor.diagnostics(tables, lambda found: bool(sizes(found, "float32[700,500]")))
    assert (item.range.start.line, "`by_helper`" in item.message) == (7, True)
    assert [related.location.range.start.line for related in item.related_information or []] == [3]
    actions = {action.title: action for action in await editor.actions(tables, item.range)}
    assert actions["Pass `MASK` as an argument"].disabled is None
    assert "Ignore `captured-array` on this line" in actions


@pytest.mark.jax
async def test_unsaved_edits_of_an_imported_file_take_the_traced_figures_back(start: Start) -> None:
    editor = await start(ALLOWED)
    write(editor, 500)
    tables = editor.open("tables.py")
    model = editor.open("model.py", MODEL)
    await editor.diagnostics(model, lambda found: len(sizes(found, "float32[700,500]")) == 2)
    editor.change(tables, editor.texts[tables].text.replace("500", "600"))
    found = sizes(await editor.diagnostics(model, lambda found: len(sizes(found, "1.6 MiB that")) == 2))
    assert all("(inferred)" in message for message in found.values())
    assert not [lens for lens in await editor.lenses(model) if lens.command and "700,500" in lens.command.title]
    editor.change(tables, editor.texts[tables].text.replace("600", "500"))
    await editor.diagnostics(model, lambda found: len(sizes(found, "float32[700,500]")) == 2)
