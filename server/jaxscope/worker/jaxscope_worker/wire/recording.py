"""What a recorded run leaves on disk: the folder, and what one line of a file in it says.

`ROOT/.jaxscope/recordings/RUN/PART.jsonl`: one folder a run, one file a process, one JSON object a line, of one key:
the name of the event. Shapes, names and counts only; array values are never in here. A line that cannot be read, half
written or of another version, is passed over by the reader.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import typing
from collections.abc import Iterable
from dataclasses import dataclass

from . import codec
from .messages import Place, TracedFunction
from .retracing import Retraced

VERSION = 2
RUN_VARIABLE = "JAXSCOPE_RECORDING"
"""Environment variable that names the folder of the run to be recorded."""
FOLDER = os.path.join(".jaxscope", "recordings")
KEPT_RUNS = 10


# ---------------------------------------------------------------- events


@dataclass(frozen=True)
class Started:
    """First line of a process that has imported JAX."""

    version: int
    time: float
    """Seconds since the epoch."""
    program: str
    """`train.py`, or `-m pkg.train`; its arguments are the user's own business."""
    root: str
    """Files below it were watched."""
    process: int
    parent: int
    python: str
    executable: str
    jax: str
    jaxlib: str | None
    constants: str
    """As in `Hello`."""


@dataclass(frozen=True)
class Devices:
    """Once the program has started its backend."""

    platform: str
    count: int
    """Of all processes of the job."""
    local_count: int
    process_index: int
    process_count: int
    x64: bool


@dataclass(frozen=True)
class Code:
    """A function of the user's that an event speaks of, to tell later whether it is still the same."""

    path: str
    function: str
    """Qualified name."""
    first: int
    """First line, that of its decorators."""
    end: int
    hash: str
    """`code_hash` of its lines."""


@dataclass(frozen=True)
class Loaded:
    """A file of the user's had run, as a module or as the program, before what is recorded after this."""

    path: str
    hash: str
    """`module_hash` of its lines."""


@dataclass(frozen=True)
class Recorded:
    """A function was traced under a signature that this process had not seen yet."""

    id: int
    function: TracedFunction
    """`calls` and `id` mean nothing in here, and `jaxpr` is empty."""
    under: tuple[int, ...]
    """Ids of the traces around it, the nearest first; one that failed has no event."""
    cause: str
    """Why it was traced: `first call`, `new shape of x: f32[8] → f32[16]`."""
    codes: tuple[Code, ...]
    """The function itself first, then the others that its constants are read in, the functions around all of these and
    around the call, and `__init__` of the classes."""
    file_hash: str
    """`text_hash` of its file as it was when it ran."""
    static_hashes: dict[str, str]
    """By parameter; equal in one process for equal static values."""
    shardings: dict[str, str]
    """By leaf of an argument; those that lie on several devices."""
    time: float


@dataclass(frozen=True)
class Counted:
    """How often a recorded signature was met until now. Written at every doubling, and when the process ends."""

    id: int
    calls: int
    """Calls that were not answered from the cache of compiled programs."""
    traces: int
    """Those that ran the function's body."""
    trace_seconds: float
    """Of all traces together."""
    compiles: int
    """Times that XLA compiled it, as far as known."""
    compile_seconds: float
    cause: str
    """Of the last trace that was not the first."""


@dataclass(frozen=True)
class CallCounted:
    """How often the calls on one line had a function traced, once that was not its first trace. Written at each of the
    first traces, at every doubling, and when the process ends."""

    id: int
    """Of what is counted; the last event of each holds."""
    retraced: Retraced
    codes: tuple[Code, ...]
    """The function itself, the one that calls it, the functions around these, and `__init__` of the classes."""
    file_hash: str
    """`text_hash` of the file of the call."""


@dataclass(frozen=True)
class Failed:
    """Tracing a function raised. What was raised may hold values, so only its type is kept."""

    path: str
    function: str
    line: int
    error: str
    """`TypeError`."""
    place: Place | None


@dataclass(frozen=True)
class Further:
    """Signatures of one function beyond those that are kept. Written at every doubling."""

    path: str
    function: str
    line: int
    traces: int
    trace_seconds: float
    compiles: int
    compile_seconds: float
    cause: str


@dataclass(frozen=True)
class Ended:
    """The process ended by itself."""

    time: float


@dataclass(frozen=True)
class Fault:
    """A mistake of jaxscope's own, without what it was about."""

    error: str
    where: str
    """File and line of each frame."""


Event = Started | Devices | Loaded | Recorded | Counted | CallCounted | Failed | Further | Ended | Fault
_KINDS = {kind.__name__.lower(): kind for kind in typing.get_args(Event)}


def encode(event: Event) -> bytes:
    """One line."""
    data = {type(event).__name__.lower(): codec.to_json(event)}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def decode(line: bytes) -> Event | None:
    """The event of one line; None of one that is cut off, or that another version wrote."""
    try:
        ((name, data),) = json.loads(line.decode("utf-8", "surrogatepass")).items()
        event: Event = codec.from_json(_KINDS[name], data)
    except (ValueError, KeyError, AttributeError, TypeError, codec.ProtocolError):
        return None
    return event


# ---------------------------------------------------------------- hashes


def text_hash(text: str) -> str:
    """Names a text by its content."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def code_hash(lines: Iterable[str]) -> str:
    """Names the code of a function by its lines; blanks at their ends do not count."""
    return text_hash("\n".join(line.rstrip() for line in lines))


_BLOCK = re.compile(r"(async\s+)?(def|class)\b|@")


def module_hash(lines: Iterable[str]) -> str:
    """Names what a file does outside of its functions and classes, by its lines; comments do not count.

    It goes by indentation, so that it can be told of text that does not parse.
    """
    kept, outside = [], True
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            if not line[0].isspace():
                outside = not _BLOCK.match(line)
            if outside:
                kept.append(line.rstrip())
    return text_hash("\n".join(kept))


# ---------------------------------------------------------------- folders


def run_folder(root: str) -> str:
    """The path for a new run of a project."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return os.path.join(root, FOLDER, f"{stamp}-{os.getpid()}")


def root_of(run: str) -> str:
    """The project of a run."""
    return os.path.dirname(os.path.dirname(os.path.dirname(run)))


def make_run(run: str) -> None:
    """Makes the folder of a run, and removes the oldest ones. Raises OSError."""
    if os.path.isdir(run):
        return
    os.makedirs(run, exist_ok=True)
    ignore = os.path.join(root_of(run), ".jaxscope", ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "w", encoding="utf-8") as stream:
            stream.write("*\n")
    for old in runs(root_of(run))[KEPT_RUNS:]:
        if old != run:  # a clock may have been put back
            shutil.rmtree(old, ignore_errors=True)


def runs(root: str) -> list[str]:
    """The recorded runs of a project, the newest first. Their names begin with the time."""
    folder = os.path.join(root, FOLDER)
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder), reverse=True)]
    except OSError:
        return []
