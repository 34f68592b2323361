"""`npm run bench`: runs every benchmark of this folder in its own process and prints one table against the budgets.

`python tests/bench [NAME...]` runs those named only. A budget that is missed is marked, and makes the exit status 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    script: str
    what: str
    value: Callable[[dict[str, Any]], float | None]
    unit: str
    budget: float
    at_most: bool = True
    note: Callable[[dict[str, Any]], str] = lambda result: ""


ROWS = (
    Row("keystroke", "keystroke to static findings, P95", lambda r: r["p95_ms"], "ms", 20,
        note=lambda r: f"{r['lines']} lines, median {r['p50_ms']} ms"),
    Row("reading", "check --no-trace against ast.parse alone", lambda r: r["ratio"], "×", 4,
        note=lambda r: f"{r['lines_per_s']:,} lines/s on two idle cores (goal 100,000), {r['wall_lines_per_s']:,} now"),
    Row("save", "save to traced findings, beyond the import", lambda r: r["beyond_import_ms"], "ms", 300,
        note=lambda r: f"median of {r['rounds']}, {r['total_ms']} ms in all"),
    Row("fix", "actions at a finding, P95", lambda r: r["offer_p95_ms"], "ms", 50,
        note=lambda r: f"{r['lines']} lines, median {r['offer_p50_ms']} ms, fixes at {r['offered']} of {r['asked']}"),
    Row("fix", "fix chosen to proved edits, beyond the import", lambda r: r["apply_beyond_import_ms"], "ms", 1500,
        note=lambda r: f"median of {r['rounds']}, {r['apply_ms']} ms in all"),
    Row("trace_walk", "trace and walk against trace alone", lambda r: r["ratio"], "×", 1.2,
        note=lambda r: f"{r['watched_ms']} ms against {r['trace_ms']} ms"),
    Row("record", "a warm step recorded against not recorded", lambda r: r["ratio"], "×", 1.01,
        note=lambda r: f"{r['watched_us']} µs against {r['alone_us']} µs a call"),
    Row("capture", "finding a capture against JAX's warning", lambda r: r["times_faster"], "× faster", 100, False,
        note=lambda r: f"{r['mebibytes']} MiB: {r['ours_ms']} ms against {r['jax_ms']} ms"),
    Row("capture", "extra memory for finding it", lambda r: r["ours_extra_mib"], "MiB", 8,
        note=lambda r: f"JAX's warning: {r['jax_extra_mib']} MiB"),
)  # fmt: skip


def measure(script: str) -> dict[str, Any] | None:
    """The result of one benchmark; None when it failed, which it says by itself."""
    server = str(HERE.parents[1] / "server")
    path = os.pathsep.join(filter(None, [server, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(HERE / f"{script}.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
    lines = done.stdout.strip().splitlines()
    result: dict[str, Any] | None = json.loads(lines[-1]) if done.returncode == 0 and lines else None
    return result


def main() -> int:
    wanted = sys.argv[1:] or list(dict.fromkeys(row.script for row in ROWS))
    results = {script: measure(script) for script in wanted}
    missed = 0
    print(f"{'':2}{'what':45} {'measured':>16}  {'budget':>16}")
    for row in (row for row in ROWS if row.script in results):
        result = results[row.script]
        value = row.value(result) if result is not None else None
        within = value is not None and (value <= row.budget if row.at_most else value >= row.budget)
        missed += not within
        shown = f"{value:g} {row.unit}" if value is not None else "failed" if result is None else "not known"
        budget = f"{'≤' if row.at_most else '≥'} {row.budget:g} {row.unit}"
        note = row.note(result) if result is not None else ""
        print(f"{' ' if within else '!':2}{row.what:45} {shown:>16}  {budget:>16}  {note}".rstrip())
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
