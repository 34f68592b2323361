"""What the server does with texts alone: nothing here runs the user's code."""

from __future__ import annotations

import pytest
from lsprotocol import types
from programs import UNSIZED, WHITENER
from pygls.exceptions import JsonRpcException

from editor import Start, capabilities

pytestmark = pytest.mark.asyncio


def captured(found: list[types.Diagnostic]) -> bool:
    return any(item.code == "captured-array" for item in found)


async def test_a_captured_array_is_found_on_opening(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    (item,) = await editor.diagnostics(uri, captured)
    assert item.source == "jaxscope"
    assert item.severity == types.DiagnosticSeverity.Warning
    assert item.range == types.Range(types.Position(10, 15), types.Position(10, 16))
    assert "(inferred)" in item.message and "1.9 MiB" in item.message
    assert item.data["name"] == "W" and item.data["function"] == "project"
    assert item.code_description is not None
    assert item.code_description.href.endswith("captured-array.md")
    assert next((one.location.range.start.line, one.message) for one in item.related_information or []) == (
        4,
        "bound here",
    )
    assert editor.texts[uri].published[-1].version == 1


async def test_half_typed_code_keeps_what_is_known(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)
    editor.type(uri, types.Range(types.Position(12, 0), types.Position(12, 0)), "def half(typed, (\n")
    assert await editor.diagnostics(uri, captured)
    editor.type(uri, types.Range(types.Position(10, 15), types.Position(10, 16)), "x")
    assert await editor.diagnostics(uri, lambda found: not captured(found)) == []


async def test_an_edit_moves_the_squiggle(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)
    editor.type(uri, types.Range(types.Position(0, 0), types.Position(0, 0)), "# first\n# second\n")
    (item,) = await editor.diagnostics(uri, captured)
    assert item.range.start == types.Position(12, 15)


async def test_a_size_that_is_not_known_is_a_hint(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", UNSIZED)
    (item,) = await editor.diagnostics(uri, captured)
    assert item.severity == types.DiagnosticSeverity.Hint


async def test_positions_after_wide_characters_and_crlf_are_in_utf16(start: Start) -> None:
    text = WHITENER.replace("return x @ W", "return ('𝔘𝔫𝔦é', x @ W)[1]").replace("\n", "\r\n")
    editor = await start()
    uri = editor.open("model.py", text)
    (item,) = await editor.diagnostics(uri, captured)
    units = len("    return ('𝔘𝔫𝔦é', x @ ".encode("utf-16-le")) // 2
    assert item.range == types.Range(types.Position(10, units), types.Position(10, units + 1))
    editor.type(uri, types.Range(types.Position(10, units), types.Position(10, units + 1)), "x")
    await editor.diagnostics(uri, lambda found: not captured(found))


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 29), ("utf-32", 20)])
async def test_other_encodings_are_spoken_when_offered(start: Start, encoding: str, units: int) -> None:
    text = WHITENER.replace("return x @ W", "return ('𝔘𝔫𝔦é', x @ W)[1]")
    editor = await start(capabilities=capabilities(utf=[encoding]))
    uri = editor.open("model.py", text)
    (item,) = await editor.diagnostics(uri, captured)
    assert (
        len("    return ('𝔘𝔫𝔦é', x @ ".encode("utf-8" if encoding == "utf-8" else "utf-32-le"))
        // (1 if encoding == "utf-8" else 4)
        == item.range.start.character
    )


async def test_form_feeds_and_unicode_line_separators_end_no_line(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", "# a\f\n# b\u2028c\x85\n" + WHITENER)
    await editor.diagnostics(uri, captured)
    editor.type(uri, types.Range(types.Position(12, 15), types.Position(12, 16)), "x")
    await editor.diagnostics(uri, lambda found: not captured(found))


async def test_another_file_changes_what_is_found_here(start: Start) -> None:
    editor = await start()
    editor.open("weights.py", "import jax.numpy as jnp\n\nW = jnp.asarray(__import__('numpy').ones((2, 2)))\n")
    weights = editor.open(
        "weights.py", "import jax.numpy as jnp\nimport numpy as np\n\nW = np.ones((2, 2), np.float32)\n"
    )
    uri = editor.open("model.py", "import jax\nfrom weights import W\n\n\n@jax.jit\ndef f(x):\n    return x @ W\n")
    await editor.diagnostics(uri, lambda found: not captured(found))
    editor.change(weights, "import jax.numpy as jnp\nimport numpy as np\n\nW = np.ones((999, 999), np.float32)\n")
    (item,) = await editor.diagnostics(uri, captured)
    assert "3.8 MiB" in item.message


async def test_restricted_runs_nothing(start: Start) -> None:
    editor = await start({"trusted": False, "trace": {"when": "onSave"}})
    marker = editor.folder / "ran"
    uri = editor.open("model.py", WHITENER + f"\nopen({str(marker)!r}, 'w').close()\n")
    await editor.diagnostics(uri, captured)
    editor.save(uri)
    with pytest.raises(Exception, match="Restricted Mode"):
        await editor.ask("jaxscope/trace", uri=uri)
    model = await editor.ask("jaxscope/panel", uri=uri, position={"line": 10, "character": 0})
    assert model.state == "restricted" and model.function == "project"
    assert [row.name for row in model.findings] == ["W"]
    assert next(lens.command.title for lens in await editor.lenses(uri) if lens.command).startswith("not traced")
    assert editor.notified["jaxscope/status"][-1].state == "restricted"
    assert not marker.exists() and not editor.questions


async def test_ignoring_is_a_plain_edit(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    (item,) = await editor.diagnostics(uri, captured)
    action = next(one for one in await editor.actions(uri, item.range) if one.title.startswith("Ignore"))
    assert action.edit is not None
    assert editor.apply(action.edit) is None
    assert "    return x @ W  # jaxscope: ignore[captured-array]\n" in editor.texts[uri].text
    assert await editor.diagnostics(uri, lambda found: True) == []


async def test_closing_takes_the_diagnostics_away(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    await editor.until(lambda: True if not editor.texts[uri].published[-1].diagnostics else None, lambda: "still there")


async def test_notebooks_and_unnamed_documents_break_nothing(start: Start) -> None:
    editor = await start()
    cell = types.TextDocumentItem("vscode-notebook-cell:/a.ipynb#c1", "python", 1, WHITENER)
    editor.client.notebook_document_did_open(
        types.DidOpenNotebookDocumentParams(
            types.NotebookDocument(
                "file:///a.ipynb", "jupyter", 1, [types.NotebookCell(types.NotebookCellKind.Code, cell.uri)]
            ),
            [cell],
        )
    )
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(cell))
    unnamed = types.TextDocumentItem("untitled:Untitled-1", "python", 1, WHITENER)
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(unnamed))
    hover = types.HoverParams(types.TextDocumentIdentifier(unnamed.uri), types.Position(0, 0))
    assert await editor.client.text_document_hover_async(hover) is None
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)


