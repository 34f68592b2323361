"""Whether a loop comes back to a place in it, by its syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable

LOOPS = (ast.For, ast.AsyncFor, ast.While)


def repeats(loop: ast.AST, inside: Iterable[tuple[list[ast.stmt], bool]] = ()) -> bool:
    """May a loop or comprehension run a place again? Not when what is around the place ends in leaving the loop, nor
    over a list of one element. `inside` are the bodies around the place within the loop, from the outermost inwards,
    each with whether a loop repeats it."""
    over = _iterables(loop)
    if over and all(_is_one(one) for one in over):
        return False
    own = True
    for body, looping in ((getattr(loop, "body", []), False), *inside):
        own = own and not looping
        if leaves(body, breaks=own):
            return False
    return True


def leaves(body: list[ast.stmt], *, breaks: bool) -> bool:
    """Do statements end in a `return` or `raise`, or, with `breaks`, a `break`? Those tried count as if they went
    well."""
    return any(_leaves(statement, breaks) for statement in body)


def _leaves(statement: ast.stmt, breaks: bool) -> bool:
    if isinstance(statement, (ast.Return, ast.Raise)):
        return True
    if isinstance(statement, ast.Break):
        return breaks
    if isinstance(statement, ast.If):
        return leaves(statement.body, breaks=breaks) and leaves(statement.orelse, breaks=breaks)
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return leaves(statement.body, breaks=breaks)
    if hasattr(statement, "handlers"):
        parts = (getattr(statement, name) for name in ("body", "orelse", "finalbody"))
        return any(leaves(part, breaks=breaks) for part in parts)
    return False


def _iterables(loop: ast.AST) -> list[ast.expr]:
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        return [loop.iter]
    return [generator.iter for generator in getattr(loop, "generators", ())]


def _is_one(over: ast.expr) -> bool:
    if not isinstance(over, (ast.List, ast.Tuple, ast.Set)):
        return False
    return len(over.elts) == 1 and not isinstance(over.elts[0], ast.Starred)
