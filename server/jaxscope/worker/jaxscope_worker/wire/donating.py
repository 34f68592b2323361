"""What a compiled program does with arguments that are given away."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reuse:
    """How much of their memory the program writes its results into."""

    bytes: int | None
    """None: that was not seen."""
    why: str = ""
    """Why it was not seen, in a clause: `this backend ignores donation`."""
