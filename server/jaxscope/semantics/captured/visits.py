"""Which functions a walk has gone into, and which of them need not be gone into again: nothing is captured there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.semantics.captured.capture import Capture
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.names.scopes import Scope

_DEEPEST = 16
_NEVER = _DEEPEST + 2
Step = tuple[Scope, "bool | None"]
"""A function whose code runs while tracing (None), or of which it was asked whether it is compiled by itself."""


@dataclass(frozen=True, slots=True)
class TracedCode:
    """The code that runs while the function of one site is traced. Functions that are compiled by themselves have a
    site of their own."""

    site: Site
    scopes: tuple[Scope, ...]
    """The function's own scope first, then those inside it and those of the functions that it calls or hands on."""


@dataclass(slots=True)
class Found:
    """What the walks through one chunk's sites gave."""

    captures: list[Capture]
    code: list[TracedCode]
    reached: set[Scope]
    """Functions whose code runs while tracing."""
    enclosed: frozenset[Scope]
    """Functions around the sites that were taken to be traced themselves."""
    asked: dict[Scope, bool]
    """Functions that were met, and whether they are compiled by themselves."""


@dataclass(frozen=True, slots=True)
class Clean:
    """What going into a function met that captures nothing."""

    depth: int
    compiled: frozenset[Scope]
    trail: tuple[Step, ...]

    def holds(self, compiled: frozenset[Scope], depth: int) -> bool:
        """Would going there again, from that deep, meet the same?"""
        return depth >= self.depth and (
            compiled is self.compiled
            or all(asked is None or (scope in compiled) is asked for scope, asked in self.trail)
        )


class Visits:
    """Of one walk. `clean` outlives it: what is known of functions with their arguments."""

    def __init__(self, compiled: frozenset[Scope], found: Found, clean: dict[object, Clean]) -> None:
        self.compiled = compiled
        self.found = found
        self.clean = clean
        self.trail: list[Step] = []
        self.depth = 0
        self.doubts = 0
        """How often a function was not gone into of which it is not known that it captures nothing."""
        self._state: dict[object, bool | int] = {}
        """By function: does it capture nothing for certain? A number where that hangs on the one so deep, which is
        still being walked."""
        self._lowest = _NEVER
        self._hanging: list[object] = []

    def step(self, scope: Scope, asked: bool | None) -> None:
        """Takes a step down."""
        self.trail.append((scope, asked))
        if asked is None:
            self.found.reached.add(scope)
        else:
            self.found.asked[scope] = asked

    def is_compiled(self, scope: Scope) -> bool:
        """Has it a site of its own, which reports what it captures?"""
        compiled = scope in self.compiled
        self.step(scope, compiled)
        return compiled

    def are_over(self, key: object) -> bool:
        """Is a function not to be gone into: because it was, or because that is deep enough?"""
        state = self._state.get(key)
        if state is None and self.depth <= _DEEPEST:
            return False
        if state is None or state is False:
            self.doubts += 1
        elif state is not True:
            self._lowest = min(self._lowest, state)
        return True

    def go(self, key: object, memory: object, walk: Callable[[], bool]) -> None:
        """Goes into a function by `walk`, which tells whether nothing was captured, unless `memory` says so already."""
        known = self.clean.get(memory)
        if known is not None and known.holds(self.compiled, self.depth):
            self._state[key] = True
            for step in known.trail:
                self.step(*step)
            return
        self._state[key] = self.depth
        before, doubts, start, hanging = self._lowest, self.doubts, len(self.trail), len(self._hanging)
        self._lowest = _NEVER
        self.depth += 1
        nothing = walk()
        self.depth -= 1
        self._hanging.append(key)
        if not nothing or doubts != self.doubts:
            self._settle(hanging, False)
        elif self._lowest >= self.depth:
            self._settle(hanging, True)
            self.clean[memory] = Clean(self.depth, self.compiled, tuple(dict.fromkeys(self.trail[start:])))
        else:
            self._state[key] = self._lowest
            before = min(before, self._lowest)
        self._lowest = before

    def _settle(self, start: int, clean: bool) -> None:
        self._state.update(dict.fromkeys(self._hanging[start:], clean))
        del self._hanging[start:]
