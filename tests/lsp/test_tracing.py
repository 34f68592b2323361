"""What the server shows once a real worker has run the code with a real JAX."""

from __future__ import annotations

import asyncio
import venv

import pytest
from lsprotocol import types
from programs import UNSIZED, WHITENER
from pygls.exceptions import JsonRpcException

from editor import Editor, Start, capabilities

pytestmark = [pytest.mark.asyncio, pytest.mark.jax]

ALLOWED = {"trusted": True, "trace": {"when": "onSave"}}
READ = types.Range(types.Position(10, 15), types.Position(10, 16))


async def fix_of_w(editor: Editor, uri: str) -> types.CodeAction:
    """The action that passes `W` as an argument."""
    found = await editor.actions(uri, READ)
    wanted = [item for item in found if item.title == "Pass `W` as an argument"]
    assert len(wanted) == 1 and wanted[0].disabled is None, found
    return wanted[0]


async def test_a_save_replaces_the_inferred_finding(start: Start) -> None:
    editor = await start({"trusted": True, "trace": {"when": "manual"}})
    uri = editor.open("model.py", WHITENER)
    (inferred,) = await editor.diagnostics(uri, bool)
    assert "(inferred)" in inferred.message
    await editor.ask("jaxscope/consent", answer="onSave")
    await editor.traced(uri)
    (seen,) = await editor.diagnostics(uri, lambda found: bool(found) and "(inferred)" not in found[0].message)
    assert seen.message == "`W` (float32[700,700], 1.9 MiB) is compiled into `project` as a constant"
    assert seen.range == READ


async def test_hover_lens_and_panel_tell_what_was_traced(start: Start) -> None:
    editor = await start(ALLOWED | {"commands": True}, capabilities(tags=["details"]))
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    hover = await editor.hover(uri, 9, 5) or ""
    assert "project: f32[3,700] → f32[3,700]" in hover
    assert "| `W` | :5 | `f32[700,700]` | 1.87 MiB | :11 |" in hover
    assert "<details><summary>jaxpr, 1 equation</summary>" in hover and "dot_general" in hover
    assert "(command:jaxscope.openPanel?" in hover
    titles = [lens.command.title for lens in await editor.lenses(uri) if lens.command]
    assert titles[0] == "f32[3,700] → f32[3,700] · 1 constant 1.9 MiB" and titles[1:] == ["Panel", "Time", "Record"]
    model = await editor.ask("jaxscope/panel", uri=uri, function="project")
    assert (model.state, model.jaxpr.equations, model.constants[0].name) == ("ready", 1, "W")
    assert model.constants[0].lowered == "stablehlo.constant" and model.constants[0].finding
    assert editor.notified["jaxscope/status"][-1].text.endswith("· cpu · ready")


