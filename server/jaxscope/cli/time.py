"""`jaxscope time`: what the stages of one function take on the device."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any, Literal

from jaxscope.cli.engine import said
from jaxscope.cli.formats import json
from jaxscope.cli.formats.table import table
from jaxscope.cli.one import Chosen, choose
from jaxscope.cli.problem import Problem
from jaxscope.cli.targets import shown_path
from jaxscope.ide.numbers import format_bytes, format_flops, format_run_seconds, format_seconds
from jaxscope.ide.panel_model import Comparison, FormTimings, Spread, Timings
from jaxscope.ide.timings import timings
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, TracedFunction
from jaxscope.workers.measuring import measure
from jaxscope.workers.pool import Session

Form = Literal["captured", "hoisted"]


def run(options: argparse.Namespace) -> int:
    """Measures and prints. Raises Problem when it cannot be measured."""
    chosen = choose(options, device=True)
    chosen.group.muted = True  # it has been printed once, and is traced and run many times now
    forms: tuple[Form, ...] = ("captured", "hoisted") if options.compare else ("captured",)
    try:
        reply = measure(_Opening(chosen), forms, None, None)
    finally:
        chosen.close()
    if isinstance(reply, Failure):
        raise Problem(said(reply))
    measured = timings(reply)
    print(json.dump(_as_json(chosen, measured)) if options.format == "json" else _text(chosen, measured))
    return 0


class _Opening:
    """The worker that was opened to find the function; when that has died, a fresh one."""

    def __init__(self, chosen: Chosen) -> None:
        self._chosen, self._session = chosen, chosen.session

    def __call__(self) -> tuple[Session, TracedFunction] | Failure:
        traced = self._chosen.traced[0]
        if self._session.alive:
            return self._session, traced
        opened = self._chosen.again()
        found = opened.evidence.reply.functions
        return next(
            ((opened, item) for item in found if item.id == traced.id), Failure("unsupported", "not traced again")
        )


def _text(chosen: Chosen, measured: Timings) -> str:
    item = chosen.traced[0]
    types = ", ".join(one.type for one in item.parameters)
    parts = [f"{item.function}: {types} → {', '.join(item.out)} ({item.source}) on {measured.device}"]
    if len(chosen.traced) > 1:
        parts[0] += f"; the first of {len(chosen.traced)} signatures"
    for form in measured.forms:
        title = f"{form.form}\n" if len(measured.forms) > 1 else ""
        head = ("stage", "min", "median", "IQR", "runs")
        parts.append(title + table([head, *map(_stage, form.stages)], right=(1, 2, 3, 4)))
        if costs := _costs(form):
            parts[-1] += f"\n{costs}"
    if measured.comparison:
        head = ("captured against hoisted", "captured", "hoisted", "", "")
        parts.append(table([head, *map(_compared, measured.comparison)], right=(1, 2)))
    parts += [f"{form.form}: {form.stopped} while compiling" for form in measured.forms if form.stopped]
    parts += [f"XLA: {alarm}" for alarm in measured.alarms]
    if measured.difference is not None:
        parts.append(f"largest difference of the results: {measured.difference:.3g}")
    return "\n\n".join(parts)


def _stage(item: Spread) -> tuple[str, ...]:
    shown = format_run_seconds(item.median) if item.stage == "run" else format_seconds(item.median)
    spread = format_seconds(item.iqr) if item.runs > 1 else ""
    return item.stage, format_seconds(item.minimum), shown, spread, str(item.runs)


def _costs(form: FormTimings) -> str:
    figures = [
        (form.module_bytes, "module"),
        (form.argument_bytes, "arguments"),
        (form.output_bytes, "outputs"),
        (form.temp_bytes, "temporaries"),
        (form.constant_bytes, "constants"),
        (form.code_bytes, "code"),
    ]
    known = [f"{word} {format_bytes(count)}" for count, word in figures if count is not None]
    if form.flops is not None and form.flops >= 0:
        known.append(format_flops(form.flops))
    return " · ".join(known)


def _compared(row: Comparison) -> tuple[str, ...]:
    write = format_bytes if row.unit == "bytes" else format_seconds
    figures = ("" if value is None else write(value) for value in (row.captured, row.hoisted))
    return row.label, *figures, row.verdict, row.note


def _as_json(chosen: Chosen, measured: Timings) -> dict[str, Any]:
    item = chosen.traced[0]
    return {
        "version": json.VERSION,
        "environment": json.environment(chosen.session.evidence.hello),
        "path": shown_path(chosen.path),
        "function": chosen.name,
        "signature": {"in": [one.type for one in item.parameters], "out": list(item.out), "source": item.source},
        "timings": asdict(measured),
    }
