"""Recorded runs as they lie on disk: the parts that processes wrote, read and merged into one account of each run."""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from jaxscope.worker.jaxscope_worker.wire import recording as wire
from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction

_KEYS = 1 << 20
"""Array numbers are those of one process; so many are set aside for each."""
Stamp = tuple[tuple[str, tuple[int, int]], ...]
"""Path, time and size of the files of a run."""


@dataclass(slots=True)
class Seen:
    """One function under one signature, in all processes of one run."""

    event: wire.Recorded
    """As the first of them wrote it; `id` and `under` of its function and the keys are unique among all runs."""
    processes: int = 0
    calls: int = 0
    """Calls that were not answered from JAX's cache. Like the other figures, of the process that has most."""
    traces: int = 0
    trace_seconds: float = 0.0
    compiles: int = 0
    compile_seconds: float = 0.0
    again: str = ""
    """Cause of the last trace after the first; empty where there was one only."""

    @property
    def function(self) -> TracedFunction:
        """What was traced."""
        return self.event.function

    @property
    def origin(self) -> str:
        """Where it was called, for showing: `train.py:18`, `train.py:18, traced 3 times`."""
        at = self.function.jitted_at
        place = f"{os.path.basename(at.path)}:{at.line}" if at else ""
        times = f"traced {self.traces} times" if self.traces > 1 else ""
        return ", ".join(filter(None, (place, times)))

    def count(self, figures: wire.Counted | wire.Further) -> None:
        """Takes what one process counted."""
        self.calls = max(self.calls, figures.calls if isinstance(figures, wire.Counted) else figures.traces)
        self.traces = max(self.traces, figures.traces)
        self.trace_seconds = max(self.trace_seconds, figures.trace_seconds)
        self.compiles = max(self.compiles, figures.compiles)
        self.compile_seconds = max(self.compile_seconds, figures.compile_seconds)
        if figures.traces > 1:
            self.again = figures.cause


@dataclass(slots=True)
class Part:
    """What one process wrote, as far as it can be read."""

    path: str
    started: wire.Started | None = None
    devices: wire.Devices | None = None
    loaded: dict[str, str] = field(default_factory=dict)
    """`module_hash` by path."""
    recorded: list[wire.Recorded] = field(default_factory=list)
    counted: dict[int, wire.Counted] = field(default_factory=dict)
    calls: dict[int, wire.CallCounted] = field(default_factory=dict)
    further: dict[tuple[str, str, int], wire.Further] = field(default_factory=dict)
    failed: list[wire.Failed] = field(default_factory=list)
    faults: list[wire.Fault] = field(default_factory=list)
    ended: bool = False


@dataclass(slots=True)
class Run:
    """One recorded run."""

    folder: str
    parts: list[Part]
    seen: list[Seen]
    further: list[wire.Further]
    """Signatures beyond those that were kept."""
    failed: list[wire.Failed]
    calls: list[wire.CallCounted]
    """Calls that had something traced again, or that met a trace again, each of the process that traced most."""

    @property
    def started(self) -> wire.Started | None:
        """The process that began first."""
        starts = [part.started for part in self.parts if part.started]
        return min(starts, key=lambda one: one.time, default=None)

    @property
    def loaded(self) -> dict[str, str]:
        """The user's files that ran, with `module_hash` of each."""
        return {path: hashed for part in self.parts for path, hashed in part.loaded.items()}

    @property
    def devices(self) -> wire.Devices | None:
        """Of the first process that used any."""
        return next((part.devices for part in self.parts if part.devices), None)


