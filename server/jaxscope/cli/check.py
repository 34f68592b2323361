"""`jaxscope check`: findings of files and folders."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_all_start_methods, get_context

from jaxscope.cli.engine import Group, check_entries, groups
from jaxscope.cli.formats import json, text
from jaxscope.cli.options import colour_wanted
from jaxscope.cli.progress import progress
from jaxscope.cli.report import INTERNAL, FileReport, Report
from jaxscope.cli.settings import Settings
from jaxscope.cli.targets import Target, chunks, targets
from jaxscope.rules.finding import SEVERITIES

PROCESSES = 2
WORTH_PROCESSES = 400_000
"""Bytes of source from which a second process is faster than one."""


def run(options: argparse.Namespace) -> int:
    """Prints the findings. Returns 1 when one is at or above `--fail-level`.

    2 after a fault of ours, and when no file could be read.
    """
    # Syntax trees are many small objects that live to the end: looking for garbage among them takes half of the time.
    gc.disable()
    every = groups(targets(options.paths), options)
    if any(group.settings.trace for group in every):
        check_entries(every)
    bar = not options.quiet
    try:
        files = [file for group in every for file in _reports(group, bar)]
        report = _report(every, files)
    finally:
        for group in every:
            group.close()
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
    return any(row.kind in ("read", "syntax") and row.path == file.path for row in file.errors)


def _reports(group: Group, bar: bool) -> list[FileReport]:
    if group.settings.trace:
        wanted = group.to_trace()
        with progress("tracing", len(wanted), bar) as step:
            group.trace(wanted, step)
    elif (found := _in_processes(group, bar)) is not None:
        return found
    with progress("reading", len(group.targets), bar) as step:
        return [_after(group.report(target), step) for target in group.targets]


def _after(report: FileReport, step: Callable[[], None]) -> FileReport:
    step()
    return report


def _in_processes(group: Group, bar: bool) -> list[FileReport] | None:
    """The static reports by two processes; None where one will do."""
    relevant = [target for target in group.targets if target.relevant]
    if (os.cpu_count() or 1) < PROCESSES or sum(_size(target.path) for target in relevant) < WORTH_PROCESSES:
        return None
    method = "fork" if "fork" in get_all_start_methods() and sys.platform != "darwin" else "spawn"
    found: dict[str, FileReport] = {target.path: FileReport(target.path) for target in group.targets}
    with progress("reading", len(relevant), bar) as step, ProcessPoolExecutor(PROCESSES, get_context(method)) as pool:
        # More chunks than processes, so that the bar moves and neither waits long for the other.
        work = chunks(relevant, max(PROCESSES, min(len(relevant) // 8, 16)))
        for future in as_completed([pool.submit(_static, group.root, group.settings, part) for part in work]):
            for report in future.result():
                found[report.path] = report
                step()
    return list(found.values())


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _static(root: str, settings: Settings, part: list[Target]) -> list[FileReport]:
    gc.disable()
    group = Group(root, settings, part, ())
    return [group.report(target) for target in part]


def _report(every: list[Group], files: list[FileReport]) -> Report:
    shown = {finding.path for file in files for finding in file.findings}
    modules = ((path, group.workspace.project.module(path)) for group in every for path in shown)
    texts = {path: module.text for path, module in modules if module is not None}
    hello = next((group.hello for group in every if group.hello), None)
    return Report(hello, tuple(files), texts)
