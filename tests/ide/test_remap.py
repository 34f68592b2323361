"""What a trace of an older text still says about the text as it is now."""

from __future__ import annotations

import pytest
from replay import Replay, traced

from jaxscope.ide.panel import panel
from jaxscope.ide.remap import LineMap


def whitener(before: str = "", after: str = "") -> Replay:
    replay = traced("whitener")
    text = replay.text.replace(before, after, 1) if before else replay.text
    assert not before or text != replay.text
    replay.workspace.set_text(replay.path, text)
    return replay


@pytest.mark.parametrize(
    ("old", "new", "line", "now"),
    [
        ("a\nb\nc", "a\nb\nc", 2, 2),
        ("a\nb\nc", "x\na\nb\nc", 2, 3),
        ("a\nb\nc", "a\nB\nc", 2, None),
        ("a\nb\nc", "a\nB\nc", 3, 3),
        ("a\nb\nc", "a\nc", 3, 2),
        ("a\r\nb\r\nc", "a\r\nx\r\nb\r\nc", 2, 3),
        ("a\nb\nc\nd\ne", "A\nb\nx\nc\nd\nE", 3, 4),
    ],
)
def test_lines_are_found_again(old: str, new: str, line: int, now: int | None) -> None:
    lines = LineMap(old, new)
    assert lines.forward(line) == now
    assert now is None or lines.backward(now) == line


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("a\nb\nc", "a\nb\nc", ()),
        ("a\nb\nc", "a\nB\nc", (2,)),
        ("a\nb\nc", "a\nx\ny\nb\nc", (2, 3)),
        ("a\nb\nc", "a\nc", (2,)),
        ("a\nb", "a", (1,)),
    ],
)
def test_changed_lines(old: str, new: str, changed: tuple[int, ...]) -> None:
    assert LineMap(old, new).changed == changed


def test_a_function_that_moved_keeps_its_facts_at_its_new_lines() -> None:
    replay = whitener("SHIFT =", "# one\n# two\nSHIFT =")
    facts = replay.workspace.function(replay.path, "whiten")
    assert facts and facts.shown and facts.shown.line == facts.line == 13
    assert facts.shown.constants[0].reads[0].frames[0].line == 15
    (finding,) = facts.findings
    assert finding.evidence == "both" and finding.range.start.line == 15
    assert replay.workspace.stale_lines(replay.path) == (6, 7)


def test_an_edited_function_loses_its_facts_and_the_inferred_finding_returns() -> None:
    replay = whitener("centred @ BASIS", "centred @ BASIS * 2")
    facts = replay.workspace.function(replay.path, "whiten")
    assert facts and facts.traced == ()
    assert [item.evidence for item in facts.findings] == ["static"]


@pytest.mark.parametrize(
    "binding",
    [
        "BASIS = jnp.asarray(np.random.default_rng(0).standard_normal((800, 800), np.float32))",
        "BASIS = jnp.asarray(\n    np.ones(\n        (800, 800), np.float32\n    )\n)",
    ],
)
def test_an_edit_of_what_makes_the_array_takes_its_figures_back(binding: str) -> None:
    replay = traced("whitener")
    line = next(line for line in replay.text.splitlines() if line.startswith("BASIS"))
    replay.workspace.set_text(replay.path, replay.text.replace(line, binding))
    facts = replay.workspace.function(replay.path, "whiten")
    assert facts and facts.traced == ()
    (finding,) = facts.findings
    assert finding.evidence == "static" and finding.array and finding.array.shape == (800, 800)
    assert (add := replay.workspace.function(replay.path, "add")) and add.not_traced
    replay.workspace.set_text(replay.path, replay.text)
    assert [item.evidence for item in replay.workspace.findings(replay.path)] == ["both"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("    return centred @ BASIS\n", ""), ("@jax.jit\ndef whiten", "@jax.jit\n@other\ndef whiten")],
)
def test_a_line_gone_from_the_end_or_a_new_decorator_is_an_edit(before: str, after: str) -> None:
    facts = whitener(before, after).workspace.function("/project/whitener.py", "whiten")
    assert facts is None or facts.traced == ()


def test_a_failed_function_that_was_edited_is_no_longer_failed() -> None:
    kept = whitener("SHIFT =", "\nSHIFT =").workspace.function("/project/whitener.py", "add")
    assert kept and kept.not_traced and kept.not_traced.line == kept.line == 24
    assert kept.not_traced.failure and kept.not_traced.failure.place and kept.not_traced.failure.place.line == 25
    gone = whitener("return a + b", "return a[0] + b[0]").workspace.function("/project/whitener.py", "add")
    assert gone and gone.not_traced is None


def test_going_back_to_the_traced_text_brings_everything_back() -> None:
    replay = whitener("centred @ BASIS", "centred @ (BASIS")
    replay.workspace.set_text(replay.path, replay.text)
    facts = replay.workspace.function(replay.path, "whiten")
    assert facts and facts.shown and replay.workspace.stale_lines(replay.path) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def whiten(batch)", "def whiten(batch, basis)"),
        ("centred @ BASIS", "centred @ basis"),
        ("@jax.jit\ndef whiten", "@jax.jit\n@other\ndef whiten"),
    ],
)
def test_the_panel_keeps_the_last_trace_of_an_edited_function_as_stale(before: str, after: str) -> None:
    was, now = traced("whitener"), whitener(before, after)
    old, new = (panel(item.workspace, item.path, "whiten", None, item.situation()) for item in (was, now))
    assert old.state == new.state == "ready"
    assert new.stale_lines and not old.stale_lines
    assert (new.signatures, new.jaxpr, new.traced_at) == (old.signatures, old.jaxpr, old.traced_at)
    assert [(item.name, item.bytes) for item in new.constants] == [(item.name, item.bytes) for item in old.constants]
    read_is_gone = "@ BASIS" in before
    assert bool(new.constants[0].reads) is not read_is_gone
