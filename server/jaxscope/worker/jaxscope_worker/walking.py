"""The array constants of a traced program, with the equations that really consume them.

A constant may enter at the top or with the jaxpr of a nested jit, and reach its consumer through loops, branches and
further jits. It is followed into them, so that a read is reported at the `dot_general` inside a scan, not at the scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from . import arrays, jax_compat
from .sources import UserFiles
from .wire.messages import Place, Read

MAX_READS = 50


@dataclass
class Found:
    """A constant array in a jaxpr."""

    value: Any
    key: tuple[Any, ...]
    aval: Any
    var: Any
    """The constvar that holds it, of the outermost jaxpr that does; None for a literal."""
    bytes: int
    reads: list[Read] = field(default_factory=list)


@dataclass
class Walk:
    """What a walk over a closed jaxpr found."""

    constants: list[Found]
    equations: int
    """All equations, those of nested jaxprs included."""
    outermost: tuple[CodeType, int] | None
    """Outermost frame of the user's in the body, from the first equation that has one."""


def walk(closed: Any, files: UserFiles, min_bytes: int, keep_unused: bool = False) -> Walk:
    """Finds the constants of a closed jaxpr that end up in the program; reads are collected for those of at least
    `min_bytes`.

    JAX drops equations whose results nobody uses before it lowers (not under `keep_unused`, as of `jit`), and with them
    the constants that only they read. Which these are, is left to JAX; it is asked only where there can be some.
    """
    walker = _Walker(files, min_bytes)
    walker.enter(closed, {}, _NOTHING_ABOVE)
    constants = list(walker.found.values())
    if walker.unused and not keep_unused and any(found.bytes >= min_bytes for found in constants):
        alive = jax_compat.without_dead_code(closed)
        if not walker.found.keys() <= set(_keys(alive)):
            kept = _Walker(files, min_bytes)
            kept.enter(alive, {}, _NOTHING_ABOVE)
            constants = list(kept.found.values())
    return Walk(constants, walker.equations, walker.outermost)


def _keys(jaxpr: Any) -> Iterator[tuple[Any, ...]]:
    """Keys of all array constants of a jaxpr and those in it."""
    inner, constants = parts(jaxpr)
    for _, value in constants:
        yield arrays.key_of(value)
    for atoms in (inner.outvars, *(eqn.invars for eqn in inner.eqns)):
        for atom in atoms:
            if hasattr(atom, "val") and getattr(atom.aval, "shape", ()):
                yield arrays.key_of(atom.val)
    for eqn in inner.eqns:
        for _, body in nested(eqn):
            yield from _keys(body)


def scan_operands(eqn: Any) -> tuple[int, int]:
    """Of a scan: how many leading operands stay the same in all steps, and how many follow that are carried.

    A scan's parameters say so otherwise in each version; but the rank of what it slices or stacks differs inside.
    """
    inner = parts(eqn.params["jaxpr"])[0]
    carried = len(eqn.outvars) - _changed_rank(inner.outvars, eqn.outvars)
    return len(eqn.invars) - _changed_rank(inner.invars, eqn.invars) - carried, carried


def _changed_rank(inner: Sequence[Any], outer: Sequence[Any]) -> int:
    return sum(len(a.aval.shape) != len(b.aval.shape) for a, b in zip(inner, outer, strict=False))


_PLAIN = (int, str, bool, float, type(None), type, np.dtype)


def is_jaxpr(value: Any) -> bool:
    """Is it a jaxpr, open or closed?"""
    return hasattr(value, "eqns") and (hasattr(value, "invars") or hasattr(value, "consts"))


