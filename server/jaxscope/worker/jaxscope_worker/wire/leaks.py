"""Tracers that were still there when their trace had ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Leak:
    """One object from outside a traced function that held a tracer once the trace was over."""

    path: str
    """File of the traced function."""
    function: str
    """Qualified name of the traced function."""
    line: int
    """Of its def or lambda."""
    name: str
    """Path to the tracer, as one writes it: `self.last_hidden`, `log[0]`, `_cache[(8, 4)]`."""
    holder: Literal["global", "closure", "self", "static", "default"]
    module: str
    """File whose global it is; empty for anything else."""
    type: str
    """What the tracer stood for: `f32[2,4]`."""
