"""Fixes as the editor makes them: over files, previewed, asked for, refused with the place, and all at once."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types
from programs import WHITENER

from editor import Editor, Start, capabilities

pytestmark = [pytest.mark.asyncio, pytest.mark.jax]

ALLOWED = {"trusted": True, "trace": {"when": "onSave"}}
CAPTURES_ONLY = ALLOWED | {"rules": {"stale-capture": "ignore"}}
START = types.Range(types.Position(0, 0), types.Position(0, 0))
LIBRARY = WHITENER.split("\n\nprint")[0] + "\n"
USE = "import jax.numpy as jnp\n\nfrom library import project\n\n\ndef main():\n"
USE += "    return project(jnp.ones((3, 700))).sum()\n"
TWO = (
    WHITENER
    + "\n\n# jaxscope: f32[700]\n@jax.jit\ndef turn(x):\n    return W @ x\n\n\nprint(turn(jnp.ones(700)).sum())\n"
)
REFUSED = WHITENER + "W = 2 * W\nprint(project(jnp.ones((3, 700))).sum())\n"


async def finding(editor: Editor, uri: str) -> types.Diagnostic:
    """The one finding of a file once it was traced."""
    (found,) = await editor.diagnostics(uri, lambda found: len(found) == 1 and "(inferred)" not in found[0].message)
    return found


async def action(editor: Editor, uri: str, title: str) -> types.CodeAction:
    """The action of this title at the finding."""
    found = await editor.actions(uri, (await finding(editor, uri)).range)
    return next(item for item in found if item.title == title)


async def run(editor: Editor, chosen: types.CodeAction) -> str:
    """Runs an action's command; what was said last."""
    assert chosen.command
    await editor.execute(chosen.command)
    await editor.until(lambda: editor.messages or None, lambda: "nothing was said")
    return editor.messages[-1]


async def test_a_fix_over_two_files_is_one_edit_with_notes(start: Start) -> None:
    editor = await start(ALLOWED)
    (editor.folder / "use.py").write_text(USE, encoding="utf-8")
    uri = editor.open("library.py", LIBRARY)
    said = await run(editor, await action(editor, uri, "Pass `W` as an argument"))
    (request,) = editor.edits
    assert request.metadata and request.metadata.is_refactoring
    notes = request.edit.change_annotations or {}
    assert {(note.label, note.description, note.needs_confirmation) for note in notes.values()} == {
        ("Signature", "`project`, library.py:10", False),
        ("Declared shapes", "library.py:8", False),
        ("Call", "`project`, use.py:7", False),
        ("Import", "use.py:3", False),
    }
    texts = {item.uri.rsplit("/", 1)[-1]: item.text for item in editor.texts.values()}
    assert "def project(x, W):" in texts["library.py"]
    assert "project(jnp.ones((3, 700)), " in texts["use.py"]
    assert said.endswith("Changed together: library.py, use.py.")


