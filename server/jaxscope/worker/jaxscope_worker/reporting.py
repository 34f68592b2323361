"""Turns what was observed into the reply, and keeps the programs alive for later requests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from . import arrays, jax_compat, libraries, naming, overflows, retracing, signatures, walking
from .naming import Name
from .observing import Observer, Record
from .reaching import Index
from .session import LiveConstant, Program, Session
from .walking import Found, Walk
from .wire.messages import Constant, TracedFunction


class Reporter:
    """Reports the records of one observer."""

    def __init__(self, observer: Observer, session: Session) -> None:
        self.observer, self.session, self.files = observer, session, observer.files
        self._keys: dict[tuple[Any, ...], int] = {}
        self._merged: dict[tuple[Any, ...], str] = {}
        self._ids: dict[int, str] = {}
        """Record number to the id that stands for it."""
        self._copies: Counter[tuple[Any, ...]] = Counter()
        """By the constant's key: programs that were compiled with it."""
        self._key_of: dict[int, tuple[Any, ...]] = {}

    def functions(self) -> tuple[TracedFunction, ...]:
        """All functions of the user's, each signature once, in the order in which their traces ended."""
        for record in self.observer.records:
            self._report(record)
        found = []
        for program in self.session.programs.values():
            if program.function is not None and program.id in set(self._ids.values()):
                program.function = self._with_copies(self._with_under(program.function, program.id))
                found.append(program.function)
        return tuple(found)

    def _with_under(self, function: TracedFunction, number: str) -> TracedFunction:
        record = next(r for r in self.observer.records if self._ids.get(r.number) == number)
        outer = record.under
        while outer is not None and outer.number not in self._ids:
            outer = outer.under
        return replace(function, under=self._ids[outer.number] if outer is not None else None)

    def _with_copies(self, function: TracedFunction) -> TracedFunction:
        copies = (max(self._copies[self._key_of[constant.key]], 1) for constant in function.constants)
        return replace(
            function,
            constants=tuple(replace(c, copies=n) for c, n in zip(function.constants, copies, strict=True)),
        )

    def _report(self, record: Record) -> None:
        if record.inferred is None:
            return
        closed = record.inferred.params["jaxpr"]
        keep_unused = bool(record.inferred.params.get("keep_unused"))
        walk = walking.walk(closed, self.files, self.observer.min_bytes, keep_unused)
        place = self._identity(record, walk)
        if place is None:
            return
        large = sorted((f for f in walk.constants if f.bytes >= self.observer.min_bytes), key=lambda f: -f.bytes)
        if record.under is None:
            self._copies.update(found.key for found in large)
        names = self._variables(closed, large)
        constants = tuple(self._constant(found, record, names) for found in large)
        inner, _ = walking.parts(closed)
        avals = tuple((str(var.aval), getattr(var.aval, "weak_type", None)) for var in inner.invars)
        held = tuple((c.name, c.shape, c.dtype, c.owner) for c in constants)
        signature = (place, record.parameters, record.source, avals, held, walk.equations)
        known = self._merged.get(signature)
        if known is not None:
            self._ids[record.number] = known
            program = self.session.programs[known]
            assert program.function is not None
            more = replace(program.function, constants=constants)
            program.function = replace(program.function.joined(more), calls=program.function.calls + record.calls)
            return
        number = f"f{len(self.session.programs) + 1}"
        self._ids[record.number] = self._merged[signature] = number
        small = [f for f in walk.constants if f.bytes < self.observer.min_bytes]
        live = [LiveConstant(f.value, f.key, f.aval, c) for f, c in zip(large, constants, strict=True)]
        live += [LiveConstant(f.value, f.key, f.aval) for f in small]
        program = self.session.programs[number] = _program(number, record, live)
        path, qualname, line, column = place
        own = libraries.own_outputs(record.call.fun)
        program.function = TracedFunction(
            id=number,
            path=path,
            function=qualname,
            line=line,
            jitted_at=record.jitted_at,
            parameters=record.parameters,
            out=tuple(signatures.short_aval(atom.aval) for atom in inner.outvars[own:]),
            source=record.source,
            origin=record.origin,
            calls=record.calls,
            equations=walk.equations,
            jaxpr=self.session.add_text(f"jaxpr:{number}", lambda: jax_compat.printed(closed)[0]),
            constants=constants,
            small_constants=len(small),
            trace_seconds=record.seconds,
            x64=record.x64,
            constant_bytes=sum(found.bytes for found in walk.constants),
            jitted=record.jitted,
            overflows=() if record.x64 else overflows.overflows(closed, self.files),
            column=column,
        )

    def _identity(self, record: Record, walk: Walk) -> tuple[str, str, int, int | None] | None:
        """Path, qualified name, line and column of the user's function; None when the body is not the user's."""
        if (target := record.target) is not None:
            return target.path, target.qualname, target.line, target.column
        if walk.outermost is None:
            return None
        code = walk.outermost[0]
        found = self.files.definition(code)
        if found is None:
            return None
        return self.files.path(code.co_filename), found.qualname, found.line, self.files.column(code)

    def _variables(self, closed: Any, large: list[Found]) -> dict[Any, str]:
        """Names of the constvars in the printed jaxpr. Printing takes longer than all else, so it is put off: JAX
        numbers the constvars of the outermost jaxpr first."""
        inner, _ = walking.parts(closed)
        names = {var: _letters(index) for index, var in enumerate(inner.constvars)}
        if all(found.var is None or found.var in names for found in large):
            return names
        return jax_compat.printed(closed)[1]

    def _constant(self, found: Found, record: Record, names: dict[Any, str]) -> Constant:
        name = self._name(found, record)
        key = self._keys.setdefault(found.key, len(self._keys) + 1)
        self._key_of[key] = found.key
        value = jax_compat.unwrapped(found.value)
        shape = tuple(int(n) for n in found.aval.shape)
        return Constant(
            name=name.name,
            holder=name.holder,
            owner=name.owner,
            shape=shape,
            dtype=str(found.aval.dtype),
            bytes=found.bytes,
            representation=name.representation,
            source_dtype=name.source_dtype,
            sharding=jax_compat.sharding_of(value),
            splat=arrays.splat(value),
            bound=name.bound,
            variable=jax_compat.variable(names, found.var) if found.var is not None else "",
            reads=tuple(found.reads),
            key=key,
            sources=(name.source,) if name.source else (),
            device=jax_compat.device_of(value),
        )

    def _name(self, found: Found, record: Record) -> Name:
        known = record.names.get(found.key) or self._name_elsewhere(found, record)
        if known is not None:
            return known
        host = found.key[0] == "np"
        at = record.unnamed.get(found.key) or next((r.frames[0] for r in found.reads if r.frames), None)
        owner = at.function if at is not None else (record.target.qualname if record.target is not None else "")
        dtype = str(found.value.dtype)
        if host:
            return Name(None, "made", owner, "same numpy array", dtype, at)
        return Name(None, "unknown", owner, "same jax.Array", dtype)

    def _name_elsewhere(self, found: Found, record: Record) -> Name | None:
        """The name in a function that reads it but was traced before, under another; or in one that can be reached."""
        known = self.observer.names.get(found.key, [])
        reading = {place.function for read in found.reads for place in read.frames}
        near = next((name for name in known if name.owner in reading), None)
        if near is None and record.target is not None:
            scopes = naming.scopes_of_functions(record.target, self.files)
            near = naming.find(found.value, scopes, Index())
        # What this trace met itself, and could not name, is not named by what an unrelated function calls it.
        return near or (None if found.key in record.unnamed else next(iter(known), None))


def _program(number: str, record: Record, constants: list[LiveConstant]) -> Program:
    assert record.inferred is not None
    params = record.inferred.params
    inner, _ = walking.parts(params["jaxpr"])
    spread = retracing.shardings(record.call)
    return Program(
        id=number,
        jaxpr=params["jaxpr"],
        in_avals=tuple(var.aval for var in inner.invars),
        donated=tuple(params.get("donated_invars", ())),
        outer_tracers=record.inferred.outer_tracers,
        constants=constants,
        name=str(params.get("name", record.target.qualname if record.target is not None else "f")),
        fun=record.call.fun,
        shardings=tuple(spread) if len(spread) == len(inner.invars) else (),
        call=None if record.inferred.outer_tracers else record.call,
        params=dict(params),
    )


def _letters(index: int) -> str:
    """`a` … `z`, `aa`, `ab` …: how JAX numbers the variables of a printed jaxpr."""
    text = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        text = chr(ord("a") + letter) + text
    return text