async def test_a_fix_that_cannot_be_made_is_shown_with_its_reason(start: Start) -> None:
    text = WHITENER.replace("print(project(", "print(list(map(project, [jnp.ones((3, 700))])), (").replace(
        ".sum())", "))"
    )
    editor = await start()
    uri = editor.open("model.py", text)
    (item,) = await editor.diagnostics(uri, captured)
    actions = {one.title: one for one in await editor.actions(uri, item.range)}
    refused = actions["Pass `W` as an argument"]
    assert refused.command is None and refused.disabled is not None
    assert refused.disabled.reason.startswith("Not offered: ") and "line 14" in refused.disabled.reason


async def test_without_trust_a_fix_is_applied_unproved_and_says_so(start: Start) -> None:
    editor = await start({"trusted": False})
    uri = editor.open("model.py", WHITENER)
    (item,) = await editor.diagnostics(uri, captured)
    action = next(one for one in await editor.actions(uri, item.range) if one.is_preferred)
    assert action.command
    await editor.execute(action.command)
    assert editor.messages == [
        "W is now an argument of project. Not verified: your code is not run in Restricted Mode."
    ]
    assert await editor.diagnostics(uri, lambda found: True) == []


async def test_clients_without_versioned_edits_get_plain_ones(start: Start) -> None:
    editor = await start(capabilities=capabilities(versioned=False))
    uri = editor.open("model.py", WHITENER)
    (item,) = await editor.diagnostics(uri, captured)
    action = next(one for one in await editor.actions(uri, item.range) if one.title.startswith("Ignore"))
    assert action.edit and action.edit.changes and action.edit.document_changes is None


async def test_settings_and_the_projects_own_settings_count(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)
    changed = types.DidChangeConfigurationParams({"jaxscope": {"capturedThreshold": "1GiB"}})
    editor.client.workspace_did_change_configuration(changed)
    await editor.diagnostics(uri, lambda found: not captured(found))
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"jaxscope": {}}))
    await editor.diagnostics(uri, captured)
    (editor.folder / "pyproject.toml").write_text('[tool.jaxscope.rules]\ncaptured-array = "information"\n')
    changes = [types.FileEvent((editor.folder / "pyproject.toml").as_uri(), types.FileChangeType.Changed)]
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))
    await editor.diagnostics(uri, lambda found: found[0].severity == types.DiagnosticSeverity.Information)


async def test_a_wrong_setting_is_said_and_changes_nothing(start: Start) -> None:
    editor = await start()
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)
    changed = types.DidChangeConfigurationParams({"jaxscope": {"capturedThreshold": "much"}})
    editor.client.workspace_did_change_configuration(changed)
    await editor.until(lambda: editor.messages or None, lambda: "nothing was said")
    assert "not a size: 'much'" in editor.messages[0]
    assert captured(await editor.diagnostics(uri, lambda found: True))


async def test_nonsense_is_answered_with_an_error_and_ends_nothing(start: Start) -> None:
    editor = await start()
    for method, params in (
        ("jaxscope/panel", {}),
        ("jaxscope/panel", {"uri": 7}),
        ("jaxscope/panel", {"uri": "file:///no/such/file.py", "position": {"line": "a"}}),
        ("jaxscope/time", {"uri": "file:///x.py"}),
        ("jaxscope/consent", {"answer": "always"}),
    ):
        with pytest.raises(JsonRpcException):
            await editor.ask(method, **params)
    far = types.HoverParams(types.TextDocumentIdentifier("file:///x.py"), types.Position(10**6, 10**6))
    assert await editor.client.text_document_hover_async(far) is None
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, captured)
    assert await editor.hover(uri, 10**6, 3) is None
    empty = await editor.ask("jaxscope/panel", uri=uri, position={"line": 0, "character": 0})
    assert empty.state == "restricted" and empty.function == "" and empty.functions[0].function == "project"
