"""Whether a traced program depends on what has changed since: told by tracing it again, which nobody notices."""

from __future__ import annotations

from pathlib import Path

import pytest
from changing_programs import FORMS, HEAD
from jaxscope_worker.wire.messages import DeclaredSignature, TraceReply

from support import trace


def _depends(reply: TraceReply) -> dict[str, bool | None]:
    return {f"{one.function} {one.name}": one.depends for one in reply.changed}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_program_depends_on(form: str, tmp_path: Path) -> None:
    text, expected = FORMS[form]
    reply = trace(tmp_path, {"program.py": HEAD + text}, entries=("main",))
    assert reply.failure is None
    assert _depends(reply) == expected


NOISY = """
    import jax
    import jax.numpy as jnp

    scale, traces, log = 1.0, 0, []

    class Agent:
        last = None

    agent = Agent()

    @jax.jit
    def inner(x):
        return x * scale

    @jax.jit
    def f(x):
        global traces
        traces += 1
        print("tracing")
        log.append(x)
        agent.last = x
        try:
            open("/written", "w")
        except OSError:
            pass
        return inner(x) * 2

    @jax.jit
    def never_called(x):
        return x + len(log)

    def main():
        global scale
        f(1.0)
        scale = NEW
"""


def test_nobody_notices_the_further_trace(tmp_path: Path) -> None:
    guess = DeclaredSignature("never_called", "", "guess")
    kept, changed = (
        trace(tmp_path / new, {"program.py": NOISY.replace("NEW", new)}, entries=("main",), declared=(guess,))
        for new in ("1.0", "2.0")
    )
    assert _depends(changed) == {"inner scale": True, "f traces": False}
    assert _depends(kept) == {"f traces": False}
    assert changed.failure is None
    assert [one.name for one in changed.leaks] == [one.name for one in kept.leaks]
    assert {one.function for one in changed.leaks} == {"f"}
    assert len(changed.denied) == len(kept.denied) == 1
    assert changed.not_traced == kept.not_traced == ()
    assert [(one.function, one.traces) for one in changed.retraced] == [("f", 1)]
    assert [(one.function, one.calls) for one in changed.functions] == [(o.function, o.calls) for o in kept.functions]


WAITS = {
    "for a lock that the first trace left held": "lock.acquire()",
    "for a queue that the first trace has emptied": "queue.get()",
    "for a clock": "time.sleep(1e9 if traces > 1 else 0)",
}


@pytest.mark.parametrize("how", WAITS)
def test_a_further_trace_that_waits_forever_costs_what_it_would_have_shown(how: str, tmp_path: Path) -> None:
    program = f"""
    import queue, threading, time
    import jax

    lock, queue, traces, scale = threading.Lock(), queue.Queue(), 0, 1.0
    queue.put(1)

    @jax.jit
    def f(x):
        global traces
        traces += 1
        {WAITS[how]}
        return x * scale

    def main():
        global scale
        f(1.0)
        scale = 2.0
    """
    reply = trace(tmp_path, {"program.py": program}, entries=("main",))
    assert reply.failure is None
    assert [one.function for one in reply.functions] == ["f"]
    assert _depends(reply) == {"f scale": None, "f traces": None}


def test_what_a_declared_signature_changes_is_not_the_programs_doing(tmp_path: Path) -> None:
    program = """
    import jax

    count = 0

    @jax.jit
    def f(x):
        return x + count

    @jax.jit
    def declared(x):
        global count
        count = count + 1
        return x

    f(1.0)

    def main():
        global count
        CHANGE
    """
    declared = DeclaredSignature("declared", "(f32[])", "annotation")
    for change, expected in (("pass", []), ("count = 7", [("f", "count", "0", "7", True)])):
        files = {"program.py": program.replace("CHANGE", change)}
        reply = trace(tmp_path / change[:4], files, entries=("main",), declared=(declared,))
        assert {one.function for one in reply.functions} == {"f", "declared"}
        assert [(one.function, one.name, one.then, one.now, one.depends) for one in reply.changed] == expected
