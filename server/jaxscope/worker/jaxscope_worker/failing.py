"""Exceptions of the user's code as failures: the message as Python prints it, the user's line, the user's frames."""

from __future__ import annotations

import traceback
from types import TracebackType

from .sources import UserFiles
from .wire.messages import Failure, Place

LIMIT = 20_000
"""Characters of a traceback that are sent."""


class Failed(Exception):
    """A request that cannot be answered."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: BaseException, files: UserFiles) -> Failure:
    """What `error`, raised by the user's code, says."""
    message = "".join(traceback.format_exception_only(type(error), error)).strip()
    own = _places(error.__traceback__, files)
    place = own[-1] if own else None
    if isinstance(error, SyntaxError) and error.filename and files.owns(error.filename):
        column = error.offset if error.offset else None
        place = Place(files.path(error.filename), error.lineno or 1, column)
        message = f"{type(error).__name__}: {error.msg}"
    lines = [f"  {p.path}:{p.line}, in {p.function or '<module>'}\n    {files.line(p.path, p.line)}" for p in own]
    everything = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    text = "\n".join([*lines, _first_line(message), "", everything])
    return Failure("user-error", _first_line(message), place, text[:LIMIT])


def _first_line(message: str) -> str:
    return message.split("\n", 1)[0]


def _places(trace: TracebackType | None, files: UserFiles) -> list[Place]:
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if files.owns(code.co_filename):
            found.append(files.place(code, trace.tb_lasti, trace.tb_lineno))
        trace = trace.tb_next
    return found
