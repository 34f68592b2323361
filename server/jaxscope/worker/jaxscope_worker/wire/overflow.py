"""Integers that do not fit into the bits that a traced program has for them."""

from __future__ import annotations

from dataclasses import dataclass

from .places import Place


@dataclass(frozen=True)
class Overflow:
    """An array that a traced function computes from constants alone, and of which an element wraps around."""

    place: Place
    """The user's expression that computes it."""
    index: tuple[int, ...]
    """Of the first element that does."""
    before: str
    """What it would be, in decimal."""
    after: str
    """What it is."""
    dtype: str
