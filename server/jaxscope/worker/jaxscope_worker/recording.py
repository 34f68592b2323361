"""Watches the user's own run: writes what each traced function was called with as soon as it was traced.

The program must go on as if nobody watched. So a call that JAX answers from its cache of compiled programs does not
come by here; nothing of the program's is kept alive; nothing is printed; a line is written with one call to the system,
into a file that is opened for it and closed again, so that neither a crash loses it nor a descriptor is taken.
"""

from __future__ import annotations

import atexit
import itertools
import linecache
import os
import sys
import threading
import time
import traceback
import weakref
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np

from . import arrays, jax_compat
from .causes import Earlier, Signature
from .counting import Count, Traces
from .failing import failure_of
from .jax_compat import Inferred, JitCall
from .observing import Observer, Record
from .reporting import Reporter
from .session import LiveConstant, Session
from .sources import UserFiles
from .wire import recording as wire
from .wire.messages import Constant, Place, TracedFunction
from .writing import Writer

MIN_BYTES = 33
_MAX_SIGNATURES = 64
"""Signatures of one function that are written; more are only counted."""
_MAX_ALIKE = 8
"""Traces of one function under one signature that are looked at; more are only counted."""
_MAX_TOLD = 8
"""Traces at one call that are written one by one."""
_Place = tuple[str, str, int, int | None]
"""Path, qualified name, line and column of a function."""
_COMPILED = "/backend_compile_duration"


@dataclass
class _Known:
    """A function under one signature, or (`id` 0) all its signatures beyond those that are kept."""

    id: int
    function: TracedFunction
    calls: int = 0
    traces: int = 0
    seconds: float = 0.0
    compiles: int = 0
    compile_seconds: float = 0.0
    cause: str = ""
    written: tuple[int, int] = (0, 0)
    """Calls and compilations when its count was last written."""


