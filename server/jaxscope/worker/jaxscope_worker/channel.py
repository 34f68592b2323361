"""The worker's end of the protocol: frames on private descriptors, so that nothing printed can corrupt them."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from typing import Any, BinaryIO

from .wire import codec


class Channel:
    """Reads and writes frames. Writing is safe from any thread.

    A thread reads ahead: a worker whose main thread is lost in the user's code still sees the server go, and ends.
    """

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader, self._writer = reader, writer
        self._lock = threading.Lock()
        self._frames: queue.SimpleQueue[dict[str, Any] | codec.ProtocolError] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="jaxscope requests", daemon=True).start()

    def read(self) -> dict[str, Any] | None:
        """The next frame. Raises codec.ProtocolError."""
        frame = self._frames.get()
        if isinstance(frame, codec.ProtocolError):
            raise frame
        return frame

    def _listen(self) -> None:
        while True:
            try:
                frame = codec.read_frame(self._reader)
            except codec.ProtocolError as error:
                self._frames.put(error)
                return
            except (OSError, ValueError):
                frame = None
            if frame is None:
                os._exit(0)
            self._frames.put(frame)

    def write(self, message: dict[str, Any]) -> None:
        """Sends one frame. Raises OSError when the server has gone."""
        with self._lock:
            codec.write_frame(self._writer, message)

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()


def take_over() -> Channel:
    """Moves stdin and stdout to private descriptors. Afterwards descriptor 1 is stderr and descriptor 0 is empty."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Channel(reader, writer)
