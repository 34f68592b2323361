"""`jaxscope check`: findings of files and folders."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_all_start_methods, get_context

from jaxscope.cli.engine import Group, check_entries, groups, log
from jaxscope.cli.formats import json, text
from jaxscope.cli.options import colour_wanted
from jaxscope.cli.progress import progress
from jaxscope.cli.report import INTERNAL, FileReport, Report
from jaxscope.cli.settings import Settings
from jaxscope.cli.targets import Target, parts, targets, work
from jaxscope.rules.finding import SEVERITIES

WORTH_PROCESSES = 400_000
"""Bytes of source from which a second process is faster than one."""
PARTS = 32
"""More than processes, so that neither waits long for the other."""
MOST_KEPT = 10 << 20
"""Bytes of source whose trees a process keeps, which takes some fifty times as much memory."""


_NOT_LOOKED_AT = ("read", "syntax", "user-error", "timed-out", "crashed")
"""Kinds of errors after which a file counts as not looked at, or not as asked."""


def run(options: argparse.Namespace) -> int:
    """Prints the findings. Returns 1 when one is at or above `--fail-level`.

    2 after a fault of ours, and when no file could be read, or run where that was asked for.
    """
    # Syntax trees are many small objects that live to the end: looking for garbage among them takes half of the time.
    gc.disable()
    every = groups(targets(options.paths), options)
    if any(group.settings.trace for group in every):
        check_entries(every)
    bar = not options.quiet
    try:
        files = _reports(every, bar)
        report = _report(every, files)
    finally:
        for group in every:
            group.close()
    if options.verbose and (ran := report.environment):
        log(f"jaxscope: run by {ran.executable} (Python {ran.python}, JAX {ran.jax})")
    if options.format == "json":
        print(json.render(report))
    else:
        style = text.Style(colour_wanted(), options.verbose, options.quiet)
        if shown := text.render(report, style):
            print(shown)
    if any(row.kind == INTERNAL for row in report.errors):
        return 2
    if not report.findings and report.files and all(_unread(file) for file in report.files):
        return 2
    least = SEVERITIES.index(options.fail_level)
    return int(any(SEVERITIES.index(finding.severity) >= least for finding in report.findings))


def _unread(file: FileReport) -> bool:
    return any(row.kind in _NOT_LOOKED_AT and row.path == file.path for row in file.errors)


def _reports(every: list[Group], bar: bool) -> list[FileReport]:
    found: dict[str, FileReport] = {}
    for group in every:
        if group.settings.trace:
            wanted = group.to_trace()
            with progress("tracing", len(wanted), bar) as step:
                group.trace(wanted, step)
            found.update((target.path, group.report(target)) for target in group.targets)
    reading = [group for group in every if not group.settings.trace]
    with progress("reading", sum(len(group.targets) for group in reading), bar) as step:
        for report in _read(reading):
            found[report.path] = report
            step()
    return [found[target.path] for group in every for target in group.targets]


def _read(every: list[Group]) -> Iterator[FileReport]:
    """The reports of files that are not run, by two processes where one is slower.

    They begin at both ends, so that there is one project, if any, whose common files both of them read.
    """
    total = sum(work(target) for group in every for target in group.targets)
    if (os.cpu_count() or 1) < 2 or total < WORTH_PROCESSES:
        for group in every:
            yield from _one_by_one(group, group.targets)
        return
    method = "fork" if "fork" in get_all_start_methods() and sys.platform != "darwin" else "spawn"
    pieces = deque((group, part) for group in every for part in parts(group.targets, total / PARTS))
    with ProcessPoolExecutor(1, get_context(method)) as first, ProcessPoolExecutor(1, get_context(method)) as last:
        takes = {first: pieces.popleft, last: pieces.pop}
        running: dict[Future[list[FileReport]], ProcessPoolExecutor] = {}

        def go_on(process: ProcessPoolExecutor) -> None:
            if pieces:
                group, part = takes[process]()
                running[process.submit(_static, group.root, group.settings, part)] = process

        go_on(first)
        go_on(last)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                go_on(running.pop(future))
                yield from future.result()


_group: Group | None = None
"""The project that this process has read from last."""
_dropped = 0
"""Bytes of source that are no longer needed and, being cycles, still there."""


def _static(root: str, settings: Settings, part: list[Target]) -> list[FileReport]:
    global _group
    gc.disable()
    if _group is None or _group.root != root:
        if _group is not None:
            _drop(_group)
        _group = Group(root, settings, [], ())
    return list(_one_by_one(_group, part))


def _one_by_one(group: Group, part: list[Target]) -> Iterator[FileReport]:
    """The reports of files whose project stays as it is; what was read for some is kept for the next, within bounds."""
    for target in part:
        group.workspace.project.fixed = True
        yield group.report(target)
        if group.workspace.project.size > MOST_KEPT:
            _drop(group)


def _drop(group: Group) -> None:
    global _dropped
    _dropped += group.workspace.project.size
    group.forget()
    if _dropped > MOST_KEPT:
        gc.collect()
        _dropped = 0


def _report(every: list[Group], files: list[FileReport]) -> Report:
    shown = {finding.path for file in files for finding in file.findings}
    read = ((path, every[0].workspace.project.text(path)) for path in shown)
    texts = {path: text for path, text in read if text is not None}
    hello = next((group.hello for group in every if group.hello), None)
    return Report(
        hello, tuple(files), texts, tuple(dict.fromkeys(row for group in every for row in group.settings_errors()))
    )
