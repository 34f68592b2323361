"""What the command line prints, to the letter. `pytest tests/cli --bless` writes the expectations anew."""

from __future__ import annotations

import difflib
import importlib.metadata
import platform
import re
import shlex
import shutil
from pathlib import Path

import pytest
from run_cli import jaxscope

GOLDEN = Path(__file__).with_name("golden")

# Name of the expectation, folder of the project, command line, exit status.
RUNS = [
    ("weights-static.txt", "weights", "check . --no-trace", 1),
    ("weights-static.json", "weights", "check . --no-trace --format json", 1),
    ("weights-traced.txt", "weights", "check model.py --run main", 1),
    ("weights-traced.json", "weights", "check model.py broken.py --run main --format json", 1),
    ("weights-high-threshold.txt", "weights", "check model.py --run main --threshold 4MiB --verbose", 0),
    ("weights-fix.diff", "weights", "fix model.py --rule captured-array --run main --diff", 0),
    ("weights-fix.json", "weights", "fix model.py --rule captured-array --run main --format json", 0),
    ("weights-fix-static.txt", "weights", "fix model.py --rule captured-array --no-trace", 0),
    ("weights-signature.txt", "weights", "show model.py::project --args f32[2,600]", 0),
    ("weights-constants.txt", "weights", "show model.py::project --run main --stage constants", 0),
    ("weights-jaxpr.json", "weights", "show model.py::project --run main --stage jaxpr --format json", 0),
    ("package-traced.json", "package", "check . --run main --format json", 1),
    ("names-traced.txt", "names", "check fall.py --run main", 1),
    ("names-traced.json", "names", "check fall.py --run main --format json", 1),
    ("program.txt", "program", "check . --trace --verbose", 1),
]


def steady(text: str) -> str:
    """The text without what depends on the installation."""
    for package in ("jax", "jaxlib"):
        version = importlib.metadata.version(package)
        text = text.replace(f'"{package}": "{version}"', f'"{package}": "VERSION"')
    text = re.sub(r"\b(JAX|this is) \d[\d.]*\d", r"\1 VERSION", text)
    # A module's size counts the path of the file, which stands in its locations.
    text = re.sub(r"\d+ B module", "SIZE module", text)
    return text.replace(f'"python": "{platform.python_version()}"', '"python": "VERSION"')


@pytest.mark.jax
@pytest.mark.parametrize(("name", "project", "command", "status"), RUNS, ids=[run[0] for run in RUNS])
def test_output(name: str, project: str, command: str, status: int, tmp_path: Path, bless: bool) -> None:
    work = tmp_path / "work"
    shutil.copytree(GOLDEN / project, work)
    for kept in work.rglob("*.py.txt"):  # kept from our own tools: broken, or oddly formatted
        kept.rename(kept.with_suffix(""))
    done = jaxscope(*shlex.split(command), cwd=work)
    seen, expected = steady(done.out), GOLDEN / name
    assert done.status == status, done.err
    if bless:
        expected.write_bytes(seen.encode())
    wanted = expected.read_bytes().decode()
    assert seen == wanted, "\n".join(difflib.unified_diff(wanted.splitlines(), seen.splitlines(), "expected", "seen"))
