"""The packages, as they are fetched: each in a folder of its own, so that what it imports is not the project's."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "corpus"
PACKAGES = CACHE / "packages"
PINS = ROOT / "requirements" / "corpus.txt"
TRACE_PINS = ROOT / "requirements" / "corpus-trace.txt"
_PIN = re.compile(r"^([\w.-]+)==([\w.+!-]+)[^\n]*\\\n(?: +--hash=[^\n]+\n)+", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """One package at one version."""

    name: str
    version: str
    requirement: str
    """With its hashes, as pip reads it."""

    @property
    def traced(self) -> bool:
        """Can it be imported in the environment for tracing?"""
        return self.name in _pins(TRACE_PINS)

    def fetch(self) -> Path:
        """The folder with the package's files; what is there of the same version stays."""
        folder = PACKAGES / self.name
        stamp = folder / "pyproject.toml"
        # What they import may look for programs and make folders for settings.
        settings = '[tool.jaxscope.trace]\nallow-side-effects = ["process", "write"]\n'
        content = f'[project]\nname = "{self.name}"\nversion = "{self.version}"\n\n{settings}'
        if stamp.exists() and stamp.read_text() == content:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        _install(sys.executable, self.requirement, "--target", str(folder), "--no-compile", "--only-binary", ":all:")
        stamp.write_text(content)
        return folder


def packages() -> list[Package]:
    """Those that are pinned."""
    return list(_pins(PINS).values())


@cache
def _pins(path: Path) -> dict[str, Package]:
    return {match[1]: Package(match[1], match[2], match[0]) for match in _PIN.finditer(path.read_text())}


def trace_interpreter() -> str:
    """Of the environment with the packages and all that they need."""
    folder = CACHE / "venv"
    stamp = folder / "pins.txt"
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not stamp.exists() or stamp.read_text() != TRACE_PINS.read_text():
        venv.create(folder, clear=True, with_pip=True)
        _install(str(python), TRACE_PINS.read_text())
        stamp.write_text(TRACE_PINS.read_text())
    return str(python)


def _install(python: str, requirements: str, *options: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements)
        file.flush()
        command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", *options]
        subprocess.run([*command, "-r", file.name], check=True)
