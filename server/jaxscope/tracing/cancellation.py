"""Cancelling a blocking call from another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancellation:
    """Handed to a blocking call; `cancel()` from any thread ends that call at once. It stays cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._stops: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Was `cancel` called?"""
        return self._cancelled

    def cancel(self) -> None:
        """Stops what runs under this cancellation now, and whatever is begun under it later."""
        with self._lock:
            self._cancelled = True
            stops = list(self._stops)
        for stop in stops:
            stop()

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        """While inside, `cancel` calls `stop`; called at once when cancelled already."""
        with self._lock:
            self._stops.append(stop)
            cancelled = self._cancelled
        try:
            if cancelled:
                stop()
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)
