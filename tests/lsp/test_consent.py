"""The question whether code may be run, its answers, and what is not let through."""

from __future__ import annotations

import pytest
from programs import WHITENER
from pygls.exceptions import JsonRpcException

from editor import Start

pytestmark = [pytest.mark.asyncio, pytest.mark.jax]

ALLOWED = {"trusted": True, "trace": {"when": "onSave"}}


async def test_the_question_is_asked_once_and_the_answer_kept(start: Start) -> None:
    editor = await start({"trusted": True})
    editor.answer = "Only when I ask"
    uri = editor.open("model.py", WHITENER)
    await editor.until(lambda: editor.questions or None, lambda: "nothing was asked")
    assert [item.title for item in editor.questions[0].actions or []] == [
        "When I save",
        "Only when I ask",
        "Never here",
    ]
    await editor.until(
        lambda: True if editor.notified["jaxscope/status"][-1].policy == "traces when asked" else None,
        lambda: str(editor.notified),
    )
    editor.save(uri)
    editor.open("other.py", WHITENER)
    await editor.ask("jaxscope/trace", uri=uri)
    assert len(editor.questions) == 1
    again = await start({"trusted": True})
    second = again.open("model.py")
    await again.ask("jaxscope/trace", uri=second)
    assert again.questions == []


async def test_nothing_runs_while_the_question_is_open_or_dismissed(start: Start) -> None:
    editor = await start({"trusted": True})
    marker = editor.folder / "ran"
    uri = editor.open("model.py", WHITENER + f"\nopen({str(marker)!r}, 'w').close()\n")
    await editor.until(lambda: editor.questions or None, lambda: "nothing was asked")
    editor.save(uri)
    with pytest.raises(JsonRpcException, match="may not run code"):
        await editor.ask("jaxscope/trace", uri=uri)
    assert (await editor.ask("jaxscope/panel", uri=uri, function="project")).state == "consent"
    assert not marker.exists() and len(editor.questions) == 1


async def test_a_newly_trusted_workspace_is_asked_about(start: Start) -> None:
    editor = await start({"trusted": False})
    editor.answer = "When I save"
    uri = editor.open("model.py", WHITENER)
    await editor.diagnostics(uri, bool)
    assert editor.questions == []
    editor.client.protocol.notify("jaxscope/trusted", {})
    await editor.traced(uri)
    assert len(editor.questions) == 1


async def test_a_blocked_write_is_told(start: Start) -> None:
    editor = await start(ALLOWED)
    target = editor.folder / "never-written.txt"
    text = f"{WHITENER}\ntry:\n    open({str(target)!r}, 'w').close()\nexcept OSError:\n    pass\n"
    uri = editor.open("model.py", text)
    await editor.traced(uri)
    found = await editor.diagnostics(uri, lambda seen: any(item.code == "side-effect-guard" for item in seen))
    item = next(one for one in found if one.code == "side-effect-guard")
    assert item.message.startswith("Importing `model.py` tried to write `") and not target.exists()
