"""Functions of which nothing tells the shapes are traced under guesses; nobody hears of the attempts."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxscope_worker.wire.messages import DeclaredSignature, TraceReply

from support import Worker, one, request, trace, write

PROGRAM = (Path(__file__).parent / "guessed_program.py").read_text(encoding="utf-8")
UNSOLVABLE = ("never_fits", "needs_values")
"""Nothing can be traced: the function is wrong, or its jit is."""


def guess(tmp_path: Path, text: str, *names: str, entries: tuple[str, ...] = ()) -> TraceReply:
    declared = tuple(DeclaredSignature(name, "", "guess") for name in names)
    reply = trace(tmp_path, {"program.py": text}, declared=declared, entries=entries)
    assert reply.failure is None, reply.failure
    return reply


def names_in(text: str) -> list[str]:
    return [line[4:].partition("(")[0] for line in text.splitlines() if line.startswith("def ")]


def types(reply: TraceReply, function: str) -> str:
    return ", ".join(p.type for p in one(reply, function).parameters)


def solved_of(project: Path, names: list[str]) -> list[str]:
    """Those of the functions that one worker finds arguments for."""
    with Worker(project) as worker:
        declared = tuple(DeclaredSignature(name, "", "guess") for name in names)
        reply = worker.request(request(project, declared=declared))
    assert (reply.failure, reply.not_traced, reply.denied) == (None, (), ())
    assert all(item.source == "guess" for item in reply.functions)
    traced = {item.function for item in reply.functions}
    return [name for name in names if name in traced]


def test_most_functions_are_solved(tmp_path: Path) -> None:
    """The search ends after some time, which a busy machine gives to others: what was left is tried again, alone."""
    project = write(tmp_path, {"program.py": PROGRAM})
    wanted = names_in(PROGRAM)
    solved = [name for at in range(0, len(wanted), 2) for name in solved_of(project, wanted[at : at + 2])]
    solved += [name for one in wanted if one not in solved for name in solved_of(project, [one])]
    unsolved = [name for name in wanted if name not in solved]
    assert set(UNSOLVABLE) <= set(unsolved)
    assert len(solved) >= 0.9 * (len(wanted) - len(UNSOLVABLE)), unsolved


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("matmul", "f32[8,64]"),
        ("mlp_params", "{w1: f32[8,8], b1: f32[8], w2: f32[8,8], b2: f32[8]}, f32[8,8]"),
        ("attention", "f32[8,8,32]"),
        ("embed", "i32[8,8]"),
        ("scan_rnn", "f32[8,128], f32[8,64]"),
        ("noisy", "key<fry>[], f32[8,64]"),
        ("act", "f32[8,64], 'relu'"),
        ("named", "State(w: f32[8,128], step: i32[]), f32[8,64]"),
        ("concat", "f32[8,32], f32[8,32]"),
    ],
)
def test_guesses_fit_the_captured_arrays(tmp_path: Path, function: str, expected: str) -> None:
    reply = guess(tmp_path, PROGRAM, function)
    assert types(reply, function) == expected
    assert [c.name for c in one(reply, function).constants] or function == "mlp_params"


QUIET = """
    import jax
    import jax.numpy as jnp

    W = jnp.ones((64, 64))
    seen = []


    @jax.jit
    def prints(x):
        print("tried")
        return x @ W


    @jax.jit
    def writes(x):
        open("out.txt", "w").write("x")
        return x @ W


    @jax.jit
    def forever(x):
        while True:
            try:
                x = x + 1
            except BaseException:
                raise


    @jax.jit
    def called(x):
        return x @ W


    def main():
        called(jnp.ones((3, 64)))


    def nested():
        @jax.jit
        def inner(x):
            return x @ W

        return inner
"""


def test_nothing_is_told_of_attempts(tmp_path: Path) -> None:
    wanted = ("prints", "writes", "forever", "called", "nested.<locals>.inner", "prints")
    reply = guess(tmp_path, QUIET, *wanted, entries=("main",))
    assert (reply.not_traced, reply.denied) == ((), ())
    assert {(f.function, f.source) for f in reply.functions} == {("prints", "guess"), ("called", "run")}
    assert types(reply, "called") == "f32[3,64]"
    assert [c.name for c in one(reply, "prints").constants] == ["W"]
    assert not (tmp_path / "project" / "out.txt").exists()


UNWILLING = """
    import abc
    import dataclasses
    from typing import NamedTuple

    import jax
    import jax.numpy as jnp

    W = jnp.ones((64, 64))


    @dataclasses.dataclass
    class Abstract(abc.ABC):
        w: jax.Array

        @abc.abstractmethod
        def apply(self, x): ...


    class Choosy(NamedTuple("Choosy", [("w", jax.Array)])):
        def __new__(cls, w):
            raise ValueError("wants something else")


    @jax.jit
    def abstract(op: Abstract, x):
        return op.apply(x)


    @jax.jit
    def choosy(op: Choosy, x):
        return op.w @ x


    @jax.jit
    def private(state, x):
        return state._w * state.scale + x @ W


    @jax.jit
    def other(x):
        return x @ W
"""


def test_classes_that_cannot_be_made_cost_no_other_guess(tmp_path: Path) -> None:
    reply = guess(tmp_path, UNWILLING, "other", "abstract", "choosy")
    assert [c.name for c in one(reply, "other").constants] == ["W"]
    assert reply.not_traced == ()


def test_private_attributes_are_found(tmp_path: Path) -> None:
    reply = guess(tmp_path, UNWILLING, "private")
    assert "_w: " in types(reply, "private") and "scale: " in types(reply, "private")


def test_what_runs_later_is_seen_as_ever(tmp_path: Path) -> None:
    """A deadline that passed, and observers that were off, leave nothing behind."""
    project = write(tmp_path, {"program.py": QUIET})
    with Worker(project) as worker:
        for _ in range(2):
            declared = (DeclaredSignature("forever", "", "guess"), DeclaredSignature("prints", "", "guess"))
            reply = worker.request(request(project, declared=declared, entries=("main",)))
            assert [f.function for f in reply.functions] == ["called", "prints"]
            assert [c.name for c in one(reply, "called").constants] == ["W"]
