"""Ends a piece of the user's code after some time, without ending the worker."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.1
"""Seconds after which code that caught the exception gets another one."""


class OutOfTime(BaseException):
    """Raised inside code whose time is over. Not an `Exception`, so that less of it is caught."""


_MOST = 20
"""Exceptions for one piece of code: one that catches them all is left to the limit of the whole worker."""
_SIGNAL: int | None = getattr(signal, "SIGURG", None) if hasattr(signal, "pthread_kill") else None
"""Ends waiting for a lock, a queue or a clock, which the exception alone does not. Nobody minds one that comes late."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises OutOfTime in what runs inside once `seconds` have passed: at its next step in Python, and on the main
    thread, where there are signals, while it waits too."""
    lock, over = threading.Lock(), threading.Event()
    interrupt, restore = _interrupting(over)

    def watch() -> None:
        wait = max(seconds, 0.0)
        for _ in range(_MOST):
            if over.wait(wait):
                return
            with lock:
                if not over.is_set():
                    interrupt()
            wait = _AGAIN

    threading.Thread(target=watch, daemon=True, name="deadline").start()
    try:
        yield
    finally:
        _finish(lock, over, restore)


def _interrupting(over: threading.Event) -> tuple[Callable[[], object], Callable[[], object]]:
    """What raises in this thread, and what takes it back or makes that impossible."""
    number = threading.get_ident()
    if _SIGNAL is not None and threading.current_thread() is threading.main_thread():
        signaled = _SIGNAL

        def end(_signal: int, _frame: FrameType | None) -> None:
            if not over.is_set():
                raise OutOfTime

        before = signal.signal(signaled, end) or signal.SIG_DFL
        return lambda: signal.pthread_kill(number, signaled), lambda: signal.signal(signaled, before)
    thread = ctypes.c_ulong(number)
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    return lambda: raised(thread, ctypes.py_object(OutOfTime)), lambda: raised(thread, None)


def _finish(lock: threading.Lock, over: threading.Event, restore: Callable[[], object]) -> None:
    """Stops the watch, although it may raise just now; what it raised too late must not hit whoever comes next."""
    while True:
        try:
            with lock:
                over.set()
            restore()
            return
        except OutOfTime:
            continue
