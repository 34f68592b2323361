"""How far a command is, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int, wanted: bool) -> Iterator[Callable[[], None]]:
    """Yields what to call after each of `total` steps. Shows a bar on standard error if that is a terminal."""
    if not wanted or total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    # Rich takes a tenth of a second to import, which only those who see its bar should pay.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def stage(wanted: bool) -> Iterator[Callable[[str], None]]:
    """Yields what to call with what is done now. Shows it, and since when, on standard error if that is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda text: bar.update(task, description=text)
