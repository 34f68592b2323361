"""What a recorded run showed, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import jaxscope
from jaxscope.cli.formats.json import VERSION
from jaxscope.cli.targets import shown_path
from jaxscope.ide.numbers import format_bytes, format_count, format_seconds, short_type
from jaxscope.tracing.evidence import distinct_bytes
from jaxscope.tracing.recorded_runs import Run, Seen
from jaxscope.worker.jaxscope_worker.wire.messages import Constant
from jaxscope.worker.jaxscope_worker.wire.recording import Further
from jaxscope.worker.jaxscope_worker.wire.retracing import Retraced

_MOST = 8
"""Signatures of one function that are listed in the text; JSON has all."""
_LONGEST = 60
"""Characters of one tree in the text."""
_MOST_REASONS = 2
"""Reasons that are told at a call in the text; JSON has those that are kept."""
_Name = tuple[str, int, str, int]
"""Path, line, qualified name; of a lambda its column."""


def text(run: Run | None, folder: str, status: int) -> str:
    """The report for a person."""
    if run is None:
        why = "the program did not import jax, or jax is not in that interpreter"
        if status:
            why = f"the program ended with status {status}, and jax was not seen to be imported"
        return f"jaxscope: nothing was recorded: {why}"
    functions = _functions(run)
    traced = format_count(len(functions), "function")
    more = "more than " if run.further else ""
    signatures = more + format_count(len(run.seen), "signature")
    processes = f" in {len(run.parts)} processes" if len(run.parts) > 1 else ""
    lines = [f"jaxscope: {traced} traced under {signatures}{processes}; recorded in {shown_path(folder)}"]
    if not functions:
        lines.append("  No function of this project's files was traced.")
    for (path, line, name, column), seen in functions.items():
        further = _further_of(run, (path, line, name, column))
        place = f"{shown_path(path)}:{line}"
        if sum(other[:3] == (path, line, name) for other in functions) > 1:  # lambdas
            place += f":{column}"
        lines += _function(place, name, seen, further)
        lines += map(_further, further)
        lines += map(_call, _calls_of(run, (path, line, name, column)))
    for failed in dict.fromkeys(run.failed):
        at = f" at {shown_path(failed.place.path)}:{failed.place.line}" if failed.place else ""
        lines.append(f"{shown_path(failed.path)}:{failed.line} {failed.function}: tracing it raised {failed.error}{at}")
    if faults := sum(len(part.faults) for part in run.parts):
        mistakes = format_count(faults, "mistake")
        lines.append(f"jaxscope made {mistakes} of its own and may have missed something; they are told there too.")
    return "\n".join(lines)


def _functions(run: Run) -> dict[_Name, list[Seen]]:
    found: dict[_Name, list[Seen]] = defaultdict(list)
    for seen in run.seen:
        function = seen.function
        found[function.path, function.line, function.function, function.column or 0].append(seen)
    return dict(sorted(found.items()))


def _further_of(run: Run, name: _Name) -> list[Further]:
    return [item for item in run.further if (item.path, item.line, item.function) == name[:3]]


def _calls_of(run: Run, name: _Name) -> list[Retraced]:
    """The calls that had a function traced another time than its first."""
    counted = [call.retraced for call in run.calls if call.retraced.causes]
    return [one for one in counted if (one.path, one.line, one.function, one.column or 0) == name]


def _function(place: str, name: str, seen: list[Seen], further: list[Further]) -> Iterator[str]:
    every: list[Seen | Further] = [*seen, *further]
    traces = sum(one.traces for one in every)
    compiling = sum(one.compile_seconds for one in every)
    cost = f", {format_seconds(compiling)} compiling" if any(one.compiles for one in every) else ""
    yield f"{place} {name}: traced {format_count(traces, 'time')}{cost}"
    for one in sorted(seen, key=lambda one: one.event.time)[:_MOST]:
        again = f"; traced {one.traces} times: {one.again}" if one.again and one.traces > 1 else ""
        yield f"    {_signature(one)}  # {one.event.cause}{again}"
    if len(seen) > _MOST:
        yield f"    … {format_count(len(seen) - _MOST, 'more signature')}"
    for constant in _constants(seen):
        yield f"    captures {constant.name or 'an unnamed array'}: {_type(constant)}{_read_at(constant)}"


def _signature(seen: Seen) -> str:
    function = seen.function
    given = [f"{one.name}={_cut(one.type)}" if one.static else _cut(one.type) for one in function.parameters]
    return f"{', '.join(given) or '()'} → {_cut(', '.join(function.out)) or '()'}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _constants(seen: list[Seen]) -> list[Constant]:
    """Those of all signatures, each name once, the largest first."""
    found: dict[object, Constant] = {}
    for one in seen:
        alike: Counter[object] = Counter()
        for constant in one.function.constants:
            kind = (constant.name, constant.owner, constant.shape, constant.dtype)
            found.setdefault((kind, alike[kind]), constant)
            alike[kind] += 1
    return sorted(found.values(), key=lambda constant: -constant.bytes)


def _type(constant: Constant) -> str:
    return f"{short_type(constant.dtype, constant.shape)}, {format_bytes(constant.bytes)}"


def _read_at(constant: Constant) -> str:
    place = next((read.frames[0] for read in constant.reads if read.frames), None)
    return f", read at {shown_path(place.path)}:{place.line}" if place else ""


def _further(item: Further) -> str:
    return f"    … {format_count(item.traces, 'trace')} of them only counted; the last: {item.cause}"


def _call(one: Retraced) -> str:
    compiling = f", {format_seconds(one.compile_seconds)} compiling again" if one.compile_seconds is not None else ""
    why = "; ".join(one.causes[:_MOST_REASONS]) + ("; …" if len(one.causes) > _MOST_REASONS else "")
    place = f"{shown_path(one.at.path)}:{one.at.line}"
    return f"    called at {place}: traced {format_count(one.traces, 'time')}{compiling}: {why}"


# ---------------------------------------------------------------- JSON


def json_text(run: Run | None, folder: str, status: int) -> str:
    """The report as one line of JSON."""
    started, devices = (run.started, run.devices) if run else (None, None)
    report = {
        "version": VERSION,
        "jaxscope": jaxscope.__version__,
        "recording": shown_path(folder),
        "exit_status": status,
        "program": started.program if started else None,
        "environment": {
            "python": started.python,
            "jax": started.jax,
            "jaxlib": started.jaxlib,
            "constants": started.constants,
            "platform": devices.platform if devices else None,
            "devices": devices.count if devices else None,
            "x64": devices.x64 if devices else None,
        }
        if started
        else None,
        "processes": len(run.parts) if run else 0,
        "functions": [
            _function_json(name, seen, _further_of(run, name), _calls_of(run, name))
            for name, seen in _functions(run).items()
        ]
        if run
        else [],
        "failed": [
            {"path": shown_path(item.path), "function": item.function, "line": item.line, "error": item.error}
            for item in (run.failed if run else [])
        ],
    }
    return json.dumps(report, ensure_ascii=False)


def _function_json(name: _Name, seen: list[Seen], further: list[Further], calls: list[Retraced]) -> dict[str, Any]:
    path, line, function, _ = name
    every: list[Seen | Further] = [*seen, *further]
    constants = _constants(seen)
    return {
        "path": shown_path(path),
        "function": function,
        "line": line,
        "traces": sum(one.traces for one in every),
        "trace_seconds": sum(one.trace_seconds for one in every),
        "compile_seconds": sum(one.compile_seconds for one in every) if any(one.compiles for one in every) else None,
        "constant_bytes": max(distinct_bytes(one.function.constants) for one in seen),
        "constants": [_constant_json(one) for one in constants],
        "signatures": [_signature_json(one) for one in sorted(seen, key=lambda one: one.event.time)],
        "retraced": [_call_json(one) for one in calls],
    }


def _call_json(one: Retraced) -> dict[str, Any]:
    return {
        "path": shown_path(one.at.path),
        "line": one.at.line,
        "traces": one.traces,
        "compile_seconds_again": one.compile_seconds,
        "causes": [{"cause": cause, "traces": times} for cause, times in zip(one.causes, one.times, strict=True)],
    }


def _signature_json(seen: Seen) -> dict[str, Any]:
    function = seen.function
    return {
        "in": [one.type for one in function.parameters],
        "names": [one.name for one in function.parameters],
        "static": [one.name for one in function.parameters if one.static],
        "donated": [one.name for one in function.parameters if one.donated],
        "out": list(function.out),
        "shardings": seen.event.shardings,
        "cause": seen.event.cause,
        "again": seen.again or None,
        "processes": seen.processes,
        "traces": seen.traces,
        "trace_seconds": seen.trace_seconds,
        "compiles": seen.compiles,
        "compile_seconds": seen.compile_seconds if seen.compiles else None,
        "constants": len(function.constants),
    }


def _constant_json(one: Constant) -> dict[str, Any]:
    place = next((read.frames[0] for read in one.reads if read.frames), None)
    return {
        "name": one.name,
        "shape": list(one.shape),
        "dtype": one.dtype,
        "bytes": one.bytes,
        "sharding": one.sharding,
        "path": shown_path(place.path) if place else None,
        "line": place.line if place else None,
    }
