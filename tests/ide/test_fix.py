"""Preparing fixes, several at once, and what is said of their proof."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from replay import Replay, traced, untraced

from jaxscope.config import Config
from jaxscope.ide import fix, fix_kinds
from jaxscope.ide.jaxpr import first_equations
from jaxscope.ide.workspace import Workspace
from jaxscope.refactor.change import Hoist, Refusal
from jaxscope.rules.finding import Finding, FixOffer
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.donating import Reuse
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, VerifyReply

DONATED = Finding(
    "donation",
    "warning",
    "/p/a.py",
    Range(Position(3, 2), Position(3, 9)),
    "step",
    "p",
    "`p` is replaced",
    "traced",
    fixes=(FixOffer("Donate `p`", "donate", "safe", ("p",)),),
)


def findings(replay: Replay) -> list[Finding]:
    return [item for item in replay.workspace.judgement(replay.path).findings if item.rule == "captured-array"]


def changed(planned: SourceChange | Refusal) -> str:
    assert isinstance(planned, SourceChange)
    (file,) = planned.files
    return file.changed


def test_the_declared_shapes_get_the_new_argument() -> None:
    replay = traced("whitener")
    text = changed(fix.prepare(replay.workspace, findings(replay)[0]))
    assert "# jaxscope: f32[32,700], f32[700,700]\n@jax.jit\ndef whiten(batch, BASIS):\n" in text


def test_the_files_before_and_after_are_what_is_run() -> None:
    replay = traced("whitener")
    finding = findings(replay)[0]
    change = fix.prepare(replay.workspace, finding)
    assert isinstance(change, SourceChange)
    request = fix.verification(replay.workspace, change, finding)
    assert request is not None
    assert request.before.text == replay.text and request.after.text == changed(change)
    assert (request.function, request.constant) == ("whiten", "BASIS")
    assert [item.signature for item in request.after.declared if item.function == "whiten"] == [
        "f32[32,700], f32[700,700]"
    ]


def test_all_at_once() -> None:
    replay = untraced("mixture")
    text = changed(fix.prepare_all(replay.workspace, findings(replay)))
    names = ", ".join(f"W{index}" for index in range(10))
    assert f"def mixture(x, {names}):" in text
    assert text.count("f32[1024,") == 10
    assert replay.workspace.text(replay.path) == replay.text


def test_places_of_several_fixes_keep_their_width() -> None:
    step = "\n\n@jax.jit\ndef advance{0}(state):\n    return jnp.roll(state, 1)\n"
    loop = "\n\nstate{0} = jnp.ones((1024, 1024))\nfor _ in range(10):\n    state{0} = advance{0}(state{0})\n"
    text = "import jax\nimport jax.numpy as jnp\n" + "".join(step.format(n) + loop.format(n) for n in (1, 2))
    workspace = Workspace("/project", Config())
    workspace.set_text("/project/train.py", text)
    found = fix.safe(workspace, "/project/train.py")
    assert [item.rule for item in found] == ["donation", "donation"]
    after = changed(fix.prepare_all(workspace, found))
    assert after.count("partial(jax.jit, donate_argnums=(0,))\ndef advance") == 2


@pytest.mark.parametrize("error", [KeyError("W"), StopIteration(), RecursionError("too deep")])
def test_a_mistake_in_planning_is_a_refusal(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(project: Project, finding: Finding) -> SourceChange | Refusal:
        raise error

    replay = untraced("whitener")
    (finding, *_) = findings(replay)
    monkeypatch.setitem(fix_kinds.PLANNERS, finding.fixes[0].kind, fails)
    with ThreadPoolExecutor(1) as pool:  # a future never ends with StopIteration
        plan = pool.submit(fix.prepare_apart, "/project", {replay.path: replay.text}, finding)
        planned = asyncio.run(asyncio.wait_for(_awaited(plan), 30))
    assert isinstance(planned, Refusal)
    assert planned.reason == f"the fix could not be planned: {error or type(error).__name__}"
    assert caplog.records[-1].exc_info and caplog.records[-1].exc_info[1] is error


async def _awaited(plan: Future[SourceChange | Refusal]) -> SourceChange | Refusal:
    return await asyncio.wrap_future(plan)


def test_edits_by_line_leave_equal_lines_alone() -> None:
    old, new = "a\r\nb\r\nc\n", "a\r\nB\r\nc\nd"
    edit = fix.line_edits(old, new)
    assert edit.apply(old) == new and len(edit.edits) == 2


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (VerifyReply(True, True, True, True), None),
        (VerifyReply(True, None, None, None), None),
        (VerifyReply(False, None, None, None, "it would fail"), "it would fail."),
        (VerifyReply(True, False, True, None), "`BASIS` would still be compiled into whiten."),
        (
            VerifyReply(True, True, False, None, "the output of whiten would change from f32[3] to f32[4]"),
            "the output of whiten would change from f32[3] to f32[4].",
        ),
        (VerifyReply(True, True, True, False), "the values that whiten returns would change."),
        (Failure("timed-out", "stopped after 60 s"), "stopped after 60 s."),
        (Failure("no-jax", "No JAX"), None),
    ],
)
def test_what_speaks_against_it(reply: VerifyReply | Failure, said: str | None) -> None:
    assert fix.rejection(reply, findings(traced("whitener"))[0]) == said


def test_of_several_outcomes_the_one_that_shows_least_is_told() -> None:
    all_seen, types_only = VerifyReply(True, True, True, True), VerifyReply(True, True, True, None)
    not_run, failed = VerifyReply(True, None, None, None), Failure("no-jax", "No JAX")
    assert fix.weakest([all_seen]) is all_seen
    assert fix.weakest([types_only, all_seen]) is types_only
    assert fix.weakest([all_seen, not_run, types_only]) is not_run
    assert fix.weakest([not_run, failed, all_seen]) is failed


@pytest.mark.parametrize(
    ("reply", "why", "said"),
    [
        (VerifyReply(True, True, True, True, results_equal=True), "", "Traced again: constant gone, output unchanged."),
        (
            VerifyReply(True, True, True, True, programs_equal=True),
            "",
            "Traced again: constant gone, output unchanged. But for the new argument the program is the same.",
        ),
        (
            VerifyReply(True, True, True, True, programs_equal=False),
            "",
            "Traced again: constant gone, output unchanged. "
            "The program is another one; its output was compared for made-up arguments.",
        ),
        (VerifyReply(True, True, True, None), "", "Traced again: constant gone, output types unchanged."),
        (VerifyReply(True, None, None, None), "", "Not verified: no shapes are known for whiten."),
        (Failure("no-jax", "No JAX"), "", "Not verified: No JAX."),
        (None, "your code is not run", "Not verified: your code is not run."),
    ],
)
def test_what_is_said_of_it(reply: VerifyReply | Failure | None, why: str, said: str) -> None:
    found = findings(traced("whitener"))[:1]
    assert fix.applied(reply, found, why) == f"BASIS is now an argument of whiten. {said}"


@pytest.mark.parametrize(
    ("reuse", "results", "said"),
    [
        (Reuse(4 << 20), True, "Run again: output unchanged. The compiled program reuses 4.0 MiB."),
        (Reuse(4 << 20), None, "Traced again: the same program. The compiled program reuses 4.0 MiB."),
        (
            Reuse(None, "this backend ignores donation"),
            True,
            "Run again: output unchanged. Reuse of memory not verified: this backend ignores donation.",
        ),
        (None, True, "Run again: output unchanged. Reuse of memory not verified: no trace shows what is given away."),
    ],
)
def test_what_is_said_of_memory_given_away(reuse: Reuse | None, results: bool | None, said: str) -> None:
    reply = VerifyReply(True, None, True, True, programs_equal=True, results_equal=results, reuse=reuse)
    assert fix.rejection(reply, DONATED) is None
    assert fix.applied(reply, [DONATED]) == f"Done in step: Donate `p`. {said}"


def test_memory_that_nothing_is_written_into() -> None:
    reply = VerifyReply(True, None, True, True, results_equal=True, reuse=Reuse(0))
    assert fix.rejection(reply, DONATED) == "the compiled program would not reuse the memory of `p`."


def test_a_refusal_names_the_line_once() -> None:
    assert fix.refused(Refusal("`layer` is a scan body.", "/p/a.py", 43), "/p/a.py") == (
        "Not offered: `layer` is a scan body (line 43)."
    )
    assert fix.refused(Refusal("see line 43", "/p/a.py", 43), "/p/a.py") == "Not offered: see line 43."
    assert fix.refused(Refusal("called", "/p/b.py", 7), "/p/a.py") == "Not offered: called (b.py line 7)."


def test_the_beginning_of_a_jaxpr() -> None:
    text = traced("whitener").recorded["jaxprs"]["f1"]
    assert first_equations(text, 12) == (text, 0)
    head, more = first_equations(text, 4)
    assert head.splitlines()[-1].strip().startswith("f:f32[32,700] = sub") and more == 1


@pytest.mark.parametrize(
    ("reply", "proved"),
    [
        (VerifyReply(True, True, True, True, results_equal=True), True),
        (VerifyReply(True, None, True, True, results_equal=True), True),  # a container's arrays have names of their own
        (VerifyReply(True, True, True, None, ""), False),
        (VerifyReply(True, None, None, True, results_equal=True), False),  # the function was not traced
        (VerifyReply(True, True, True, True, programs_equal=True), False),  # no caller was seen
        (Failure("unsupported", ""), False),
        (None, False),
    ],
)
def test_a_doubt_is_cleared_by_a_run_alone(reply: VerifyReply | Failure | None, proved: bool) -> None:
    doubt = Refusal("`W` may be missing.", "case.py", 3)
    refusal = fix.unproved(Hoist((), (doubt,)), reply)
    assert (refusal is None) is proved
    assert (
        refusal is None or refusal.reason == "`W` may be missing; only a run of the program can show whether it is so."
    )
    assert fix.unproved(Hoist(()), reply) is None


def _of_kind(kind: str) -> Finding:
    return replace(DONATED, fixes=(FixOffer("Mend it", kind, "safe"),))


@pytest.mark.parametrize(
    ("kind", "reply", "rejected", "said"),
    [
        ("random-key", VerifyReply(True, None, True, None, results_equal=True), False, "the numbers are others"),
        ("random-key", VerifyReply(True, None, False, None, results_equal=False), True, ""),
        ("random-key", VerifyReply(True, None, None, None), False, "Not verified: no results were compared."),
        ("enable-x64", VerifyReply(True, None, False, None, results_equal=True), False, "it runs, with 64 bits"),
        ("enable-x64", VerifyReply(True, None, False, None, results_equal=False), True, ""),
        ("say-dtype", VerifyReply(True, False, True, True, results_equal=True), False, "output unchanged"),
        ("say-dtype", VerifyReply(True, False, True, False, results_equal=False), True, ""),
        ("array-to-argument", VerifyReply(True, False, True, True, results_equal=True), True, ""),
    ],
)
def test_what_each_kind_may_change(kind: str, reply: VerifyReply, rejected: bool, said: str) -> None:
    finding = _of_kind(kind)
    assert (fix.rejection(reply, finding) is not None) is rejected
    assert said in ("" if rejected else fix.applied(reply, [finding]))


def test_what_asks_is_no_part_of_fixing_all() -> None:
    assert {"random-key", "enable-x64", "debug-callback", "debug-print"} <= fix_kinds.MENDING


def test_what_jax_makes_is_not_called_an_argument() -> None:
    made = replace(_of_kind("array-to-argument"), via="numpy-made-inside", name="noise", function="f")
    assert fix.applied(None, [made]).startswith("noise is no longer made by NumPy while f is traced.")