class Reader:
    """Reads the runs of one project, each file again only when it has changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._parts: dict[str, tuple[tuple[int, int], Part | None]] = {}

    def stamp(self) -> tuple[tuple[str, Stamp], ...]:
        """Different once there is something new to read."""
        return tuple((run, _files(run)) for run in wire.runs(self._root))

    def read(self, stamp: tuple[tuple[str, Stamp], ...]) -> list[Run]:
        """The runs, the newest first."""
        kept, numbers, runs = self._parts, itertools.count(1), []
        self._parts = {}
        for folder, files in stamp:
            for path, at in files:
                known = kept.get(path)
                self._parts[path] = known if known is not None and known[0] == at else (at, _read(path, self._root))
            parts = [part for path, _ in files if (part := self._parts[path][1])]
            if parts:
                runs.append(_merged(folder, parts, numbers))
        return runs


def _files(run: str) -> Stamp:
    try:
        with os.scandir(run) as entries:
            files = [(entry.path, entry.stat()) for entry in entries if entry.name.endswith(".jsonl")]
    except OSError:
        return ()
    return tuple(sorted((path, (status.st_mtime_ns, status.st_size)) for path, status in files))


def _read(path: str, root: str) -> Part | None:
    part = Part(path)
    here, there = _quoted(os.path.realpath(root)), b""
    try:
        with open(path, "rb") as stream:
            for line in stream:
                # The project may have been recorded in a container, or have moved.
                _take(part, wire.decode(line.replace(there, here) if there and there != here else line))
                if part.started is not None and not there:
                    there = _quoted(part.started.root)
    except OSError:
        return None
    return part if part.started is not None and part.started.version == wire.VERSION else None


def _quoted(root: str) -> bytes:
    """How the path of a file below `root` begins in JSON."""
    return json.dumps(os.path.join(root, ""), ensure_ascii=False)[:-1].encode("utf-8", "surrogatepass")


def _take(part: Part, event: wire.Event | None) -> None:
    if isinstance(event, wire.Started):
        part.started = event
    elif isinstance(event, wire.Devices):
        part.devices = event
    elif isinstance(event, wire.Loaded):
        part.loaded[event.path] = event.hash
    elif isinstance(event, wire.Recorded):
        part.recorded.append(event)
    elif isinstance(event, wire.Counted):
        part.counted[event.id] = event
    elif isinstance(event, wire.CallCounted):
        part.calls[event.id] = event
    elif isinstance(event, wire.Further):
        part.further[event.path, event.function, event.line] = event
    elif isinstance(event, wire.Failed):
        part.failed.append(event)
    elif isinstance(event, wire.Fault):
        part.faults.append(event)
    elif isinstance(event, wire.Ended):
        part.ended = True


def _merged(folder: str, parts: list[Part], numbers: Iterator[int]) -> Run:
    seen: dict[object, Seen] = {}
    for part in parts:
        ids: dict[int, str] = {}
        number = next(numbers)
        for kind, (event, counted, alike) in _alike(part).items():
            if kind not in seen:
                seen[kind] = Seen(_numbered(event, number))
            one = seen[kind]
            one.event = replace(one.event, function=one.function.joined(event.function))
            ids |= dict.fromkeys(alike, one.function.id)
            one.processes += 1
            one.count(counted)
        for one in seen.values():
            function = one.function
            if function.under is None and function.id in ids.values():
                under = next((ids[outer] for outer in one.event.under if outer in ids), None)
                one.event = replace(one.event, function=replace(function, under=under))
    further: dict[tuple[str, str, int], wire.Further] = {}
    for part in parts:
        further |= part.further
    failed = dict.fromkeys(item for part in parts for item in part.failed)
    ordered = sorted(seen.values(), key=lambda one: -one.calls)
    return Run(folder, parts, ordered, list(further.values()), list(failed), _calls(parts))


def _calls(parts: list[Part]) -> list[wire.CallCounted]:
    found: dict[object, wire.CallCounted] = {}
    for event in (event for part in parts for event in part.calls.values()):
        one = event.retraced
        kind = event.codes[:1], one.function, one.line, one.column, one.at.path, one.at.line
        if kind not in found or found[kind].retraced.traces < one.traces:
            found[kind] = event
    return list(found.values())


def _alike(part: Part) -> dict[object, tuple[wire.Recorded, wire.Counted, list[int]]]:
    """What one process traced, by kind, with what it counted and the numbers of all that are of the kind: closures of
    one def that hold arrays of one shape."""
    found: dict[object, tuple[wire.Recorded, wire.Counted, list[int]]] = {}
    for event in _with_ranks(part.recorded):
        first = wire.Counted(event.id, 1, 1, event.function.trace_seconds or 0.0, 0, 0.0, event.cause)
        counted, kind = part.counted.get(event.id, first), _kind(event)
        if kind not in found:
            found[kind] = (event, counted, [event.id])
            continue
        known, before, alike = found[kind]
        known = replace(known, function=known.function.joined(event.function))
        found[kind] = (known, _sum(before, counted), [*alike, event.id])
    return found


def _sum(one: wire.Counted, other: wire.Counted) -> wire.Counted:
    return wire.Counted(
        one.id,
        one.calls + other.calls,
        one.traces + other.traces,
        one.trace_seconds + other.trace_seconds,
        one.compiles + other.compiles,
        one.compile_seconds + other.compile_seconds,
        other.cause,
    )


def _with_ranks(events: list[wire.Recorded]) -> Iterator[wire.Recorded]:
    """With the arrays of each name counted from 1: each process of a job has copies of its own of the same arrays."""
    ranks: dict[object, dict[int, int]] = defaultdict(dict)
    for event in events:
        constants = []
        for one in event.function.constants:
            known = ranks[event.function.path, event.function.function, event.function.line, one.name]
            sources = tuple(known.setdefault(source, len(known) + 1) for source in one.sources)
            constants.append(replace(one, sources=sources))
        yield replace(event, function=replace(event.function, constants=tuple(constants)))


def _kind(event: wire.Recorded) -> object:
    """Equal in two processes that traced the same."""
    constants = tuple(replace(one, key=0, variable="", splat=None, sources=()) for one in event.function.constants)
    codes = tuple((code.function, code.hash) for code in event.codes[:1])
    return codes, replace(event.function, id="", jitted_at=None, trace_seconds=None, constants=constants)


def _numbered(event: wire.Recorded, part: int) -> wire.Recorded:
    """With numbers that no other part has."""
    constants = tuple(replace(one, key=one.key + part * _KEYS if one.key else 0) for one in event.function.constants)
    return replace(event, function=replace(event.function, id=f"r{part}.{event.id}", constants=constants))
