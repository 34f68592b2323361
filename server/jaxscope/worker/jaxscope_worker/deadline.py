"""Ends a piece of the user's code after some time, without ending the worker."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN = 0.1
"""Seconds after which code that caught the exception gets another one."""


class OutOfTime(BaseException):
    """Raised inside code whose time is over. Not an `Exception`, so that less of it is caught."""


_MOST = 20
"""Exceptions for one piece of code: one that catches them all is left to the limit of the whole worker."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises OutOfTime in what runs inside, at its next step in Python, once `seconds` have passed."""
    thread = ctypes.c_ulong(threading.get_ident())
    lock, over = threading.Lock(), threading.Event()

    def watch() -> None:
        wait = max(seconds, 0.0)
        for _ in range(_MOST):
            if over.wait(wait):
                return
            with lock:
                if not over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(OutOfTime))
            wait = _AGAIN

    threading.Thread(target=watch, daemon=True, name="deadline").start()
    try:
        yield
    finally:
        _finish(thread, lock, over)


def _finish(thread: ctypes.c_ulong, lock: threading.Lock, over: threading.Event) -> None:
    """Stops the watch, although it may raise just now; what it raised too late must not hit whoever comes next."""
    while not over.is_set():
        try:
            with lock:
                over.set()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
        except OutOfTime:
            continue
