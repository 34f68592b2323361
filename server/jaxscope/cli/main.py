"""The entry point: reads the command line, runs one command, and turns problems into exit statuses."""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

from jaxscope.cli import options
from jaxscope.cli.problem import Problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. 0: nothing found; 1: something found; 2: the command could not do its work."""
    parser = options.parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return 2
    given = parser.parse_args(arguments)
    if getattr(given, "run", None) and getattr(given, "trace", None) is False:
        parser.error("--run and --no-trace exclude each other")
    _prepare_output(getattr(given, "format", "text"))
    try:
        # Only the command that is wanted is loaded: the others' imports would be half of the time to start.
        status: int = importlib.import_module(f"jaxscope.cli.{given.command}").run(given)
        return status
    except Problem as problem:
        print(f"jaxscope: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read our output has seen enough, `head` for one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception:
        # Python's own status for this, 1, would say that something was found.
        traceback.print_exc()
        return 2


def _prepare_output(form: str) -> None:
    """JSON is UTF-8 wherever it goes; for a person, what the terminal cannot show is written as an escape."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8" if form == "json" else None, errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
