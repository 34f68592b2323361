"""What an entry prints is its result where it returns nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from verified import verify

PRINTS = """\
import jax
import jax.numpy as jnp

W = jnp.arange(6.0)


@jax.jit
def f(x):
    y = (x * W).sum()
    return y


def run():
    for step in range(3):
        print(step, f"loss {f(jnp.full(6, step + 0.5)):.5f}")
"""


PASSED = PRINTS.replace("def f(x)", "def f(x, W)").replace("step + 0.5))", "step + 0.5), W)")


@pytest.mark.parametrize("results", ["same", "eager", "arrays", "prints"])
def test_what_is_printed_counts_where_nothing_is_returned(tmp_path: Path, results: str) -> None:
    reply = verify(tmp_path, PRINTS, PASSED, results=results)
    assert (reply.results_equal, reply.values_equal, reply.printed, reply.silent) == (True, True, True, "")
    for wrong in ("y * 1.01", "y.round()"):
        reply = verify(tmp_path, PRINTS, PASSED.replace("return y", f"return {wrong}"), results=results)
        assert reply.results_equal is False and reply.detail.startswith("what run() prints "), reply
    worded = verify(tmp_path, PRINTS, PASSED.replace('f"loss', 'f"gain'), results=results)
    assert worded.results_equal is False


def test_text_that_is_another_in_each_run_is_not_compared(tmp_path: Path) -> None:
    before, after = (text + "    import time\n    print(time.time_ns())\n" for text in (PRINTS, PASSED))
    assert verify(tmp_path, before, after).results_equal is None


@pytest.mark.parametrize("said", ["pass", "print('done')", "jax.jit(lambda x: [x, print(x)][0])(1)"])
def test_nothing_to_compare_is_named(tmp_path: Path, said: str) -> None:
    before, after = (text.replace("print(step, f", "_ = (step, f") + f"    {said}\n" for text in (PRINTS, PASSED))
    reply = verify(tmp_path, before, after.replace("return y", "return y * 2"), results="eager")
    assert (reply.results_equal, reply.silent, reply.printed) == (None, "run", False)


TRACED = PRINTS.replace("    return y", '    print("y", y)\n    return y')


@pytest.mark.parametrize("quiet", [False, True])
def test_a_print_that_moves(tmp_path: Path, quiet: bool) -> None:
    """What the fix itself prints is not held against it, and what it leaves in place is compared."""
    before = TRACED.replace("print(step, f", "_ = (step, f") if quiet else TRACED
    after = before.replace('print("y", y)', 'jax.debug.print("y {}", y)')
    reply = verify(tmp_path, before, after, results="prints")
    assert (reply.programs_equal, reply.results_equal) == (True, None if quiet else True), reply
    assert reply.values_equal is not False
    other = verify(tmp_path, before, after.replace("return y", "return y * 1.01"), results="prints")
    assert other.values_equal is False, other


@pytest.mark.parametrize(
    "loop", ["jax.lax.fori_loop(0, 2, body, x)", "jax.lax.scan(lambda c, a: (body(a, c), a), x, x)[0]"]
)
def test_a_print_that_moves_within_a_loop(tmp_path: Path, loop: str) -> None:
    body = f'\n    def body(i, c):\n        print("c", c)\n        return c * 0.5\n    return {loop}\n'
    before = "import jax\nimport jax.numpy as jnp\n\n\n@jax.jit\ndef f(x):" + body
    before += "\n\ndef run():\n    f(jnp.ones(3))\n"
    after = before.replace('print("c", c)', 'jax.debug.print("c {}", c)')
    assert verify(tmp_path, before, after, results="prints", constant="print").programs_equal is True
    other = verify(tmp_path, before, after.replace("c * 0.5", "c * 0.25"), results="prints", constant="print")
    assert other.programs_equal is False and other.values_equal is False
    assert other.detail.endswith(
        "`run` returns nothing and prints nothing that could be compared; return what it computes"
    )
