"""Stretches of the user's source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A stretch of the user's source. Columns are None where Python does not know them (before 3.11)."""

    path: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    function: str = ""
    """Qualified name of the function whose code this is."""
