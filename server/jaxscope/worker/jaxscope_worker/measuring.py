"""What the process itself tells while something runs: its peak memory, what libraries print, how long a call takes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax

LEAST = 7
"""Samples below which nothing is said about a difference."""
BATCH_SECONDS = 0.005
"""Least duration of one batch: well above what reading the clock and waiting cost."""
MOST = 200
"""Samples that are always enough."""
PATIENCE = 5
"""A stage so slow that even the least samples take this many times the wanted seconds (a second at least) is left with
fewer."""


@dataclass
class Peak:
    """Rise of the process's resident memory; None where the system does not tell."""

    bytes: int | None = None


@contextlib.contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measures how far memory rises while the block runs."""
    peak = Peak()
    _give_back()
    before = _status("VmRSS") if _forget_peak() else None
    rusage = _largest_so_far() if before is None else None
    yield peak
    if before is not None:
        highest = _status("VmHWM")
        peak.bytes = max(0, highest - before) if highest is not None else None
    elif rusage is not None:
        # Only a new high is seen here; a rise below the old one cannot be told from none.
        rise = (_largest_so_far() or 0) - rusage
        peak.bytes = rise if rise > 0 else None


def _give_back() -> None:
    """Free memory that the allocator keeps would hide a rise."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _forget_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int | None:
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _largest_so_far() -> int | None:
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


@dataclass
class Heard:
    """What was written to descriptor 2."""

    text: str = ""


@contextlib.contextmanager
def listening(tell: Callable[[str], None] | None = None) -> Iterator[Heard]:
    """Collects what native code writes to stderr meanwhile, and passes it on as it comes.

    `tell` is called with all of it so far whenever there is more, on another thread.
    """
    heard, chunks = Heard(), list[bytes]()
    sys.stderr.flush()
    real = os.dup(2)
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.close(writer)

    def pass_on() -> None:
        while chunk := os.read(reader, 1 << 16):
            chunks.append(chunk)
            with contextlib.suppress(OSError):
                os.write(real, chunk)
            if tell is not None:
                tell(b"".join(chunks).decode("utf-8", "replace"))

    thread = threading.Thread(target=pass_on, name="jaxscope stderr", daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        sys.stderr.flush()
        os.dup2(real, 2)  # closes the pipe's last writing end
        thread.join(timeout=5)
        os.close(reader)
        os.close(real)
        heard.text = b"".join(chunks).decode("utf-8", "replace")


def enough(samples: int, elapsed: float, seconds: float) -> bool:
    """Has a stage been repeated long enough?"""
    return elapsed >= max(seconds, 1.0) * PATIENCE or samples >= MOST or (samples >= LEAST and elapsed >= seconds)


@dataclass
class Runner:
    """Calls one compiled program in batches."""

    call: Callable[[], Any]
    alive: Callable[[], None] = lambda: None
    """Called now and then while it warms up, which a slow program takes long for."""
    per_batch: int = 1
    seconds: list[float] = field(default_factory=list)
    """Per call, one entry a batch."""

    def warm_up(self) -> Any:
        """Runs once, then finds how many calls make a batch. Returns the results of the first call."""
        results = jax.block_until_ready(self.call())
        self.alive()
        # The faster of two: on a busy machine one alone may have waited for others.
        while (took := min(self._batch(), self._batch()) * self.per_batch) < BATCH_SECONDS and self.per_batch < 100_000:
            wanted = self.per_batch * BATCH_SECONDS * 1.2 / max(took, 1e-9)
            self.per_batch = int(min(self.per_batch * 20, max(wanted, self.per_batch + 1)))
            self.alive()
        return results

    def sample(self) -> float:
        """Runs one batch and keeps its duration per call."""
        self.seconds.append(self._batch())
        return self.seconds[-1]

    def _batch(self) -> float:
        started = time.perf_counter()
        results = [self.call() for _ in range(self.per_batch)]
        jax.block_until_ready(results)
        return (time.perf_counter() - started) / self.per_batch