async def test_a_preview_asks_before_it_writes(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    preview = await action(editor, uri, "Pass `W` as an argument (preview)")
    editor.discards = True
    assert await run(editor, preview) == "Not applied: the preview was closed, or no edit was ticked in it."
    assert editor.texts[uri].text == WHITENER
    assert all(note.needs_confirmation for note in (editor.edits[-1].edit.change_annotations or {}).values())
    editor.discards = False
    assert (await run(editor, preview)).startswith("W is now an argument of project.")


async def test_edits_that_were_left_out_in_the_preview_are_told(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    preview = await action(editor, uri, "Pass `W` as an argument (preview)")
    whole = editor.apply

    def without_the_call(edit: types.WorkspaceEdit) -> str | None:
        for change in edit.document_changes or []:
            assert isinstance(change, types.TextDocumentEdit)
            change.edits = [item for item in change.edits if not getattr(item, "annotation_id", "").startswith("Call")]
        return whole(edit)

    editor.apply = without_the_call  # type: ignore[method-assign]
    assert (await run(editor, preview)).startswith("Not all edits of the fix were made.")


async def test_without_notes_there_is_no_preview_and_plain_edits(start: Start) -> None:
    editor = await start(ALLOWED, capabilities(annotated=False))
    uri = editor.open("model.py", WHITENER)
    found = await editor.actions(uri, (await finding(editor, uri)).range)
    assert not [item for item in found if "preview" in item.title]
    await run(editor, next(item for item in found if item.is_preferred))
    assert editor.edits[-1].edit.change_annotations is None
    assert "project(jnp.ones((3, 700)), W)" in editor.texts[uri].text


async def test_what_prevents_a_fix_can_be_gone_to(start: Start) -> None:
    editor = await start(CAPTURES_ONLY)
    uri = editor.open("model.py", REFUSED)
    found = {item.title: item for item in await editor.actions(uri, (await finding(editor, uri)).range)}
    reason = found["Pass `W` as an argument"].disabled
    assert reason is not None
    said = await run(editor, found["Show why not: Pass `W` as an argument (model.py:15)"])
    (shown,) = editor.shown
    assert shown.uri == uri and shown.take_focus and shown.selection
    assert REFUSED.splitlines()[shown.selection.start.line].startswith("W = 2 * W")
    assert said.removesuffix(".").split(" (")[0] == reason.reason.removesuffix(".").split(" (")[0]


async def test_what_one_rule_offers_no_other_refuses_beside_it(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", REFUSED)
    found = await editor.diagnostics(uri, lambda all: len({item.code for item in all}) == 2)
    place = next(item.range for item in found if item.code == "captured-array")
    titles = [(item.title, item.disabled is None) for item in await editor.actions(uri, place)]
    assert ("Pass `W` as an argument", True) in titles
    assert not [title for title, enabled in titles if "why not" in title or not enabled]


async def test_all_of_a_file_is_one_proved_change(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", TWO)
    await editor.diagnostics(uri, lambda found: len(found) == 2 and "(inferred)" not in found[0].message)
    (chosen,) = await editor.actions(uri, START, ["source.fixAll"])
    assert (chosen.kind, chosen.title) == ("source.fixAll.jaxscope", "Fix all jaxscope findings that are safe to fix")
    assert await run(editor, chosen) == "2 findings fixed in model.py. Verified by running the code: 2."
    assert len(editor.edits) == 1
    text = editor.texts[uri].text
    assert "def project(x, W):" in text and "def turn(x, W):" in text
    assert await editor.diagnostics(uri, lambda found: not found) == []


@pytest.mark.parametrize("only", ["source.organizeImports", "quickfix", "refactor"])
async def test_other_kinds_do_not_get_fix_all(start: Start, only: str) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await finding(editor, uri)
    assert not [item for item in await editor.actions(uri, START, [only]) if "Fix all" in item.title]


async def test_what_cannot_be_fixed_is_left_out_and_said(start: Start) -> None:
    other = "\n\n# jaxscope: f32[700]\n@jax.jit\ndef turn(x):\n    return W @ x\n\n\nprint(turn(jnp.ones(700)).sum())\n"
    editor = await start(CAPTURES_ONLY)
    uri = editor.open("model.py", REFUSED + other)
    await editor.diagnostics(uri, lambda found: len(found) == 2 and "(inferred)" not in found[0].message)
    (chosen,) = await editor.actions(uri, START, ["source.fixAll.jaxscope"])
    said = await run(editor, chosen)
    assert said.startswith("1 finding fixed in model.py. Verified by running the code: 1. Not fixed: `W` in project: ")
    assert "line 15" in said
    assert "def turn(x, W):" in editor.texts[uri].text and "def project(x):" in editor.texts[uri].text


async def test_what_would_change_results_is_not_among_all_fixes(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", REFUSED)
    found = await editor.diagnostics(uri, lambda found: {item.code for item in found} >= {"stale-capture"})
    titles = [item.title for item in await editor.actions(uri, found[0].range) if item.disabled is None]
    assert "Pass `W` as an argument" in titles, "one by one it can be chosen"
    (chosen,) = await editor.actions(uri, START, ["source.fixAll"])
    assert (await run(editor, chosen)).startswith("Nothing was fixed. Not fixed: `W` in project: ")
    assert editor.texts[uri].text == REFUSED and not editor.edits


async def test_a_save_fixes_what_stays_in_the_file_and_was_proved(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await finding(editor, uri)
    (chosen,) = await editor.actions(uri, START, ["source.fixAll"], saving=True)
    assert (await run(editor, chosen)).startswith("1 finding fixed")
    assert editor.edits[-1].metadata and not editor.edits[-1].metadata.is_refactoring
    assert "def project(x, W):" in editor.texts[uri].text


async def test_a_save_edits_no_other_file_and_says_nothing(start: Start) -> None:
    editor = await start(ALLOWED)
    (editor.folder / "use.py").write_text(USE, encoding="utf-8")
    uri = editor.open("library.py", LIBRARY)
    await finding(editor, uri)
    (chosen,) = await editor.actions(uri, START, ["source.fixAll"], saving=True)
    assert chosen.command
    await editor.execute(chosen.command)
    assert not editor.edits and not editor.messages and editor.texts[uri].text == LIBRARY


async def test_a_save_makes_no_edit_that_was_not_proved(start: Start) -> None:
    editor = await start({"trusted": False})
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, bool)
    (chosen,) = await editor.actions(uri, START, ["source.fixAll"], saving=True)
    assert chosen.command
    await editor.execute(chosen.command)
    assert not editor.edits and not editor.messages


async def test_all_of_the_folder_also_what_is_not_open(start: Start) -> None:
    editor = await start(ALLOWED)
    (editor.folder / "other.py").write_text(WHITENER.replace("project", "turn"), encoding="utf-8")
    (editor.folder / "plain.py").write_text("import jax\n", encoding="utf-8")
    uri = editor.open("model.py", WHITENER)
    await finding(editor, uri)
    command = types.Command("", "jaxscope.fixAll", arguments=[{"uri": uri, "project": True}])
    await editor.execute(command)
    assert editor.messages[-1] == "2 findings fixed in model.py, other.py. Verified by running the code: 2."
    assert len(editor.edits) == 1
    assert sorted(item.uri.rsplit("/", 1)[-1] for item in editor.texts.values()) == ["model.py", "other.py"]
    assert all("(x, W):" in item.text for item in editor.texts.values())


async def test_cancelling_fix_all_writes_nothing(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", TWO)
    await editor.diagnostics(uri, lambda found: len(found) == 2 and "(inferred)" not in found[0].message)

    reports = editor.client.progress_reports
    running = asyncio.ensure_future(editor.execute(types.Command("", "jaxscope.fixAll", arguments=[{"uri": uri}])))
    known = set(reports)
    token = await editor.until(lambda: next((key for key in reports if key not in known), None), lambda: "no bar")
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    await asyncio.wait_for(running, 30)
    assert editor.messages == ["Not applied: cancelled."] and editor.texts[uri].text == TWO and not editor.edits


DOUBTED = WHITENER.split("print(")[0].replace("W = ", "if np.ndim(0) == 0:\n    W = ")
RESTRICTED = {"trusted": False}
"""Nothing is run that could clear the doubt."""


async def inferred(editor: Editor, uri: str) -> types.CodeAction:
    """The fix of what the source alone shows."""
    (found,) = await editor.diagnostics(uri, bool)
    return next(item for item in await editor.actions(uri, found.range) if item.title == "Pass `W` as an argument")


async def test_a_fix_that_may_not_be_safe_asks_by_its_edits(start: Start) -> None:
    editor = await start(RESTRICTED)
    uri = editor.open("model.py", DOUBTED)
    chosen = await inferred(editor, uri)
    editor.discards = True
    assert (await run(editor, chosen)).startswith("Not applied: the preview was closed")
    assert all(note.needs_confirmation for note in (editor.edits[-1].edit.change_annotations or {}).values())
    assert "bound only where a condition holds" in editor.messages[0]
    editor.discards = False
    assert (await run(editor, chosen)).startswith("W is now an argument of project.")


@pytest.mark.parametrize(("answer", "applied"), [("Apply", True), ("Cancel", False), (None, False)])
async def test_a_fix_that_may_not_be_safe_asks_in_plain_editors_too(
    start: Start, answer: str | None, applied: bool
) -> None:
    editor = await start(RESTRICTED, capabilities(annotated=False))
    editor.answer = answer
    uri = editor.open("model.py", DOUBTED)
    await run(editor, await inferred(editor, uri))
    (asked,) = editor.questions
    assert "bound only where a condition holds" in asked.message
    assert [item.title for item in asked.actions or []] == ["Apply", "Cancel"]
    assert ("def project(x, W):" in editor.texts[uri].text) is applied


async def test_in_a_large_file_what_cannot_be_fixed_is_told_when_it_was_looked_at(start: Start) -> None:
    large = REFUSED + "".join(f"\n\ndef filler_{number}(x):\n    return x + {number}\n" for number in range(800))
    editor = await start({**CAPTURES_ONLY, "trusted": False})
    uri = editor.open("model.py", large)
    (found,) = await editor.diagnostics(uri, bool)

    async def titles() -> dict[str, bool]:
        return {item.title: item.disabled is None for item in await editor.actions(uri, found.range)}

    assert (await titles())["Pass `W` as an argument"], "offered at once"
    for _ in range(200):
        if not (now := await titles())["Pass `W` as an argument"]:
            break
        await asyncio.sleep(0.05)
    assert "Show why not: Pass `W` as an argument (model.py:15)" in now
