"""`python -m pytest -p jaxscope`: records what the tests trace, as `jaxscope record -m pytest` does.

Imported by pytest before any conftest, and so before JAX as a rule. Processes that the tests start, the workers of
pytest-xdist among them, write parts of the same run.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from jaxscope.tracing.locations import project_root
from jaxscope.worker.jaxscope_worker.wire.recording import RUN_VARIABLE, root_of
from jaxscope.workers.recording import environment, new_run

_MOST = 5
"""Captured arrays that the summary names."""


def _begin() -> str:
    """Begins to record this process, unless it is recorded already. Why that cannot be; empty where it can."""
    run = os.environ.get(RUN_VARIABLE)
    if run and "jaxscope_worker.begin_recording" in sys.modules:
        return ""
    try:
        run = run or new_run(project_root(os.path.join(os.getcwd(), "-"), os.getcwd()))
    except OSError as error:
        return f"nothing is recorded: {error.filename} cannot be written: {error.strerror}"
    os.environ.update(environment(run))
    from jaxscope.worker.jaxscope_worker import begin_recording

    begin_recording.begin(run)
    return ""


_problem = _begin()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says what was recorded."""
    terminalreporter.section("jaxscope")
    for line in [_problem] if _problem else _summary(os.environ[RUN_VARIABLE]):
        terminalreporter.write_line(line)


def _summary(folder: str) -> list[str]:
    from jaxscope.text.figures import format_bytes, long_type
    from jaxscope.tracing.recordings import recordings_of

    run = next((one for one in recordings_of(root_of(folder)).runs if one.folder == folder), None)
    if run is None:
        return ["nothing was recorded: no test imported jax"]
    functions = {(seen.function.path, seen.function.function, seen.function.line) for seen in run.seen}
    lines = [f"functions traced: {len(functions)}, signatures: {len(run.seen)}, processes: {len(run.parts)}"]
    captured = {
        (seen.function.function, constant.name, constant.shape, constant.dtype): constant.bytes
        for seen in run.seen
        for constant in seen.function.constants
    }
    largest = sorted(captured.items(), key=lambda item: -item[1])
    for (function, name, shape, dtype), size in largest[:_MOST]:
        kind = long_type(dtype, shape)
        lines.append(f"{function} captures {name or 'an unnamed array'}: {kind}, {format_bytes(size)}")
    if len(largest) > _MOST:
        lines.append(f"… and {len(largest) - _MOST} more arrays")
    return [*lines, f"recorded in {os.path.relpath(folder)}"]
