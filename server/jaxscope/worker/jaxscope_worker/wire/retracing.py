"""How often functions were traced, and why again."""

from __future__ import annotations

from dataclasses import dataclass

from .places import Place


@dataclass(frozen=True)
class Retraced:
    """The traces of one function that calls on one line led to."""

    path: str
    function: str
    """Qualified name."""
    line: int
    """Of the def or lambda."""
    at: Place
    """The call, as far as known its line."""
    traces: int
    found: int
    """Calls with a function object or signature that came to JAX anew and for which it had a trace already. Calls that
    go to a compiled program at once are not seen."""
    causes: tuple[str, ...]
    """Why it was traced again, in words, each once, in the order in which they came; the function's first trace has
    none. `new shape of x: f32[8] → f32[16]`."""
    seconds: float
    """Of all these traces."""
    compile_seconds: float | None = None
    """Of their programs but that of the function's first trace; None where none was seen to be compiled."""
    times: tuple[int, ...] = ()
    """How many traces there were for each of `causes`, which are the first ones; empty where that was not counted."""
    column: int | None = 0
    """Of a lambda, in characters from 1; 0 for a def, and None where Python cannot tell which lambda of the line."""
    source: str = "run"
    """`run`, or `recorded`."""
