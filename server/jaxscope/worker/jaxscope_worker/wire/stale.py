"""Values that were another when the run ended than when they were traced."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChangedValue:
    """Something that a traced function read from outside and that has changed since."""

    path: str
    """File of the traced function."""
    function: str
    """Qualified name of the traced function."""
    line: int
    """Of its def or lambda."""
    name: str
    """As one writes it: `penalty`, `self.enabled`, `stats["mean"]`."""
    then: str = ""
    """The number that it was when it was traced; empty for anything else."""
    now: str = ""
    """The number that it was in the end; empty for anything else."""
    depends: bool | None = None
    """Does the compiled program depend on it: does tracing with the value of the end give another? None: not known."""
