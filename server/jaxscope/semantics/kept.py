"""What was worked out about parts of a file, kept with them until something changes that it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxscope.semantics.dependencies import Dependencies
from jaxscope.source.module import Chunk

_TOGETHER = "rests on"
"""Fact of a chunk: what all that is kept of it rests on together, or did."""


@dataclass(slots=True)
class Kept:
    """Something worked out about a chunk, and what it rests on."""

    result: Any
    rests_on: Dependencies


def keep(chunk: Chunk, layer: str, kept: Kept) -> Any:
    """Keeps it under the name of its layer, until `drop`; gives the result."""
    chunk.facts[layer] = kept
    chunk.facts.setdefault(_TOGETHER, Dependencies()).add(kept.rests_on)
    return kept.result


def drop(chunk: Chunk, is_gone: Callable[[Dependencies], bool]) -> None:
    """Drops what rests on something that is gone."""
    together = chunk.facts.get(_TOGETHER)
    if together is None or not is_gone(together):
        return
    left = chunk.facts[_TOGETHER] = Dependencies()
    for layer, kept in list(chunk.facts.items()):
        if isinstance(kept, Kept):
            if is_gone(kept.rests_on):
                del chunk.facts[layer]
            else:
                left.add(kept.rests_on)
