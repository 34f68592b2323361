"""Whatever the runs of random programs read after a statement, `is_read_after` says can be read."""

from __future__ import annotations

import ast
import contextlib
import random
from typing import Any

import pytest

from jaxscope.semantics.updates.liveness import is_read_after

_SIMPLE = ("use(old)", "old = new()", "pass", "old = use(old)", "fail()", "return", "del old")
_PARTS = ("else", "except", "finally", "case")
_RUNS = 60
_LONGEST = 60
"""Conditions asked in one run."""


def _block(rng: random.Random, depth: int, looping: bool) -> list[str]:
    lines = [line for _ in range(rng.randint(1, 3)) for line in _statement(rng, depth, looping)]
    return ["    " + line for line in lines]


def _statement(rng: random.Random, depth: int, looping: bool) -> list[str]:
    kind = (
        rng.choice(["simple", "simple", "simple", "if", "while", "for", "with", "try", "match"]) if depth else "simple"
    )
    inner, loop = (lambda: _block(rng, depth - 1, looping)), (lambda: _block(rng, depth - 1, True))
    if kind == "simple":
        return [rng.choice((*_SIMPLE, "break", "continue") if looping else _SIMPLE)]
    if kind == "if":
        return ["if chance():", *inner(), "else:", *inner()]
    if kind == "while":
        return ["while chance():", *loop(), "else:", *inner()]
    if kind == "for":
        return [f"for {rng.choice(['_', 'old'])} in [new(), new()]:", *loop()]
    if kind == "with":
        return ["with suppress(KeyError):", *inner()]
    if kind == "try":
        return ["try:", *inner(), "except KeyError:", *inner(), "else:", *inner(), "finally:", *inner()]
    return ["match chance():", "    case True:", *("    " + line for line in inner())]


def _program(seed: int) -> str:
    """A function that has one call of `step` somewhere."""
    rng = random.Random(seed)
    lines = _block(rng, 3, looping=False)
    places = [number for number, line in enumerate(lines) if not line.lstrip().startswith(_PARTS)]
    at = rng.choice(places)
    lines.insert(at, lines[at][: len(lines[at]) - len(lines[at].lstrip())] + "step(old)")
    return "\n".join(["def program(old):", *lines])


class _Over(BaseException):
    """Ends a run that is long enough."""


def _is_read(program: str, rng: random.Random) -> bool:
    """Does a run read the value that `old` had when `step` was called?"""
    marked: list[object] = []
    read: list[bool] = []
    asked = iter(range(_LONGEST))

    def chance() -> bool:
        if next(asked, None) is None:
            raise _Over
        return rng.random() < 0.5

    def use(value: object) -> object:
        read.append(any(value is one for one in marked))
        return object()

    def fail() -> None:
        if rng.random() < 0.5:
            raise KeyError

    names: dict[str, Any] = {"chance": chance, "use": use, "fail": fail, "step": marked.append}
    names |= {"new": object, "suppress": contextlib.suppress}
    exec(program, names)
    function = names["program"]
    with contextlib.suppress(KeyError, UnboundLocalError, _Over):
        function(object())
    return any(read)


def _is_said(program: str) -> bool:
    (function,) = ast.parse(program).body
    assert isinstance(function, ast.FunctionDef)
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    (step,) = [call for call in calls if ast.unparse(call) == "step(old)"]
    used = [node for node in ast.walk(function) if isinstance(node, ast.Call) and ast.unparse(node) == "use(old)"]
    parents = {id(child): node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    return is_read_after(function.body, step, "old", [call.args[0] for call in used], parents)


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_all_that_runs_read_is_found(first: int) -> None:
    programs = [_program(seed) for seed in range(first, first + 100)]
    read = [one for one in programs if any(_is_read(one, random.Random(run)) for run in range(_RUNS))]
    assert len(read) > 5
    for program in read:
        assert _is_said(program), program


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("step(old)\nold = new()\nuse(old)", False),
        ("for _ in r:\n    step(old)\n    old = new()\nuse(old)", False),
        ("for _ in r:\n    use(old)\n    step(old)\n    old = new()", False),
        ("for _ in r:\n    old = new()\n    use(old)\n    step(old)", False),
        ("while c:\n    use(old)\n    step(old)", True),
        ("step(old)\nif c:\n    old = new()\nuse(old)", True),
        ("step(old)\nif c:\n    old = new()\nelse:\n    return\nuse(old)", False),
        ("for _ in r:\n    step(old)\n    if c:\n        break\n    old = new()\nelse:\n    return\nuse(old)", True),
        ("for old in r:\n    use(old)\n    step(old)", False),
    ],
)
def test_control_flow(body: str, read: bool) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    assert _is_said(f"def program(old):\n{lines}") is read
