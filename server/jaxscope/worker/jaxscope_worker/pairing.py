"""The traced programs of a file before and after a change: which belong together, and do they compute the same?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import donating, trying
from .matching import match
from .session import Program


class Programs:
    """The programs of two runs of one file; `given` are parameters, by function, that the second run gives away.

    With `prints` it does not count what they print.
    """

    def __init__(
        self,
        before: Sequence[Program],
        after: Sequence[Program],
        given: Mapping[str, Sequence[str]] | None = None,
        *,
        prints: bool = False,
    ) -> None:
        self._before, self._after = _by_function(before), _by_function(after)
        self._given, self._prints = given or {}, prints
        self._compared: dict[str, tuple[bool | None, str]] = {}

    def after(self, function: str) -> list[Program]:
        """Those of a function after the change."""
        return self._after.get(self.present_name(function), [])

    def present_name(self, function: str) -> str:
        """What the function is called after the change, which may have put another in its place: `Layer._apply`."""
        if function in self._after:
            return function
        scope, _, name = function.rpartition(".")
        new = [each for each in self._after.keys() - self._before.keys() if each.rpartition(".")[0] == scope]
        named = [each for each in new if name in each.rpartition(".")[2]]
        return named[0] if len(named) == 1 else function

    def equal(self, function: str) -> tuple[bool | None, str]:
        """Are all programs of a function the same, and those of the other functions? None where that was not seen."""
        known = self._equal(function)
        for other in self._before:
            found = self._equal(other)
            if found[0] is False:
                return found
            known = found if found[1] else known
        return known

    def _equal(self, function: str) -> tuple[bool | None, str]:
        if function not in self._compared:
            self._compared[function] = self._compare(function)
        return self._compared[function]

    def _pairs(self, function: str) -> list[tuple[Program, Program]]:
        old, new = self._before.get(function, []), self.after(function)
        outs = [[p.function.out for p in programs if p.function is not None] for programs in (old, new)]
        return list(zip(old, new, strict=True)) if outs[0] == outs[1] else []

    def _compare(self, function: str) -> tuple[bool | None, str]:
        pairs = self._pairs(function)
        doubt = ""
        for old, new in pairs:
            donated = donating.kept(new, self._given.get(function, ()))
            difference = match(old.jaxpr, new.jaxpr, old.donated, donated, prints=self._prints).difference
            if difference is not None and difference.certain:
                return False, f"the program of {function} would change ({difference.what})"
            doubt = doubt if difference is None else difference.what
        return True if pairs and not doubt else None, doubt

    def values_equal(self, function: str, arrays: Callable[[], Iterator[Any]]) -> tuple[bool | None, str]:
        """Where programs differ: do they give the same for arguments that are made up?"""
        known: bool | None = None
        for name in {function, *(name for name, found in self._compared.items() if found[0] is False)}:
            for old, new in self._pairs(name):
                same, how = trying.compare(old, new, arrays)
                if same is not True:
                    return same, f"what {name} returns {how}" if same is False else ""
                known = True
        return known, ""


def _by_function(programs: Sequence[Program]) -> dict[str, list[Program]]:
    found: dict[str, list[Program]] = {}
    for program in programs:
        if program.function is not None:
            found.setdefault(program.function.function, []).append(program)
    return found