async def test_a_plain_client_gets_no_client_commands(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    hover = await editor.hover(uri, 9, 5) or ""
    assert "command:" not in hover and "<details>" not in hover and "dot_general" in hover
    lenses = await editor.lenses(uri)
    assert [lens.command.title for lens in lenses if lens.command] == ["f32[3,700] → f32[3,700] · 1 constant 1.9 MiB"]
    assert lenses[0].command and lenses[0].command.command == ""


async def test_the_fix_is_proved_and_applied_with_a_version(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    await editor.diagnostics(uri, bool)
    action = await fix_of_w(editor, uri)
    assert action.title == "Pass `W` as an argument" and action.is_preferred
    assert action.command and action.command.command == "jaxscope.applyFix"
    await editor.execute(action.command)
    await editor.until(lambda: editor.messages or None, lambda: "nothing was said")
    assert editor.messages[-1] == (
        "W is now an argument of project. Traced again: constant gone, output unchanged. "
        "But for the new argument the program is the same."
    ), editor.texts[uri].text
    assert "project(jnp.ones((3, 700)), W)" in editor.texts[uri].text
    assert await editor.diagnostics(uri, lambda found: not found) == []


async def test_a_fix_for_a_text_that_has_changed_is_refused(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    await editor.diagnostics(uri, bool)
    command = (await fix_of_w(editor, uri)).command
    assert command
    editor.type(uri, types.Range(types.Position(0, 0), types.Position(0, 0)), "# typed\n")
    await editor.execute(command)
    assert editor.messages == ["Not applied: the text has changed meanwhile."]


async def test_typing_while_the_fix_is_being_proved_refuses_the_edit(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    await editor.diagnostics(uri, bool)
    command = (await fix_of_w(editor, uri)).command
    assert command
    running = asyncio.ensure_future(editor.execute(command))
    await asyncio.sleep(0.05)
    editor.type(uri, types.Range(types.Position(0, 0), types.Position(0, 0)), "# typed\n")
    await running
    assert editor.messages == ["Not applied: the text has changed meanwhile."]
    assert editor.texts[uri].text == "# typed\n" + WHITENER


async def test_typing_as_the_edit_arrives_is_refused_by_the_version(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    await editor.diagnostics(uri, bool)
    command = (await fix_of_w(editor, uri)).command
    assert command
    at = types.Range(types.Position(0, 0), types.Position(0, 0))
    editor.before_applying = lambda: editor.type(uri, at, "# typed\n")
    await editor.execute(command)
    assert editor.texts[uri].text == "# typed\n" + WHITENER
    assert editor.messages == ["Not applied: the text has changed meanwhile."]


async def test_edited_functions_lose_their_facts_and_others_keep_them(start: Start) -> None:
    other = WHITENER + "\n\n# jaxscope: f32[2]\n@jax.jit\ndef double(x):\n    return x * 2\n"
    editor = await start(ALLOWED)
    uri = editor.open("model.py", other)
    await editor.traced(uri)
    editor.type(uri, types.Range(types.Position(0, 0), types.Position(0, 0)), "\n")
    (moved,) = await editor.diagnostics(uri, bool)
    assert "(inferred)" not in moved.message and moved.range.start == types.Position(11, 15)
    editor.type(uri, types.Range(types.Position(11, 15), types.Position(11, 15)), "-")
    (inferred,) = await editor.diagnostics(uri, bool)
    assert "(inferred)" in inferred.message
    titles = [lens.command.title for lens in await editor.lenses(uri) if lens.command]
    assert titles == ["changed since the last trace", "Trace now", "f32[2] → f32[2]"]
    model = await editor.ask("jaxscope/panel", uri=uri, function="double")
    assert model.state == "ready" and model.staleLines == [1, 12]


async def test_the_program_is_shown_in_both_forms(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    seen = await editor.ask("jaxscope/program", uri=uri, function="project", stage="stablehlo", form="captured")
    assert [row.captured for row in seen.rows if row.literal == "captured"] == ["W"]
    assert any(row.op == "dot_general" and row.lines[0].line == 11 for row in seen.rows)
    hoisted = await editor.ask("jaxscope/program", uri=uri, function="project", stage="stablehlo", form="hoisted")
    assert hoisted.moduleBytes < 10_000 < 1_960_000 < seen.moduleBytes
    jaxpr = await editor.ask("jaxscope/jaxpr", uri=uri, function="project")
    assert "dot_general" in jaxpr.text


async def test_timing_is_compared_and_remembered(start: Start) -> None:
    editor = await start(ALLOWED | {"commands": True})
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    refreshes = editor.refreshes
    seen = await editor.ask("jaxscope/time", uri=uri, function="project", forms=["captured", "hoisted"])
    assert editor.refreshes > refreshes  # before the reply, so that no lens still says that it is running
    assert [form.form for form in seen.forms] == ["captured", "hoisted"]
    rows = {row.label: row for row in seen.comparison}
    assert rows["StableHLO module"].verdict.endswith("× smaller")
    assert rows["run"].verdict
    titles = [lens.command.title for lens in await editor.lenses(uri) if lens.command]
    assert "FLOP" in titles[0] and "cpu" in titles[0]


async def test_each_signature_has_its_own_constants_program_and_timings(start: Start) -> None:
    text = WHITENER.replace("# jaxscope: f32[3,700]\n", "# jaxscope: f32[3,700]\n# jaxscope: f32[700]\n")
    text = text.replace("return x @ W", "return x @ W if x.ndim == 2 else x * 2").split("\n\nprint")[0]
    editor = await start(ALLOWED)
    uri = editor.open("model.py", text)
    await editor.traced(uri)
    first = await editor.ask("jaxscope/panel", uri=uri, function="project")
    known = [item.id for item in first.signatures]
    assert known == ["declared x: f32[3,700]", "declared x: f32[700]"] and first.signature == known[0]
    assert ([item.name for item in first.constants], len(first.findings)) == (["W"], 1)
    second = await editor.ask("jaxscope/panel", uri=uri, function="project", signature=known[1])
    assert second.signature == known[1] and [item.id for item in second.signatures] == known
    assert (second.constants, second.findings, second.signatures[1].out) == ([], [], ["f32[700]"])

    seen = await editor.ask("jaxscope/program", uri=uri, function="project", signature=known[1])
    assert {row.op for row in seen.rows} >= {"multiply"} and "dot_general" not in {row.op for row in seen.rows}
    lowered = await editor.ask("jaxscope/constants", uri=uri, function="project", signature=known[1])
    assert [item.type for item in lowered.captured] == ["f32[700]"]
    timed = await editor.ask("jaxscope/time", uri=uri, function="project", forms=["captured"], signature=known[1])
    assert timed.forms[0].outputBytes == 700 * 4
    models = [await editor.ask("jaxscope/panel", uri=uri, function="project", signature=one) for one in known]
    assert [model.timings is not None for model in models] == [False, True]

    editor.notified["jaxscope/didTrace"].clear()
    editor.change(uri, text.replace("# jaxscope: f32[3,700]\n", ""))
    editor.save(uri)
    await editor.traced(uri)
    kept = await editor.ask("jaxscope/panel", uri=uri, function="project", signature=known[1])
    assert kept.signature == known[1] and kept.timings is not None
    gone = await editor.ask("jaxscope/panel", uri=uri, function="project", signature=known[0])
    assert gone.signature == known[1]
    with pytest.raises(JsonRpcException, match="no longer traced under this signature"):
        await editor.ask("jaxscope/program", uri=uri, function="project", signature=known[0])


async def test_undoing_an_edit_brings_back_what_was_measured(start: Start) -> None:
    editor = await start(ALLOWED | {"commands": True, "trace": {"when": "manual"}})
    uri = editor.open("model.py", WHITENER)

    async def title() -> str:
        await editor.ask("jaxscope/trace", uri=uri)
        return next(lens.command.title for lens in await editor.lenses(uri) if lens.command)

    await editor.ask("jaxscope/trace", uri=uri)
    await editor.ask("jaxscope/time", uri=uri, function="project", forms=["captured"])
    measured = await title()
    assert "FLOP" in measured
    at = WHITENER.splitlines().index(next(line for line in WHITENER.splitlines() if "return" in line))
    start_of, end_of = types.Position(at, 11), types.Position(at, 12)
    editor.type(uri, types.Range(start_of, start_of), "-")
    assert "FLOP" not in await title()
    editor.type(uri, types.Range(start_of, end_of), "")
    assert await title() == measured


async def test_a_cancelled_request_ends_its_worker(start: Start) -> None:
    editor = await start({"trusted": True, "trace": {"when": "manual"}})
    uri = editor.open("model.py", WHITENER + "\nimport time\ntime.sleep(600)\n")
    running = asyncio.ensure_future(
        editor.client.protocol.send_request_async("jaxscope/trace", {"uri": uri}, msg_id="trace-1")
    )
    await editor.until(lambda: editor.client.progress_reports or None, lambda: "no progress is shown")
    editor.client.cancel_request(types.CancelParams("trace-1"))
    with pytest.raises(JsonRpcException) as caught:
        await asyncio.wait_for(running, 10)
    assert caught.value.code == -32800


async def test_the_cancel_button_of_the_progress_bar_ends_the_trace(start: Start) -> None:
    editor = await start({"trusted": True, "trace": {"when": "manual"}})
    uri = editor.open("model.py", WHITENER + "\nimport time\ntime.sleep(600)\n")
    running = asyncio.ensure_future(editor.ask("jaxscope/trace", uri=uri))
    reports = editor.client.progress_reports
    token = await editor.until(lambda: next((key for key, all in reports.items() if all), None), lambda: "no bar")
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    with pytest.raises(JsonRpcException) as caught:
        await asyncio.wait_for(running, 10)
    assert caught.value.code == -32800
    await editor.until(lambda: True if reports[token][-1].kind == "end" else None, lambda: "the bar stays")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("import sys; sys.exit(1)", "SystemExit"),
        ("import os; os.abort()", "signal"),
        ("import os; os._exit(7)", "7"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
async def test_code_that_ends_its_process_leaves_the_server_alive(start: Start, code: str, words: str) -> None:
    editor = await start({"trusted": True, "trace": {"when": "manual"}})
    uri = editor.open("model.py", UNSIZED.replace('jnp.asarray(np.load("weights.npy"))', "None") + f"\n{code}\n")
    try:
        await editor.ask("jaxscope/trace", uri=uri)
        said = ""
    except JsonRpcException as error:
        said = error.message
    model = await editor.ask("jaxscope/panel", uri=uri, function="project")
    assert model.state in ("failed", "stopped")
    assert words in said or words in model.message or words in getattr(model.failed, "message", "")
    editor.change(uri, WHITENER)
    await editor.ask("jaxscope/trace", uri=uri)
    model = await editor.ask("jaxscope/panel", uri=uri, function="project")
    assert model.state == "ready"


async def test_an_endless_loop_is_stopped_at_the_deadline(start: Start) -> None:
    editor = await start({"trusted": True, "trace": {"when": "manual", "timeout": 4}})
    uri = editor.open("model.py", WHITENER + "\nwhile True: pass\n")
    with pytest.raises(JsonRpcException) as caught:
        await editor.ask("jaxscope/trace", uri=uri)
    assert caught.value.code == -32803 and caught.value.data["kind"] == "timed-out"
    model = await editor.ask("jaxscope/panel", uri=uri, function="project")
    assert model.state == "stopped" and "jaxscope.trace.timeout" in model.message


async def test_an_interpreter_without_jax_is_said(start: Start) -> None:
    editor = await start({"trusted": False})
    venv.create(editor.folder / "bare", symlinks=True)
    python = str(editor.folder / "bare" / "bin" / "python")
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, bool)
    editor.client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"jaxscope": {"interpreter": python, "trace": {"when": "onSave"}}})
    )
    editor.client.protocol.notify("jaxscope/trusted", {})
    status = await editor.until(
        lambda: next((one for one in editor.notified["jaxscope/status"] if one.state == "no-jax"), None),
        lambda: str(editor.notified["jaxscope/status"]),
    )
    assert status.text.startswith("No JAX in ")
    assert (await editor.ask("jaxscope/panel", uri=uri, function="project")).state == "no-jax"


async def test_typing_is_traced_after_a_pause_when_asked_for(start: Start) -> None:
    editor = await start({"trusted": True, "trace": {"when": "onType"}})
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    editor.type(uri, types.Range(types.Position(7, 16), types.Position(7, 17)), "5")
    found = lambda: [lens.command.title for lens in lenses if lens.command]  # noqa: E731
    for _ in range(600):
        lenses = await editor.lenses(uri)
        if found() and found()[0].startswith("f32[5,700] → f32[5,700]"):
            break
        await asyncio.sleep(0.1)
    else:
        raise AssertionError(found())


async def test_several_captured_arrays_become_arguments_at_once(start: Start) -> None:
    text = WHITENER.replace("W = ", "V = jnp.asarray(np.random.default_rng(1).random((700, 700), np.float32))\nW = ")
    text = text.replace("x @ W", "x @ W @ V")
    editor = await start(ALLOWED)
    uri = editor.open("model.py", text)
    await editor.traced(uri)
    (first, _) = await editor.diagnostics(uri, lambda found: len(found) == 2)
    action = next(one for one in await editor.actions(uri, first.range) if one.title.startswith("Pass all"))
    assert action.title == "Pass all 2 captured arrays as arguments (3.7 MiB)" and action.command
    await editor.execute(action.command)
    assert editor.messages == [
        "2 captured arrays are now arguments of project. Traced again: constants gone, output unchanged. "
        "But for the new argument the program is the same."
    ]
    assert await editor.diagnostics(uri, lambda found: True) == []


async def test_restarting_starts_over(start: Start) -> None:
    editor = await start(ALLOWED)
    uri = editor.open("model.py", WHITENER)
    await editor.traced(uri)
    editor.notified["jaxscope/didTrace"].clear()
    await editor.ask("jaxscope/restart")
    await editor.traced(uri)


async def test_a_trace_of_one_file_tells_of_the_files_it_imports(start: Start) -> None:
    editor = await start({"trusted": True, "trace": {"when": "manual"}})
    library = WHITENER.split("# jaxscope")[0] + "@jax.jit\ndef project(x):\n    return x @ W\n"
    uri = editor.open("library.py", library)
    (inferred,) = await editor.diagnostics(uri, bool)
    assert "(inferred)" in inferred.message
    use = editor.open("use.py", "import jax.numpy as jnp\nfrom library import project\n\nproject(jnp.ones((9, 700)))\n")
    await editor.ask("jaxscope/trace", uri=use)
    await editor.diagnostics(uri, lambda found: bool(found) and "(inferred)" not in found[0].message)
    titles = [lens.command.title for lens in await editor.lenses(uri) if lens.command]
    assert titles == ["f32[9,700] → f32[9,700] · 1 constant 1.9 MiB"]
    seen = await editor.ask("jaxscope/program", uri=uri, function="project", stage="stablehlo", form="captured")
    assert [row.captured for row in seen.rows if row.literal == "captured"] == ["W"]
    assert "dot_general" in (await editor.hover(uri, 8, 5) or "")
