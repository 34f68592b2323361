"""Runs two traced programs on the same made-up arguments, the second with the array that became an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax

from . import arguments, arrays, comparing, hoisting, jax_compat, targets
from .session import Program

MOST_BYTES = 1 << 28
"""Of arguments and constants together, above which nothing is run: the user waits."""
MOST_EQUATIONS = 2000


def compare(before: Program, after: Program, candidates: Callable[[], Iterator[Any]]) -> tuple[bool | None, str]:
    """Are the results equal, and how do they differ? None where the programs could not be run.

    `candidates` are what the new argument may stand for: arrays, or trees of them. The first that fits is taken.
    """
    if before.call is None or after.call is None or not (_fit(before) and _fit(after)):
        return None, ""
    old, new = targets.array_names(before.call), targets.array_names(after.call)
    if len(old) != len(before.in_avals) or len(new) != len(after.in_avals):
        return None, ""
    try:
        made = arguments.make(before.in_avals)
        for candidate in candidates():
            given = _given(list(zip(old, made, strict=True)), new, jax.tree_util.tree_leaves(candidate))
            if len(given) == len(new) and all(map(_accepts, after.in_avals, given)):
                return comparing.equal(_run(before, made), _run(after, given))
    except Exception:  # whatever an operation does not take; the programs are then not comparable, not different
        return None, ""
    return None, ""


def _given(old: list[tuple[str, Any]], new: list[str], leaves: list[Any]) -> list[Any]:
    """The arguments after: those of a known name as they were, for the others the leaves of the array."""
    known = {name for name, _ in old}
    given = []
    for name in new:
        values = [value for other, value in old if other == name] if name in known else leaves
        if values:
            given.append(values[0])
            leaves = leaves if name in known else leaves[1:]
            old = [item for item in old if item[1] is not values[0]]
    return [] if old or leaves else given


def _fit(program: Program) -> bool:
    held = sum(arrays.size_of(tuple(each.aval.shape), each.aval.dtype) for each in program.constants)
    size = held + sum(arrays.size_of(tuple(aval.shape), aval.dtype) for aval in program.in_avals)
    jaxpr = program.jaxpr
    few = program.function is not None and program.function.equations <= MOST_EQUATIONS
    return few and size <= MOST_BYTES and not program.outer_tracers and not getattr(jaxpr, "effects", ())


def _accepts(aval: Any, value: Any) -> bool:
    return tuple(aval.shape) == tuple(value.shape) and aval.dtype == jax_compat.canonical_dtype(value.dtype)


def _run(program: Program, operands: list[Any]) -> list[Any]:
    # With its constants as arguments, so that XLA does not spend its time on computing with them.
    staged = hoisting.stage(program.jaxpr, "compared")
    constants = tuple(jax_compat.unwrapped(constant) for constant in staged.constants)
    return list(jax.jit(staged.function)(constants, *operands))
