"""The entry point: reads the command line, runs one command, and turns problems into exit statuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from jaxscope.cli import check, explain, fix, options, serve, show, time
from jaxscope.cli.problem import Problem

COMMANDS = {
    "check": check.run,
    "fix": fix.run,
    "show": show.run,
    "time": time.run,
    "explain": explain.run,
    "serve": serve.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. 0: nothing found; 1: something found; 2: the command could not do its work."""
    parser = options.parser()
    given = parser.parse_args(arguments)
    if getattr(given, "run", None) and getattr(given, "trace", None) is False:
        parser.error("--run and --no-trace exclude each other")
    try:
        return COMMANDS[given.command](given)
    except Problem as problem:
        print(f"jaxscope: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read our output has seen enough, `head` for one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
