"""Runs `jaxscope check` over packages, as its users do."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judging import Finding
from packages import PACKAGES, Package

LIMIT = 900
"""Seconds for one command; the files that are traced have their own, shorter limits."""
FILE_LIMIT = 60


@dataclass(frozen=True)
class Checked:
    """What one command said of one package."""

    package: Package
    run: str
    """`static` or `traced`."""
    lines: int
    findings: list[Finding]
    functions: int
    traced: int
    errors: list[str]
    """Kinds of what went wrong in the package's own files."""
    faults: list[str]
    """What must not happen."""


def check(packages: Sequence[Package], python: str | None = None) -> tuple[list[Checked], float]:
    """The results of one command for all of them, and its seconds; with `python` they are imported and traced there."""
    tracing = ["--trace", "--python", python, "--timeout", str(FILE_LIMIT)] if python else ["--no-trace"]
    folders = [str(package.fetch().relative_to(PACKAGES)) for package in packages]
    program = [sys.executable, "-c", "from jaxscope.cli.main import main; main()"]
    started = time.perf_counter()
    try:
        done = subprocess.run(
            [*program, "check", "--format", "json", *tracing, *folders],
            cwd=PACKAGES,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        said = json.loads(done.stdout)
        fault = ""
    except subprocess.TimeoutExpired:
        said, fault = {}, f"not done in {LIMIT} s"
    except ValueError:
        said, fault = {}, f"status {done.returncode}, no JSON: {done.stderr[-400:]}"
    seconds = time.perf_counter() - started
    return [_checked(package, "traced" if python else "static", said, fault) for package in packages], seconds


def _checked(package: Package, run: str, said: dict[str, Any], fault: str) -> Checked:
    own = {
        part: [row for row in said.get(part, []) if row["path"].startswith(f"{package.name}/")]
        for part in ("findings", "functions", "errors")
    }
    internal = [f"{row['path']}: {row['message']}" for row in own["errors"] if row["kind"] == "internal"]
    return Checked(
        package,
        run,
        _lines(package.fetch()),
        [_finding(package, row) for row in own["findings"]],
        len(own["functions"]),
        sum(row["status"] == "traced" for row in own["functions"]),
        [row["kind"] for row in own["errors"]],
        [fault, *internal] if fault else internal,
    )


def _finding(package: Package, row: dict[str, Any]) -> Finding:
    return Finding(
        package=package.name,
        version=package.version,
        path=row["path"].removeprefix(f"{package.name}/"),
        line=row["range"]["start"]["line"],
        function=row["function"],
        name=row["name"],
        rule=row["rule"],
        severity=row["severity"],
        evidence=row["evidence"],
    )


def _lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))
