"""What recorded runs of a project showed: signatures to trace with, and evidence.

A recorded function counts as seen as long as its code is what it was: its own, that of the functions in which its
constants are read, of those around them and around the call, and what the run's files do outside of functions. The
places of it are moved to where that code is now. Its signatures are used for tracing also when the code has changed.
"""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.project import Project
from jaxscope.tracing.evidence import Evidence, text_hash
from jaxscope.tracing.locations import is_under
from jaxscope.tracing.recorded_runs import Reader, Run, Seen
from jaxscope.worker.jaxscope_worker.wire import recording as wire
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Constant,
    DeclaredSignature,
    Hello,
    Place,
    Read,
    TracedFunction,
    TraceReply,
)
from jaxscope.worker.jaxscope_worker.wire.retracing import Retraced

MOST_SIGNATURES = 4
"""Recorded signatures of one function that are traced again."""
_CUSTOM = re.compile(r"…|<|\w\(")
"""In a tree's short form: too long, or of a class of its own, which text cannot build."""


_LINE_END = re.compile(r"\r\n|\r|\n")


class Recordings:
    """The recorded runs of one project, the newest first. They do not change; `recordings_of` gives newer ones."""

    def __init__(self, root: str, runs: list[Run]) -> None:
        self.root, self.runs = root, runs
        self._by_path: dict[str, list[tuple[Run, Seen]]] = defaultdict(list)
        self._calls: dict[str, list[tuple[Run, wire.CallCounted]]] = defaultdict(list)
        ran: set[tuple[str, str, str]] = set()
        for run in runs:
            for seen in run.seen:
                self._by_path[seen.function.path].append((run, seen))
            for call in run.calls:
                if ran.isdisjoint(_own(call)):  # else a newer run had no such traces
                    self._calls[call.retraced.at.path].append((run, call))
            ran.update(own for seen in run.seen for own in _own(seen.event))

    def paths(self) -> tuple[str, ...]:
        """Files of which functions were recorded."""
        return tuple(self._by_path)

    def signatures(self, model: FileModel) -> tuple[DeclaredSignature, ...]:
        """Signatures to trace functions of a file with: those of the last run that called each, the most used first.

        Left out is what text cannot say (trees of the user's own classes, static objects) and what cannot be reached
        once the file is imported (functions inside functions).
        """
        found: dict[str, list[DeclaredSignature]] = defaultdict(list)
        used: dict[str, Run] = {}
        for run, seen in _at(self._by_path, model.module.path):
            function = seen.function
            name = function.function
            if "<" in name or used.setdefault(name, run) is not run or len(found[name]) >= MOST_SIGNATURES:
                continue
            text = _signature(function, model)
            if text is not None and all(known.signature != text for known in found[name]):
                found[name].append(DeclaredSignature(name, text, "recorded", seen.origin))
        return tuple(signature for signatures in found.values() for signature in signatures)

    def seen(self, function: TracedFunction) -> Seen | None:
        """What the last run that traced a function under this signature counted."""
        of_file = [seen for _, seen in _at(self._by_path, function.path)]
        alike = (
            seen
            for seen in of_file
            if (seen.function.function, seen.function.parameters) == (function.function, function.parameters)
        )
        return next((seen for seen in of_file if seen.function.id == function.id), None) or next(alike, None)

    def evidence(self, path: str, project: Project) -> Evidence | None:
        """What the recordings show of the present text of a file; None where that is nothing."""
        now = _Now(project, os.path.realpath(self.root))
        functions: list[tuple[Run, TracedFunction]] = []
        used: dict[tuple[str, int], Run] = {}
        for run, seen in _at(self._by_path, path):
            moved = now.function(seen) if now.same_modules(run) else None
            if moved is not None and used.setdefault((moved.function, moved.line), run) is run:
                functions.append((run, moved))
        counted = ((run, now.call(call)) for run, call in _at(self._calls, path) if now.same_modules(run))
        calls = [(run, call) for run, call in counted if call is not None]
        newest = max((run for run, _ in (*functions, *calls)), key=_time, default=None)
        text = project.text(path)
        if newest is None or text is None:
            return None
        known = tuple(_known_under([function for _, function in functions]))
        retraced = tuple(call for _, call in calls)
        reply = TraceReply(known, (), (), None, 0.0, (path,), retraced=retraced)
        return Evidence(path, text_hash(text), _hello(newest), reply, _time(newest))


_Item = TypeVar("_Item")


def _at(items: dict[str, list[_Item]], path: str) -> list[_Item]:
    return items.get(path) or items.get(os.path.realpath(path)) or []


def _own(event: wire.Recorded | wire.CallCounted) -> list[tuple[str, str, str]]:
    """The code of the function that was traced, wherever it stands."""
    return [(code.path, code.function, code.hash) for code in event.codes[:1]]


def _time(run: Run) -> float:
    return run.started.time if run.started else 0.0


def _hello(run: Run) -> Hello:
    started, devices = run.started, run.devices
    assert started is not None  # a part without it is not read
    return Hello(
        protocol=0,
        python=started.python,
        executable=started.executable,
        jax=started.jax,
        jaxlib=started.jaxlib,
        platform=devices.platform if devices else "default",
        constants=started.constants,
        x64=devices.x64 if devices else False,
    )


def _known_under(functions: list[TracedFunction]) -> Iterator[TracedFunction]:
    ids = {function.id for function in functions}
    for function in functions:
        yield function if function.under in ids else replace(function, under=None)


# ---------------------------------------------------------------- signatures as text


