"""Which arguments a program gives away, and whether it reuses their memory: its compiled form tells."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import jax

from . import arrays, executable, lowering, targets
from .session import Program
from .wire.donating import Reuse

IGNORED = "this backend ignores donation"


def flags(program: Program, names: Sequence[str]) -> tuple[bool, ...]:
    """Which of the program's arguments are given away as (parts of) the parameters of these names."""
    found = targets.array_names(program.call) if names and program.call is not None else []
    if not len(found) == len(program.in_avals) == len(program.donated):
        return (False,) * len(program.donated)
    return tuple(name in names and donated for name, donated in zip(found, program.donated, strict=True))


def kept(program: Program, names: Sequence[str]) -> tuple[bool, ...]:
    """What else it gives away."""
    asked = flags(program, names)
    return tuple(donated and not one for donated, one in zip(program.donated, asked, strict=True))


def reuse(programs: Iterable[Program], names: Sequence[str]) -> Reuse | None:
    """What the program that is given most reuses of the parameters of these names; None when none is given any."""
    sizes = [(_bytes(one, flags(one, names)), one) for one in programs if not one.outer_tracers]
    size, program = max(sizes, key=lambda pair: pair[0], default=(0, None))
    if program is None or not size:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # JAX says which it cannot use; so does the reply
            return _reuse(program, kept(program, names))
    except Exception as error:  # whatever XLA does not take; the entries that were run tell whether the program works
        return Reuse(None, f"it could not be compiled by itself ({type(error).__name__})")


def _reuse(program: Program, others: tuple[bool, ...]) -> Reuse:
    whole = _aliased(program, program.donated)
    before = _aliased(program, others) if any(others) else 0
    if whole is None or before is None:
        return Reuse(None, "this version of JAX does not tell what memory is reused")
    return Reuse(None, IGNORED) if whole == 0 and _ignores() else Reuse(max(whole - before, 0))


def _aliased(program: Program, donated: Sequence[bool]) -> int | None:
    return executable.memory(lowering.lower(lowering.form_of(program, "captured", donated)).lowered.compile()).aliased


@cache
def _ignores() -> bool:
    """Does the backend not reuse anything, even where nothing could be easier?"""
    given = jax.ShapeDtypeStruct((1024,), "float32")
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(given).compile()
    return not executable.memory(compiled).aliased


def _bytes(program: Program, wanted: Sequence[bool]) -> int:
    return sum(_size(aval) for aval, one in zip(program.in_avals, wanted, strict=False) if one)


def _size(aval: Any) -> int:
    return arrays.size_of(tuple(aval.shape), aval.dtype)