def parts(jaxpr: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """The open jaxpr, and its constvars with their values where it has values."""
    values = getattr(jaxpr, "consts", None)
    inner = jaxpr.jaxpr if hasattr(jaxpr, "jaxpr") else jaxpr
    return inner, list(zip(inner.constvars, values, strict=False)) if values is not None else []


def nested(eqn: Any) -> Iterator[tuple[str, Any]]:
    """The jaxprs among an equation's parameters, with the parameter's name."""
    for name, value in eqn.params.items():
        if type(value) is tuple and (not value or type(value[0]) is type(value[-1]) is int):
            continue  # axes, shapes: most of all parameters
        if type(value) not in _PLAIN:
            for jaxpr in _inside(value, 3):
                yield name, jaxpr


def _inside(value: Any, depth: int) -> Iterator[Any]:
    if type(value) in _PLAIN:
        return
    if is_jaxpr(value):
        yield value
    elif depth == 0:
        return
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _inside(item, depth - 1)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _inside(item, depth - 1)
    elif type(value).__module__.startswith("jax") and hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _inside(getattr(value, name, None), depth - 1)


Frames = tuple[tuple[CodeType, int], ...]


@dataclass(frozen=True)
class _Above:
    """Where the jaxpr lies that is walked."""

    jit: Frames
    """The user's frames from the nearest enclosing jit's call outwards."""
    eqn: Frames
    """The same, from the equation that holds the jaxpr: its loop, say."""


_NOTHING_ABOVE = _Above((), ())


class _Walker:
    def __init__(self, files: UserFiles, min_bytes: int) -> None:
        self.files, self.min_bytes = files, min_bytes
        self.found: dict[tuple[Any, ...], Found] = {}
        self.equations = 0
        self.outermost: tuple[CodeType, int] | None = None
        self.unused = False
        """Has some equation a result that nobody uses?"""
        self._used: set[Any] = set()

    def enter(self, jaxpr: Any, env: dict[Any, Found], above: _Above, depth: int = 0) -> None:
        inner, constants = parts(jaxpr)
        for var, value in constants:
            found = self._record(value, var)
            if found is not None:
                env[var] = found
        for eqn in inner.eqns:
            self._equation(eqn, env, above, depth)
        for atom in inner.outvars:
            found = self._operand(atom, env)
            if found is not None and depth == 0 and found.bytes >= self.min_bytes:
                found.reads.append(Read("output", ()))
        self.unused = self.unused or not all(self._used.issuperset(eqn.outvars) for eqn in inner.eqns)

    def _record(self, value: Any, var: Any) -> Found | None:
        value = jax_compat.unwrapped(value)
        aval = getattr(var, "aval", value)
        shape = getattr(aval, "shape", None)
        if not shape or not hasattr(aval, "dtype") or not hasattr(value, "shape"):
            return None
        key = arrays.key_of(value)
        if key not in self.found:
            is_literal = hasattr(var, "val")
            size = arrays.size_of(tuple(shape), aval.dtype)
            self.found[key] = Found(value, key, aval, None if is_literal else var, size)
        return self.found[key]

    def _operand(self, atom: Any, env: dict[Any, Found]) -> Found | None:
        if hasattr(atom, "val"):
            return self._record(atom.val, atom)
        self._used.add(atom)
        return env.get(atom)

    def _equation(self, eqn: Any, env: dict[Any, Found], above: _Above, depth: int) -> None:
        self.equations += 1
        if self.outermost is None and depth == 0:
            self.outermost = self._outermost(eqn)
        operands = [self._operand(atom, env) for atom in eqn.invars]
        routed: set[int] = set()
        frames: Frames | None = None
        for name, jaxpr in nested(eqn):
            inner, _ = parts(jaxpr)
            inside: dict[Any, Found] = {}
            for index, var in _route(eqn, name, jaxpr, inner):
                found = operands[index]
                if found is not None:
                    inside[var] = found
                    routed.add(index)
            frames = frames if frames is not None else self._frames(eqn, above)
            # The body of a jit was traced once, for whoever called it first; who calls it here is in this equation.
            jit = frames if eqn.primitive.name in ("pjit", "jit") else above.jit
            self.enter(jaxpr, inside, _Above(jit, frames), depth + 1)
        for index, found in enumerate(operands):
            if found is None or index in routed or found.bytes < self.min_bytes or len(found.reads) >= MAX_READS:
                continue
            frames = frames if frames is not None else self._frames(eqn, above)
            read = Read(eqn.primitive.name, tuple(self._place(*frame) for frame in frames))
            if read not in found.reads:
                found.reads.append(read)

    def _outermost(self, eqn: Any) -> tuple[CodeType, int] | None:
        own = self._frames(eqn, _NOTHING_ABOVE)
        return own[-1] if own else None

    def _frames(self, eqn: Any, above: _Above) -> Frames:
        """The user's frames of an equation, innermost first, out to the body of the traced function.

        They are known up to the jit whose body it lies in, or, where JAX cuts them there, up to the body of a loop.
        """
        own = []
        for code, instruction in jax_compat.raw_frames(eqn):
            if code in jax_compat.BOUNDARIES:
                return (*own, *above.jit)
            if self.files.owns(code.co_filename):
                own.append((code, instruction))
        return (*own, *above.eqn)

    def _place(self, code: CodeType, instruction: int) -> Place:
        return self.files.place(code, instruction)


def _route(eqn: Any, name: str, jaxpr: Any, inner: Any) -> list[tuple[int, Any]]:
    """Which operand of an equation becomes which variable of its nested jaxpr."""
    count, invars = len(eqn.invars), list(inner.invars)
    constvars = [] if getattr(jaxpr, "consts", None) else list(inner.constvars)
    primitive, params = eqn.primitive.name, eqn.params
    indices = list(range(count))
    if primitive == "while":
        condition, body = params["cond_nconsts"], params["body_nconsts"]
        carried = indices[condition + body :]
        indices = indices[:condition] + carried if name == "cond_jaxpr" else indices[condition:]
    elif primitive == "cond":
        indices = indices[1:]
    if len(indices) == len(constvars) + len(invars):
        return list(zip(indices, constvars + invars, strict=True))
    from_the_front = len(indices) <= len(invars) or primitive.startswith(("pallas", "custom_"))
    left = indices if from_the_front else indices[-len(invars) :]
    return list(zip(left, invars, strict=False)) if invars else []
