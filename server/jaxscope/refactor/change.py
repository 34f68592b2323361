"""What a refactoring answers when it cannot be made correctly: one sentence, and the place that prevents it."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.text.edit import SourceChange


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a change was not planned. `line` (from 1) and `path` are the place that prevents it."""

    reason: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Hoist(SourceChange):
    """A planned change. It holds only where none of its doubts is true, which a run of the program can show."""

    doubts: tuple[Refusal, ...] = ()


class Refused(Exception):
    """Raised inside a planner, which returns its `refusal`; never leaves this package."""

    def __init__(self, reason: str, path: str, line: int) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, path, line)
