"""What makes a program a recorded one: two environment variables. Python itself does the rest at its start."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jaxscope.worker.jaxscope_worker.wire import recording as wire
from jaxscope.workers.spawn import PACKAGE

STARTUP = os.path.join(PACKAGE, "worker", "jaxscope_worker", "startup")
"""Python imports the `sitecustomize` in there before it runs anything."""


def new_run(root: str) -> str:
    """Makes the folder of a new run of a project. Raises OSError when the project cannot be written to."""
    run = wire.run_folder(os.path.realpath(root))
    wire.make_run(run)
    return run


def environment(run: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which a Python program, and the Pythons that it starts, are recorded into `run`."""
    env = dict(os.environ if base is None else base)
    env[wire.RUN_VARIABLE] = run
    # An empty entry would be the current folder.
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (STARTUP, env.get("PYTHONPATH"))))
    return env
