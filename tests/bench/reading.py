"""What `jaxscope check --no-trace` takes for a real code base, against `ast.parse` of the same files: the libraries
that the tests install, each as a project of its own.

Prints one JSON object. Processor time counts, start included, so that a busy machine says the same as an idle one.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIBRARIES = ("equinox", "flax", "haiku", "optax", "chex")
CORES = 2


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in LIBRARIES:
            found = importlib.util.find_spec(name)
            if found is not None and found.origin is not None:
                shutil.copytree(Path(found.origin).parent, Path(folder, name, name))
                Path(folder, name, "pyproject.toml").touch()
        files = Path(folder).rglob("*.py")
        texts = [path.read_bytes() for path in files]
        lines = sum(text.count(b"\n") for text in texts)
        parsing = min(_parse(texts) for _ in range(3))
        seconds, checking = min(_check(folder) for _ in range(3))
    result = {
        "lines": lines,
        "ratio": round(checking / parsing, 2),
        "parse_lines_per_s": round(lines / parsing),
        "lines_per_s": round(lines / checking * CORES),
        "wall_lines_per_s": round(lines / seconds),
    }
    print(json.dumps(result))


def _parse(texts: list[bytes]) -> float:
    started = time.process_time()
    for text in texts:
        ast.parse(text)
    return time.process_time() - started


def _check(folder: str) -> tuple[float, float]:
    """Seconds by the clock, and of processors."""
    names = sorted(path.name for path in Path(folder).iterdir())
    command = [sys.executable, "-m", "jaxscope.cli.main", "check", "--no-trace", "--format", "json", *names]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode == 2:
        raise SystemExit("jaxscope check failed")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
