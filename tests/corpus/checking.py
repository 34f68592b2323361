"""Runs `jaxscope check` over one package, as its users do."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judging import Finding
from packages import Package

LIMIT = 900
"""Seconds for one package; the files that are traced have their own, shorter limits."""
FILE_LIMIT = 60


@dataclass(frozen=True)
class Checked:
    """What came of it."""

    package: Package
    run: str
    """`static` or `traced`."""
    lines: int
    seconds: float
    findings: list[Finding]
    functions: int
    traced: int
    errors: list[str]
    """Kinds of what went wrong in the package's own files."""
    faults: list[str]
    """What must not happen."""


def check(package: Package, python: str | None = None) -> Checked:
    """The result for one package; with `python` it is imported and traced there."""
    folder, run = package.fetch(), "traced" if python else "static"
    tracing = ["--trace", "--python", python, "--timeout", str(FILE_LIMIT)] if python else ["--no-trace"]
    command = [
        sys.executable,
        "-c",
        "from jaxscope.cli.main import main; main()",
        "check",
        "--format",
        "json",
        *tracing,
        ".",
    ]
    started = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Checked(package, run, _lines(folder), LIMIT, [], 0, 0, [], [f"not done in {LIMIT} s"])
    seconds = time.perf_counter() - started
    try:
        said = json.loads(done.stdout)
    except ValueError:
        fault = f"status {done.returncode}, no JSON: {done.stderr[-400:]}"
        return Checked(package, run, _lines(folder), seconds, [], 0, 0, [], [fault])
    return Checked(
        package,
        run,
        _lines(folder),
        seconds,
        [_finding(package, row) for row in said["findings"]],
        len(said["functions"]),
        sum(row["status"] == "traced" for row in said["functions"]),
        [row["kind"] for row in said["errors"]],
        [f"{row['path']}: {row['message']}" for row in said["errors"] if row["kind"] == "internal"],
    )


def _finding(package: Package, row: dict[str, Any]) -> Finding:
    return Finding(
        package=package.name,
        version=package.version,
        path=row["path"],
        line=row["range"]["start"]["line"],
        function=row["function"],
        name=row["name"],
        rule=row["rule"],
        severity=row["severity"],
        evidence=row["evidence"],
    )


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))
