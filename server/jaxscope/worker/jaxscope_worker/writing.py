"""Writes what a recorded run showed, as it goes."""

from __future__ import annotations

import os
import time

from .wire import recording as wire


class Writer:
    """Appends lines to the file of this process. What cannot be written is lost: it is the user's run."""

    def __init__(self, run: str) -> None:
        self.run = run
        self._path = ""

    def write(self, event: wire.Event) -> None:
        """Writes one event."""
        try:
            self._append(wire.encode(event))
        except OSError:
            return

    def restart(self) -> None:
        """Takes a new file: this process is a fork of the one that had it."""
        self._path = ""

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        if not self._path:
            wire.make_run(self.run)
            # Another host or container of the job may have a process of this number.
            name = os.path.join(self.run, f"{os.getpid()}-{time.time_ns() // 1000:x}.jsonl")
            flags |= os.O_CREAT | os.O_EXCL
            self._path = name
        descriptor = os.open(self._path, flags, 0o666)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
