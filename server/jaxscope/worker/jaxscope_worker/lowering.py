"""A traced program lowered again from its jaxpr, as JAX does it or with its constants as leading arguments.

Nothing of the user's runs for it. Large literals are never printed, nor is a large module held as a Python string.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from . import hoisting
from .failing import Failed
from .session import Program, Session
from .wire.messages import Failure

ELEMENTS = 16
"""Literals with more elements than this are printed as `dense_resource<__elided__>`."""


@dataclass(frozen=True)
class Form:
    """One form of a program, ready to be traced again."""

    name: str
    staged: hoisting.Staged
    options: dict[str, Any]
    """Of `jax.jit`: the shardings of the original, and its donation where that was asked for."""

    def trace(self) -> Any:
        """A new `jax.stages.Traced`."""
        return self.staged.trace(**self.options)


@dataclass(frozen=True)
class Lowered:
    """One form lowered."""

    form: Form
    traced: Any
    lowered: Any
    seconds: float

    @property
    def hidden(self) -> tuple[Any, ...]:
        """The arrays that JAX by itself made leading arguments of, in their order."""
        return tuple(getattr(getattr(self.lowered, "_lowering", None), "const_args", None) or ())


def lower(form: Form) -> Lowered:
    """Traces a form again and lowers it; only the lowering is timed."""
    traced = form.trace()
    started = time.perf_counter()
    lowered = traced.lower()
    return Lowered(form, traced, lowered, time.perf_counter() - started)


def program_of(session: Session, number: str) -> Program:
    """The program of an id. Raises Failed."""
    try:
        return session.programs[number]
    except KeyError:
        raise Failed(Failure("unsupported", f"no traced function {number!r} is kept")) from None


def form_of(program: Program, form: str, donated: Sequence[bool] = ()) -> Form:
    """`captured` or `hoisted`; `donated` tells of each argument whether it is given away, as `Program.donated` does."""
    limit = hoisting.MIN_BYTES if form == "hoisted" else hoisting.NOTHING
    options = _shardings(program)
    staged = hoisting.stage(program.jaxpr, program.name, limit, _arguments(program, "in_shardings" in options))
    if program.params.get("keep_unused"):
        options["keep_unused"] = True
    if any(donated):
        options["donate_argnums"] = tuple(number for number, given in enumerate(donated, 1) if given)
    return Form(form, staged, options)


def _arguments(program: Program, told: bool) -> list[jax.ShapeDtypeStruct] | None:
    """Avals with the shardings that the arguments came with, where `jit` itself was told none."""
    if told or not any(sharding is not None for sharding in program.shardings):
        return None
    avals = zip(program.in_avals, program.shardings, strict=True)
    return [jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding) for aval, sharding in avals]


def _shardings(program: Program) -> dict[str, Any]:
    into = hoisting.given(program.params.get("in_shardings", ()))
    out = hoisting.given(program.params.get("out_shardings", ()))
    options: dict[str, Any] = {}
    if len(into) == len(program.in_avals) and any(sharding is not None for sharding in into):
        options["in_shardings"] = (None, *into)
    if any(sharding is not None for sharding in out):
        options["out_shardings"] = tuple(out)
    return options


def printed(lowered: Any) -> str:
    """The StableHLO of a lowering with its locations and elided literals."""
    text = lowered.compiler_ir().operation.get_asm(enable_debug_info=True, large_elements_limit=ELEMENTS)
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)  # bytes up to 0.4.30


class _Count:
    """A file that only counts."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: bytes) -> int:
        self.bytes += len(data)
        return len(data)


def bytecode_size(lowered: Any) -> int:
    """Bytes of the module as bytecode, written by MLIR itself to a temporary file and counted there."""
    operation = lowered.compiler_ir().operation
    handle, path = tempfile.mkstemp(suffix=".mlirbc")
    os.close(handle)
    try:
        operation.write_bytecode(path)
        return os.path.getsize(path)
    except (AttributeError, TypeError, ValueError, OSError):  # no path before 0.5; or no room for the file
        count = _Count()
        operation.write_bytecode(count)
        return count.bytes
    finally:
        os.unlink(path)