class Recorder(Observer):
    """Writes what it sees. One per process."""

    def __init__(self, run: str, program: str) -> None:
        super().__init__(UserFiles(wire.root_of(run)), MIN_BYTES)
        self.source = "recorded"
        self._writer, self._program = Writer(run), program
        self._numbers = itertools.count(1)
        self._keys: dict[tuple[Any, ...], int] = {}
        self._guards: dict[tuple[Any, ...], Any] = {}
        """Weak references to the arrays whose keys are in use; they may have no key once they are gone."""
        self._local = threading.local()
        self._empty()

    def _empty(self) -> None:
        self._lock = threading.RLock()  # the collector may run while it is held, and code of the user's in it
        self._jaxprs: dict[int, tuple[Any, _Known]] = {}
        self._known: dict[_Place, dict[tuple[Any, TracedFunction], _Known]] = defaultdict(dict)
        """By the key of the signature, and by what came of the trace."""
        self._further: dict[_Place, _Known] = {}
        self._earlier: dict[_Place, Earlier] = defaultdict(Earlier)
        self.traces = Traces()
        self._told_devices = False
        self._loaded: set[str] = set()

    # ------------------------------------------------------------ the life of the process

    def start(self) -> None:
        """Begins to watch."""
        import jax

        self._introduce()
        jax_compat.observe(self)
        jax.monitoring.register_event_duration_secs_listener(self._duration)
        atexit.register(self._finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _introduce(self) -> None:
        import jax
        import jaxlib

        hoisted = bool(getattr(jax.config, "jax_use_simplified_jaxpr_constants", False))
        self._writer.write(
            wire.Started(
                version=wire.VERSION,
                time=time.time(),
                program=self._program,
                root=self.files.root.rstrip(os.sep),
                process=os.getpid(),
                parent=os.getppid(),
                python="{}.{}.{}".format(*sys.version_info[:3]),
                executable=sys.executable,
                jax=jax.__version__,
                jaxlib=getattr(jaxlib, "__version__", None),
                constants="hoisted" if hoisted else "inlined",
            )
        )

    def _forked(self) -> None:
        self._empty()
        self._writer.restart()
        self._introduce()

    def _finish(self) -> None:
        with self._lock:
            every = [known for same in self._known.values() for known in same.values()]
            for known in (*every, *self._further.values()):
                if known.written != (known.calls, known.compiles):
                    self._count(known)
            for count in self.traces.counts():
                self._count_call(count)
            self._writer.write(wire.Ended(time.time()))

    def _fault(self, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        where = ", ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames)
        self._writer.write(wire.Fault(type(error).__name__, where))

    # ------------------------------------------------------------ traces

    def begin(self, call: JitCall, caller: FrameType) -> Record | None:
        """See `Observer`."""
        if not self._stack():
            self._local.compiling = self._local.reported = None
        return super().begin(call, caller)

    def _begin(self, call: JitCall, caller: FrameType) -> Record | None:
        record = super()._begin(call, caller)
        if record is not None:
            record.number = next(self._numbers)
        return record

    def _seen(self, record: Record, inferred: Inferred, seconds: float) -> None:
        if record.only_looked:
            return
        record.inferred, record.seconds = inferred, seconds
        jaxpr = inferred.params["jaxpr"]
        with self._lock:
            reference, known = self._jaxprs.get(id(jaxpr), (None, None))
            is_new = known is None or reference() is not jaxpr
            call = self.traces.add(record, seconds, not is_new)
            if call is not None and (_doubled(call.traces + call.found) or (is_new and call.traces <= _MAX_TOLD)):
                self._count_call(call)
            if is_new:
                known = self._traced(record)
                if known is None:
                    return
                known.traces += 1
                known.seconds += seconds
                self._jaxprs[id(jaxpr)] = (self._until_gone(jaxpr, self._jaxprs, id(jaxpr)), known)
            known.calls += 1
            if known.calls > 1 and _doubled(known.calls):
                self._count(known)
        if not self._stack():
            self._local.compiling = (known, call if is_new else None, str(inferred.params.get("name", "")))

    @staticmethod
    def _until_gone(value: Any, table: dict[Any, Any], key: Any) -> Any:
        return weakref.ref(value, lambda _: table.pop(key, None))

    def _traced(self, record: Record) -> _Known | None:
        """What a new trace is of; written when it is the first of its kind. None when it is not the user's."""
        target = record.target
        arguments = record.signature
        assert arguments is not None
        place = (target.path, target.qualname, target.line, target.column) if target is not None else None
        if place is not None:
            further = self._enough(place, arguments)
            if further is not None:
                further.cause = self._earlier[place].cause(arguments, record.call.fun)
                return further
        function, constants = self._report(record)
        if function is None:
            return None
        place = place or (function.path, function.function, function.line, function.column)
        cause = self._earlier[place].cause(arguments, record.call.fun)
        plain = replace(
            function, id="", jitted_at=None, trace_seconds=None, constants=tuple(map(_plain, function.constants))
        )
        kind = (arguments.key, plain)
        known = self._known[place].get(kind)
        if known is None:
            known = self._known[place][kind] = _Known(record.number, function, cause=cause)
            self._write(known, record, arguments)
            known.written = (1, 0)
        known.cause = cause
        for live in constants:
            self._guard(live.value, live.key)
        return known

    def _enough(self, place: _Place, arguments: Signature) -> _Known | None:  # type: ignore[override]
        """What stands for a trace of which there were enough already."""
        same = self._known[place]
        alike = [known for (signature, _), known in same.items() if signature == arguments.key]
        if alike and sum(known.traces for known in alike) >= _MAX_ALIKE:
            return alike[-1]
        if alike or len(same) < _MAX_SIGNATURES:
            return None
        return self._further.setdefault(place, _Known(0, next(iter(same.values())).function))

    def _report(self, record: Record) -> tuple[TracedFunction | None, list[LiveConstant]]:
        self.records = [record]
        session = Session()
        reporter = Reporter(self, session)
        reporter._keys = self._keys
        try:
            functions = reporter.functions()
        finally:
            self.records = []
        for value in record.keep:
            self._guard(value, arrays.key_of(value))
        if not functions:
            return None, []
        (program,) = session.programs.values()
        return functions[0], program.constants

    def _guard(self, value: Any, key: tuple[Any, ...]) -> None:
        """Forgets the key of an array, and the names found for it, once its memory may be another's."""
        owner = jax_compat.unwrapped(value)
        while isinstance(owner, np.ndarray) and isinstance(owner.base, np.ndarray):
            owner = owner.base

        def forget(_: Any) -> None:
            for table in (self._keys, self.names, self._guards):
                table.pop(key, None)

        try:
            self._guards[key] = weakref.ref(owner, forget)
        except TypeError:
            forget(None)

    # ------------------------------------------------------------ lines

    def _write(self, known: _Known, record: Record, arguments: Signature) -> None:
        function = replace(known.function, id=str(known.id), jaxpr="", calls=1)
        self._write_loaded()
        codes = tuple(dict.fromkeys(code for place in _places(function) for code in self._codes(place)))
        self._writer.write(
            wire.Recorded(
                id=known.id,
                function=function,
                under=tuple(_numbers_above(record)),
                cause=known.cause,
                codes=codes,
                file_hash=_file_hash(function.path),
                static_hashes={name: digest for name, (_, digest) in arguments.statics.items()},
                shardings=arguments.shardings,
                time=time.time(),
            )
        )

    def _write_loaded(self) -> None:
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file not in self._loaded and self.files.owns(file):
                self._loaded.add(file)
                self._writer.write(wire.Loaded(self.files.path(file), wire.module_hash(linecache.getlines(file))))

    def _codes(self, place: Place) -> Iterator[wire.Code]:
        """The function that a place lies in, the outermost one around it, and what makes an object of its class."""
        known = self.files._of_file(place.path)
        around = [d for d in known if d.first <= place.line <= d.end]
        inner = [d for d in around if d.qualname == place.function]
        if not inner:
            return
        one = max(inner, key=lambda definition: definition.first)
        made = f"{one.qualname.rpartition('.')[0]}.__init__"
        lines = linecache.getlines(place.path)
        for d in (one, min(around, key=lambda d: d.first), *(d for d in known if d.qualname == made)):
            yield wire.Code(place.path, d.qualname, d.first, d.end, wire.code_hash(lines[d.first - 1 : d.end]))

    def _count(self, known: _Known) -> None:
        known.written = known.calls, known.compiles
        figures = known.traces, known.seconds, known.compiles, known.compile_seconds, known.cause
        one = known.function
        self._writer.write(
            wire.Counted(known.id, known.calls, *figures)
            if known.id
            else wire.Further(one.path, one.function, one.line, *figures)
        )

    def _count_call(self, count: Count) -> None:
        """The calls on a line, unless all there is to say of them is that they led to a function's first trace."""
        if not count.causes and not count.found:
            return
        found = count.report()
        function = Place(found.path, found.line, function=found.function)
        codes = tuple(dict.fromkeys(code for place in (function, found.at) for code in self._codes(place)))
        self._writer.write(wire.CallCounted(count.number, found, codes, _file_hash(found.at.path)))

    def _fail(self, record: Record, error: BaseException) -> None:
        target = record.target
        if target is None or self._local.reported == id(error):
            return
        # The innermost function has it first; those around it fail of the same.
        self._local.reported = id(error)
        place = failure_of(error, self.files).place
        self._writer.write(wire.Failed(target.path, target.qualname, target.line, type(error).__name__, place))

    # ------------------------------------------------------------ compiling

    def _duration(self, event: str, seconds: float, **about: Any) -> None:
        """Told by JAX of each compilation. It belongs to the trace that ended last in this thread, if that it was."""
        if not event.endswith(_COMPILED):
            return
        try:
            self._compiled(seconds, str(about.get("fun_name", "")))
        except Exception as fault:
            self._fault(fault)

    def _compiled(self, seconds: float, name: str) -> None:
        known, call, compiling = getattr(self._local, "compiling", None) or (None, None, "")
        if known is not None and (not name or compiling in name):
            self._local.compiling = None
            with self._lock:
                known.compiles += 1
                known.compile_seconds += seconds
                if call is not None and call.again:
                    call.compiled(seconds)
                    if call.traces <= _MAX_TOLD:
                        self._count_call(call)
                if _doubled(known.compiles):
                    self._count(known)
        if not self._told_devices and (devices := jax_compat.devices()) is not None:
            self._told_devices = True
            self._writer.write(devices)


def _file_hash(path: str) -> str:
    return wire.text_hash("".join(linecache.getlines(path)))


def _doubled(count: int) -> bool:
    return count & (count - 1) == 0


def _plain(constant: Constant) -> Constant:
    """Without what differs between two traces of the same code."""
    return replace(constant, key=0, variable="")


def _places(function: TracedFunction) -> Iterator[Place]:
    yield Place(function.path, function.line, function=function.function)
    if function.jitted_at is not None:
        yield function.jitted_at
    for constant in function.constants:
        if constant.bound is not None:
            yield constant.bound
        for read in constant.reads:
            yield from read.frames


def _numbers_above(record: Record) -> Iterator[int]:
    outer = record.under
    while outer is not None:
        yield outer.number
        outer = outer.under
