"""Where in a function something happens, and whether one thing can happen before another in the same run of it.

A place is the statements around it, from the function's body inwards. That is enough to see order, branches of which
only one runs, and loops."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jaxscope.semantics.names.loops import LOOPS, leaves, repeats
from jaxscope.semantics.names.scopes import Scope

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel

_TRIES = ("body", "handlers", "orelse", "finalbody")
_LEAVES = (ast.Return, ast.Raise)
_NESTED = ("body", "orelse", "handlers", "finalbody", "cases")


class Step(NamedTuple):
    """A statement around a place."""

    statement: ast.AST
    part: str
    """The part of the statement around it that it stands in: `body`, `orelse`, …"""
    number: int
    siblings: list[ast.stmt]


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A call, or a change of a name, in the code of one function or module."""

    home: object
    """The function whose code it is; the path of the file where that is a module."""
    scope: Scope
    node: ast.AST
    steps: tuple[Step, ...]
    at: tuple[int, int]
    """Where it happens within its statement: what is written later happens later."""
    loops: tuple[ast.AST, ...]
    """The loops that repeat it, the outermost first."""


def spot_of(model: FileModel, scope: Scope, node: ast.AST, *, changes: bool = False) -> Spot:
    """The place of a node that stands in `scope`; with `changes` of an assignment, which happens when its statement
    ends."""
    owner = scope.owner()
    while owner.kind == "class" and owner.parent is not None:
        owner = owner.parent
    in_module = owner.kind == "module"
    steps = _steps(model, owner, node, in_module)
    last = steps[-1].statement if steps else node
    ends = last if changes and not isinstance(last, (*LOOPS, ast.With, ast.AsyncWith, ast.If)) else node
    at = (ends.end_lineno or 0, ends.end_col_offset or 0)  # type: ignore[attr-defined]
    loops = [step.statement for number, step in enumerate(steps) if _is_repeated(steps[number:])]
    if changes and isinstance(last, (ast.For, ast.AsyncFor)) and repeats(last):
        loops.append(last)
    inner: Scope | None = scope
    while inner is not None and inner.kind == "comprehension":
        if inner.node is None or repeats(inner.node):
            loops.append(inner.node or node)
        inner = inner.parent
    return Spot(model.path if in_module else owner, owner, node, steps, at, tuple(loops))


def _is_repeated(steps: tuple[Step, ...]) -> bool:
    """Is the first step a loop that repeats the last?"""
    bodies = [(inner.siblings, _is_body_of_loop(outer, inner)) for outer, inner in pairwise(steps)]
    return bool(bodies) and bodies[0][1] and repeats(steps[0].statement, bodies[1:])


def _is_body_of_loop(outer: Step, inner: Step) -> bool:
    return isinstance(outer.statement, LOOPS) and inner.part == "body"


def _steps(model: FileModel, owner: Scope, node: ast.AST, in_module: bool) -> tuple[Step, ...]:
    body = owner.chunk.body if in_module else getattr(owner.node, "body", [])
    if not isinstance(body, list):
        return ()
    found: list[Step] = []
    part = "body"
    while True:
        for number, statement in enumerate(body):
            if _contains(statement, node):
                place = model.place_key(owner, statement)[0] if in_module and not found else number
                found.append(Step(statement, part, place, body))
                break
        else:
            return tuple(found)
        if statement is node:
            return tuple(found)
        part, body = next(((name, inner) for name, inner in _parts(statement) if _within(inner, node)), ("", []))


def _parts(statement: ast.AST) -> list[tuple[str, list[ast.stmt]]]:
    found = []
    for name in _NESTED:
        inner = getattr(statement, name, None)
        if not isinstance(inner, list):
            continue
        if name in ("handlers", "cases"):
            found += [(f"{name}{number}", one.body) for number, one in enumerate(inner)]
        else:
            found.append((name, inner))
    return found


def _within(body: list[ast.stmt], node: ast.AST) -> bool:
    return any(_contains(statement, node) for statement in body)


def _contains(outer: ast.AST, node: ast.AST) -> bool:
    if outer is node:
        return True
    if outer.end_lineno < node.end_lineno:  # type: ignore[attr-defined]
        return False  # as most do that are asked
    start, end = _start(node), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    first = min([_start(outer), *(_start(one) for one in getattr(outer, "decorator_list", ()))])
    return first <= start and end <= (outer.end_lineno, outer.end_col_offset)  # type: ignore[attr-defined]


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def precedes(one: Spot, other: Spot) -> bool:
    """Can `one` happen before `other` in one run of the code that both stand in, loops apart?"""
    for level, (a, b) in enumerate(zip(one.steps, other.steps, strict=False)):
        if a.statement is b.statement:
            continue
        if not _goes_on(one.steps[level + 1 :], one.steps[level:]):
            return False
        if a.part == b.part:
            return a.number < b.number
        around = one.steps[level - 1].statement
        if isinstance(around, LOOPS) and leaves(a.siblings, breaks=True):
            return False
        return not isinstance(around, (ast.If, ast.Match)) and _rank(a.part) < _rank(b.part)
    if len(one.steps) != len(other.steps):
        return len(one.steps) < len(other.steps)
    return one.at < other.at


def _rank(part: str) -> int:
    return next((number for number, name in enumerate(_TRIES) if part.startswith(name)), 0)


def _goes_on(inner: tuple[Step, ...], around: tuple[Step, ...]) -> bool:
    """Can code that follows the outermost of `around` be reached from inside it?"""
    looping = False
    for outer, step in zip(around, inner, strict=False):
        looping = looping or isinstance(outer.statement, LOOPS)
        last = step.siblings[-1]
        if isinstance(last, _LEAVES) or (isinstance(last, (ast.Continue, ast.Break)) and not looping):
            return False
    return True