def _signature(function: TracedFunction, model: FileModel) -> str | None:
    """A recorded signature as one would declare it; None where that cannot be."""
    known = model.function(function.function)
    if known is None:
        return None
    wanted = [parameter for parameter in known.parameters if parameter.kind not in ("star", "double-star")]
    names = [parameter.name for parameter in wanted]
    given = list(function.parameters)
    if known.owner_class is not None and names[:1] in (["self"], ["cls"]):
        names = names[1:]
        given = given[1:] if given and given[0].name in ("self", "cls") else given
    if [parameter.name for parameter in given] != names[: len(given)]:
        return None
    if not all(parameter.has_default for parameter in wanted[len(wanted) - len(names) + len(given) :]):
        return None  # it has a new parameter
    if not all(_is_literal(one.type) if one.static else not _CUSTOM.search(one.type) for one in given):
        return None
    return ", ".join(parameter.type for parameter in given)


def _is_literal(text: str) -> bool:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return value is None or isinstance(value, (bool, int, float, str))


# ---------------------------------------------------------------- where the code is now


class _Now:
    """Moves places of a recording to where their code is now."""

    def __init__(self, project: Project, root: str) -> None:
        self._project, self._root = project, root
        self._known: dict[wire.Code, int | None] = {}
        self._names: dict[str, dict[str, list[Function]]] = {}
        self._same: dict[str, bool] = {}

    def same_modules(self, run: Run) -> bool:
        """Do the files of a run do now what they did outside of their functions?"""
        if run.folder not in self._same:
            self._same[run.folder] = all(
                is_under(path, self._root)
                and (text := self._project.text(path)) is not None
                and _module_hash(text) == hashed
                for path, hashed in run.loaded.items()
            )
        return self._same[run.folder]

    def function(self, seen: Seen) -> TracedFunction | None:
        """What was recorded, moved; None when code that it rests on has changed."""
        event, function = seen.event, seen.event.function
        own = next(
            (code for code in event.codes if _holds(code, function.path, function.function, function.line)), None
        )
        shift = self._shift(own) if own else None
        if shift is None or any(self._shift(code) is None for code in event.codes):
            return None
        constants = []
        for constant in function.constants:
            moved = self._constant(constant, event)
            if moved is None:
                return None
            constants.append(moved)
        return replace(
            function,
            line=function.line + shift,
            jitted_at=self._place(function.jitted_at, event),
            constants=tuple(constants),
            origin=seen.origin,
            calls=1,
        )

    def call(self, event: wire.CallCounted) -> Retraced | None:
        """What was counted at a call, moved; None when code that it rests on has changed."""
        counted = event.retraced
        function = self._place(Place(counted.path, counted.line, function=counted.function), event)
        at = self._place(counted.at, event)
        if function is None or at is None or any(self._shift(code) is None for code in event.codes):
            return None
        return replace(counted, line=function.line, at=at)

    def _constant(self, constant: Constant, event: wire.Recorded) -> Constant | None:
        reads = []
        for read in constant.reads:
            frames = [self._place(frame, event) for frame in read.frames]
            if frames and frames[0] is None:
                return None
            reads.append(Read(read.primitive, tuple(frame for frame in frames if frame is not None)))
        return replace(constant, bound=self._place(constant.bound, event), reads=tuple(reads))

    def _place(self, place: Place | None, event: wire.Recorded | wire.CallCounted) -> Place | None:
        if place is None:
            return None
        shift = self._unchanged(place.path, event) if not place.function else None
        for code in event.codes if place.function else ():
            if _holds(code, place.path, place.function, place.line):
                shift = self._shift(code)
                break
        if shift is None:
            return None
        return replace(place, line=place.line + shift, end_line=place.end_line + shift if place.end_line else None)

    def _unchanged(self, path: str, event: wire.Recorded | wire.CallCounted) -> int | None:
        hashed = event.function.path if isinstance(event, wire.Recorded) else event.retraced.at.path
        text = self._project.text(path) if path == hashed else None
        return 0 if text is not None and text_hash(text) == event.file_hash else None

    def _shift(self, code: wire.Code) -> int | None:
        """By how many lines a function has moved; None when it is not what it was."""
        if code not in self._known:
            # A recording names files of its project only; one that a stranger made is not to have others read.
            model = self._project.model(code.path) if is_under(code.path, self._root) else None
            shifts = []
            for function in self._named(model, code.function) if model else ():
                first, last = function.range.start.line, function.range.end.line
                if last - first == code.end - code.first and model:
                    lines = model.module.lines
                    if wire.code_hash(lines.line(number) for number in range(first, last + 1)) == code.hash:
                        shifts.append(first - code.first)
            self._known[code] = min(shifts, key=abs, default=None)
        return self._known[code]

    def _named(self, model: FileModel, name: str) -> list[Function]:
        found = self._names.get(model.module.path)
        if found is None:
            found = self._names[model.module.path] = defaultdict(list)
            for function in model.functions:
                found[function.qualname].append(function)
        return found.get(name, [])


@lru_cache(1024)
def _module_hash(text: str) -> str:
    return wire.module_hash(_LINE_END.split(text))


def _holds(code: wire.Code, path: str, function: str, line: int) -> bool:
    return (code.path, code.function) == (path, function) and code.first <= line <= code.end


def recordings_for(path: str) -> Recordings | None:
    """The recorded runs that a file may be in: those of the nearest folder above it that has any."""
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(os.path.join(folder, wire.FOLDER)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return recordings_of(folder)


_readers: dict[str, tuple[Reader, object, Recordings]] = {}


def recordings_of(root: str) -> Recordings:
    """The recorded runs of a project as they are now; read again only when a file has changed."""
    reader, before, known = _readers.get(root) or (Reader(root), None, None)
    stamp = reader.stamp()
    if known is None or stamp != before:
        known = Recordings(root, reader.read(stamp))
        _readers[root] = (reader, stamp, known)
    return known
