"""Runs programs under the worker's eyes and JAX's at once, and says where the constants that the two know differ.

`python tests/parity/compare.py [--min-bytes N,...] [--verbose] FILE|FOLDER...` runs `main()` of each file (of a folder
with a `case.py`, that) and prints one JSON object a file and threshold; the exit status is 1 when something differs.
Only functions that JAX lowered are compared: those traced inside others become part of these.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
sys.path.append(str(Path(__file__).resolve().parents[2] / "server" / "jaxscope" / "worker"))
sys.path.insert(0, str(Path(__file__).parent))

import oracle
from jaxscope_worker.handlers.trace import trace_file
from jaxscope_worker.session import LiveConstant, Session
from jaxscope_worker.wire.messages import TraceRequest

Types = frozenset[tuple[tuple[tuple[int, ...], str, int], int]]
THRESHOLDS = (33, 1 << 10, 1 << 20)


@dataclass
class Outcome:
    """One program at one threshold. What differs is told by function."""

    program: str
    min_bytes: int
    functions: int
    constants: int
    missing: list[str]
    """JAX captured it, and the worker does not know it."""
    extra: list[str]
    """The worker says so, and JAX did not capture it."""
    failure: str = ""


def compare(path: Path, min_bytes: int) -> Outcome:
    """Runs `main()` of a file."""
    path, session = path.resolve(), Session()
    request = TraceRequest(str(path), str(path.parent), path.stem, entries=("main",), min_bytes=min_bytes)
    outcome = Outcome(path.parent.name if path.stem == "case" else path.stem, min_bytes, 0, 0, [], [])
    try:
        with oracle.watching() as modules:
            reply = trace_file(session, request, lambda *progress: None)
    except Exception:
        outcome.failure = traceback.format_exc()
        return outcome
    finally:
        _forget(path.parent)
    outcome.failure = reply.failure.message if reply.failure is not None else ""
    lowered = {(_plain(m.name), _types(m.constants, min_bytes)) for m in modules}
    found, alone = set(), set()
    for program in session.programs.values():
        assert program.function is not None
        known = (_plain(program.name), _types(map(_entry, program.constants), min_bytes))
        found.add(known)
        if program.function.under is None:
            alone.add(known)
    outcome.functions, outcome.constants = len(alone), sum(n for _, types in alone for _, n in types)
    outcome.missing = sorted(_told(lowered - found))
    outcome.extra = sorted(_told(alone - lowered))
    return outcome


def _forget(folder: Path) -> None:
    """Makes room for the next program, whose module may have the same name."""
    sys.path[:] = [entry for entry in sys.path if entry != str(folder)]
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").parent == folder and folder != Path(__file__).parent:
            del sys.modules[name]


def _plain(name: str) -> str:
    """A function's name, without what JAX puts before it in a module's."""
    return re.sub(r"^(jit|pmap)_", "", re.sub(r"\W", "_", name.rpartition(".")[2])).strip("_")


def _types(entries: Iterable[oracle.Entry], min_bytes: int) -> Types:
    """How many arrays there are of each kind; those with the same elements are one."""
    return frozenset(Counter(one[:3] for one in set(entries) if one[2] >= min_bytes).items())


def _entry(constant: LiveConstant) -> oracle.Entry:
    shape = tuple(int(side) for side in constant.aval.shape)
    return oracle.entry(*oracle.physical(shape, constant.aval.dtype, constant.value))


def _told(differing: set[tuple[str, Types]]) -> Iterator[str]:
    for name, constants in differing:
        if constants:
            yield f"{name}: " + ", ".join(f"{n} × {d}{list(s)}, {b} B" for (s, d, b), n in sorted(constants))


def programs(paths: list[str]) -> list[Path]:
    """The programs among files and folders."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(path)
        elif (path / "case.py").exists():
            found.append(path / "case.py")
        else:
            found += sorted(path.glob("*/case.py")) or sorted(path.glob("*.py"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--min-bytes", default=",".join(map(str, THRESHOLDS)))
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    differ = 0
    for path in programs(options.paths):
        for min_bytes in map(int, options.min_bytes.split(",")):
            outcome = compare(path, min_bytes)
            differ += bool(outcome.missing or outcome.extra or outcome.failure)
            print(json.dumps(asdict(outcome)), flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
