"""Watches what is traced while the user's code runs, and keeps of each trace what the reply will say."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
import traceback
import weakref
from dataclasses import dataclass, field
from types import FrameType, FunctionType
from typing import Any

import jax

from . import arrays, expressions, jax_compat, leaking, libraries, naming, retracing, signatures, staling, targets
from .causes import Signature, signature_of
from .counting import Traces
from .failing import failure_of
from .jax_compat import Inferred, JitCall
from .reaching import Index
from .sources import UserFiles
from .targets import Target
from .wire.messages import NotTraced, Parameter, Place

_MAX_ALIKE = 8
"""Traces of one function under one signature that are kept; a loop that jits anew would keep all its data alive."""
_MAX_CAPTURES = 4
"""Places where one trace meets the same array that are looked at."""


@dataclass
class Record:
    """One trace of a function, or the look-up of an earlier one."""

    number: int
    call: JitCall
    jitted: bool
    """By the user; else only to be traced as declared."""
    target: Target | None
    parameters: tuple[Parameter, ...]
    jitted_at: Place | None
    source: str
    origin: str
    under: Record | None
    started: float
    only_looked: bool
    """Traced for its shapes or its jaxpr only; nothing was going to be compiled."""
    x64: bool = field(default_factory=lambda: bool(jax.config.jax_enable_x64))
    """As the trace began: a context manager may change it for some calls only."""
    seconds: float | None = None
    inferred: Inferred | None = None
    names: dict[tuple[Any, ...], naming.Name] = field(default_factory=dict)
    """By the constant's key."""
    unnamed: dict[tuple[Any, ...], Place] = field(default_factory=dict)
    """Where the trace met an array that no name reaches."""
    captures: dict[tuple[Any, ...], int] = field(default_factory=dict)
    keep: list[Any] = field(default_factory=list)
    """Arrays whose keys are in use: their memory must not be another's meanwhile."""
    calls: int = 1
    index: Index | None = None
    signature: Signature | None = None
    """What JAX tells this call apart from others by."""
    by_program: bool = False
    """Has the program itself called it?"""
    reads: tuple[staling.Seen, ...] = ()
    """From outside, as it was."""
    replaced: bool = False
    """Has the program traced it again under the same signature? Perhaps nobody calls what came of it any more."""


