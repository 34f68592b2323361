"""`jaxscope record`: the user's own program, as it is, with what it traces written down."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from jaxscope.cli.formats import recording
from jaxscope.cli.problem import Problem
from jaxscope.cli.settings import settings_for
from jaxscope.tracing.locations import project_root
from jaxscope.tracing.recorded_runs import Run
from jaxscope.tracing.recordings import recordings_of
from jaxscope.workers.interpreter import find_interpreter
from jaxscope.workers.recording import environment, new_run

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGQUIT")


def run(options: argparse.Namespace) -> int:
    """Runs the program, then reports. Returns the program's own exit status; 128 + N when signal N ended it."""
    command = ["-m", *options.module] if options.module else options.program
    if not command or command == ["-m"]:
        raise Problem("nothing to run: jaxscope record SCRIPT [ARG...], or jaxscope record -m MODULE [ARG...]")
    here = os.path.join(os.getcwd(), "-") if options.module else os.path.realpath(command[0])
    root = project_root(here, os.getcwd())
    python = find_interpreter(settings_for(here, options).config.interpreter, root, os.getcwd())
    folder, env = None, None
    try:
        folder = new_run(root)
        env = environment(folder)
    except OSError as error:
        said = error.strerror or str(error)
        print(f"jaxscope: nothing is recorded: {error.filename or root} cannot be written: {said}", file=sys.stderr)
    status = _status([python, *command], env)
    found = next((one for one in recordings_of(os.path.realpath(root)).runs if one.folder == folder), None)
    if folder is not None:
        _tell(found, folder, status, options)
    return status


def _status(command: list[str], env: dict[str, str] | None) -> int:
    sys.stdout.flush()
    try:
        process = subprocess.Popen(command, env=env)
    except OSError as error:
        raise Problem(f"{command[0]} cannot be run: {error.strerror}") from None
    with _program_decides(process):
        status = process.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _program_decides(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leaves Ctrl-C, which the terminal sends to both, to the program, and hands other signals on to it."""

    def forward(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    def nothing(number: int, frame: FrameType | None) -> None:
        return

    names = [name for name in _FORWARDED if hasattr(signal, name)]
    wanted = {signal.SIGINT: nothing, **{signal.Signals[name]: forward for name in names}}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(found: Run | None, folder: str, status: int, options: argparse.Namespace) -> None:
    text = (
        recording.json_text(found, folder, status)
        if options.format == "json"
        else recording.text(found, folder, status)
    )
    if options.output:
        try:
            with open(options.output, "w", encoding="utf-8") as stream:
                stream.write(text + "\n")
        except OSError as error:
            print(f"jaxscope: {options.output} cannot be written: {error.strerror}", file=sys.stderr)
    elif options.format == "json":
        # The program's own output came before, and may have ended anywhere.
        print(text, flush=True)
    elif not options.quiet:
        print(text, file=sys.stderr)