class Observer:
    """Collects records; `jax_compat` calls it while the user's code traces. One per request."""

    def __init__(self, files: UserFiles, min_bytes: int) -> None:
        self.files, self.min_bytes = files, min_bytes
        self.records: list[Record] = []
        self.failed: list[NotTraced] = []
        self.source, self.origin, self.jitted = "run", "", True
        self.traces = Traces()
        self.names: dict[tuple[Any, ...], list[naming.Name]] = {}
        """By the constant's key, over all traces: a nested jit's body may have been traced under another function."""
        self._by_jaxpr: dict[int, Record] = {}
        self._alike: dict[tuple[Any, ...], list[Record]] = {}
        self._keep: list[Any] = []
        self._foreign: weakref.WeakSet[Any] = weakref.WeakSet()
        """Functions of JAX's own, met before."""
        self._stacks = threading.local()
        self.leaks = leaking.Leaks(files)
        self.staling = staling.Staling()
        self._lock = threading.Lock()
        self._reported: BaseException | None = None

    # ------------------------------------------------------------ what jax_compat calls

    def begin(self, call: JitCall, caller: FrameType) -> Record | None:
        try:
            return self._begin(call, caller)
        except Exception as fault:
            self._fault(fault)
            return None

    def end(self, token: Record, inferred: Inferred | None, error: BaseException | None) -> None:
        try:
            self._end(token, inferred, error)
        except Exception as fault:
            self._fault(fault)

    def constant(self, value: Any, frame: FrameType) -> None:
        try:
            self._constant(value, frame)
        except Exception as fault:
            self._fault(fault)

    def _reads(
        self, target: Target | None, fun: Any, arguments: list[tuple[str, Any, bool, bool]]
    ) -> tuple[staling.Seen, ...]:
        try:
            return self.staling.note(target, fun, arguments) if target is not None and self.source == "run" else ()
        except Exception as fault:
            self._fault(fault)
            return ()

    def pass_over_leaks(self) -> None:
        """What tracers are held now is not the program's doing."""
        try:
            self.leaks.pass_over()
        except Exception as fault:
            self._fault(fault)

    def _fault(self, error: Exception) -> None:
        """A mistake of ours; the user's program goes on."""
        traceback.print_exception(error)

    # ------------------------------------------------------------ records

    def _begin(self, call: JitCall, caller: FrameType) -> Record | None:
        is_function = isinstance(call.fun, FunctionType)
        if is_function and call.fun in self._foreign:
            return None
        written = libraries.as_written(call, caller)
        target = targets.find(written, self.files)
        if target is None and _is_jax(call.fun):
            if is_function:
                self._foreign.add(call.fun)
            return None
        at = self._calling(caller)
        stack = self._stack()
        arguments = targets.call_arguments(written, target)
        record = Record(
            number=0,
            call=call,
            jitted=self.jitted or bool(stack),
            target=target,
            parameters=_parameters(arguments),
            jitted_at=self.files.frame_place(at) if isinstance(at, FrameType) else None,
            source=self.source,
            origin=self.origin,
            under=stack[-1] if stack else None,
            started=time.perf_counter(),
            only_looked=at is _NOT_COMPILED or any(outer.only_looked for outer in stack),
            signature=signature_of(arguments, written.kwargs, written.only_arrays) if self.source in _REAL else None,
            by_program=self.source == "run",
            reads=self._reads(target, written.fun, arguments),
        )
        stack.append(record)
        return record

    def _end(self, record: Record, inferred: Inferred | None, error: BaseException | None) -> None:
        seconds = time.perf_counter() - record.started
        stack = self._stack()
        while stack and stack.pop() is not record:
            pass
        record.index = None
        call = record.call  # `_seen` takes the arguments out
        if inferred is None:
            if error is not None and record.target is not None:
                self._fail(record, error)
            return
        self.staling.traced(record.reads)
        self._seen(record, inferred, seconds)
        if not stack:
            self.leaks.look(record.target, call)

    def _seen(self, record: Record, inferred: Inferred, seconds: float) -> None:
        jaxpr = inferred.params["jaxpr"]
        with self._lock:
            known = self._by_jaxpr.get(id(jaxpr))
            if not record.only_looked:
                # The program would have traced what was traced for its own sake before.
                self.traces.add(record, seconds, known is not None and known.by_program)
            if known is not None:
                known.by_program |= record.by_program
            known = known or self._enough(record)
            if known is not None and not record.only_looked:
                known.calls += 1
                return
            self._keep += record.keep
            if record.only_looked:
                return
            record.inferred = inferred
            # The names were found while it was traced; a jaxpr from a cache was traced when nobody looked.
            record.seconds = seconds
            record.number = len(self.records) + 1
            self.records.append(record)
            self._by_jaxpr[id(jaxpr)] = record
        # The arguments must not outlive the call: they may be most of the memory there is.
        record.call = retracing.without_values(record.call)

    def _enough(self, record: Record) -> Record | None:
        """The record that stands for this one when there are many of its kind."""
        target = record.target
        if target is None or record.only_looked:
            return None
        alike = self._alike.setdefault((target.path, target.qualname, target.line, record.parameters), [])
        for before in alike:
            before.replaced |= record.by_program
        if len(alike) < _MAX_ALIKE:
            alike.append(record)
            return None
        for key in record.names:
            # The array is not kept; its memory may become another's.
            self.names.pop(key, None)
        return alike[-1]

    def _fail(self, record: Record, error: BaseException) -> None:
        target = record.target
        if target is None or error is self._reported:
            return
        self._reported = error
        signature = ", ".join(f"{p.name}: {p.type}" for p in record.parameters)
        failure = failure_of(error, self.files)
        self.failed.append(
            NotTraced(
                target.path,
                target.qualname,
                target.line,
                failure.message,
                failure,
                signature,
                record.source,
                self.origin,
            )
        )

    # ------------------------------------------------------------ constants

    def _constant(self, value: Any, frame: FrameType) -> None:
        if arrays.size_of(tuple(value.shape), value.dtype) < self.min_bytes:
            return
        stack = self._stack()
        if not stack:
            return
        record = stack[-1]
        key = arrays.key_of(value)
        if key in record.names or record.captures.get(key, 0) >= _MAX_CAPTURES:
            return
        record.captures[key] = record.captures.get(key, 0) + 1
        frames = self._frames(frame)
        if not frames:
            return
        if record.index is None:
            record.index = Index()
        scopes = naming.scopes_of_frames(frames, record.target, self.files)
        found = naming.find(value, scopes, record.index)
        if found is None and isinstance(record.call.fun, functools.partial):
            found = naming.of_partial(value, record.call.fun, self._callers(frame), self.files)
        record.keep.append(value)
        if found is not None:
            record.names[key] = found
            known = self.names.setdefault(key, [])
            if found not in known:
                known.append(found)
        else:
            place = self.files.frame_place(frames[-1])
            record.unnamed.setdefault(key, expressions.made_at(place, frames[-1]))

    def _frames(self, frame: FrameType | None) -> list[FrameType]:
        """The user's frames inside the running trace, outermost first."""
        found: list[FrameType] = []
        while frame is not None and frame.f_code is not jax_compat.USER_BOUNDARY:
            if self.files.owns(frame.f_code.co_filename):
                found.append(frame)
            frame = frame.f_back
        return found[::-1]

    def _callers(self, frame: FrameType | None) -> list[FrameType]:
        """The user's frames around the running trace, innermost first."""
        while frame is not None and frame.f_code is not jax_compat.USER_BOUNDARY:
            frame = frame.f_back
        found: list[FrameType] = []
        while frame is not None:
            if self.files.owns(frame.f_code.co_filename):
                found.append(frame)
            frame = frame.f_back
        return found

    def _calling(self, frame: FrameType | None) -> Any:
        """The user's frame that called; _NOT_COMPILED when JAX was only asked for shapes or a jaxpr."""
        while frame is not None and not self.files.owns(frame.f_code.co_filename):
            if frame.f_code.co_name in jax_compat.NOT_COMPILED and _is_jax_file(frame.f_code.co_filename):
                return _NOT_COMPILED
            frame = frame.f_back
        return frame

    def _stack(self) -> list[Record]:
        if not hasattr(self._stacks, "records"):
            self._stacks.records = []
        return self._stacks.records  # type: ignore[no-any-return]


_NOT_COMPILED = object()
_REAL = ("run", "recorded")
"""Sources of calls that the program makes by itself."""


def _is_jax_file(filename: str) -> bool:
    package = sys.modules["jax"].__file__ or ""
    return filename.startswith(package[: -len("__init__.py")])


def _is_jax(fun: Any) -> bool:
    code = getattr(inspect.unwrap(fun), "__code__", None)
    if code is not None:
        return _is_jax_file(code.co_filename)
    return type(fun).__module__.split(".")[0] in ("jax", "jaxlib")


def _parameters(arguments: list[tuple[str, Any, bool, bool]]) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(name, signatures.static_repr(value) if static else signatures.short_tree(value), static, donated)
        for name, value, static, donated in arguments
    )
