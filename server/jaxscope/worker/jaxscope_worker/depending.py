"""Which of the values that have changed since a trace does its program depend on?

The function is traced again, all being as it was then but for one value: does that give another program? What is read
only on a branch that did not run gives none. JAX finds what it has traced by the function object, that of nested
functions too, and so has to forget it all first. Afterwards everything is as the program left it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import jax
import numpy

from . import guesses, jax_compat, retracing, staling
from .deadline import within
from .matching import match
from .observing import Observer, Record
from .sources import UserFiles
from .staling import Seen
from .walking import Found, walk
from .wire.messages import Denied
from .wire.stale import ChangedValue

SECONDS = 4.0
"""For all traces of one run."""
_MOST_BYTES = 1 << 28
"""Of arrays that a function makes while it is traced, above which its programs are not compared."""

Depends = bool | None  # as in ChangedValue


def report(observer: Observer, denied: list[Denied]) -> tuple[ChangedValue, ...]:
    """All that has changed, once for each function that reads it."""
    readings = [seen for record in observer.records for seen in record.reads]
    if not any(seen.has_changed() for seen in readings):
        return ()
    changed: dict[int, list[Seen]] = defaultdict(list)
    outermost = {}
    for record in observer.records:
        outer = _outermost(record)
        outermost[id(outer)] = outer
        changed[id(outer)] += (seen for seen in record.reads if seen.has_changed())
    told = {seen: (_number_before(seen), staling.as_number(seen.value())) for each in changed.values() for seen in each}
    known: dict[Seen, Depends] = {}
    until = time.perf_counter() + SECONDS
    with guesses.unseen(observer, denied):
        for key, outer in outermost.items():
            trial = _Trial(outer, changed[key], readings, observer.files, until)
            known |= dict.fromkeys(changed[key]) if outer.replaced else trial.run()
    observer.pass_over_leaks()
    return _once(ChangedValue(*seen.function, seen.name, *told[seen], depends=known[seen]) for seen in told)


def _outermost(record: Record) -> Record:
    return record if record.under is None else _outermost(record.under)


def _number_before(seen: Seen) -> str:
    before = seen.before()
    return staling.as_number(before[0]) if before else ""


def _once(values: Iterable[ChangedValue]) -> tuple[ChangedValue, ...]:
    """Of several traces of one function the one that depends on a value, or else may depend on it."""
    order = (True, None, False)
    found: dict[tuple[str, str, int, str], ChangedValue] = {}
    for one in values:
        key = (one.path, one.function, one.line, one.name)
        found[key] = min(found.get(key, one), one, key=lambda each: order.index(each.depends))
    return tuple(found.values())


class _Trial:
    """Of one program, whether it depends on each of some values."""

    def __init__(
        self, record: Record, changed: list[Seen], readings: list[Seen], files: UserFiles, until: float
    ) -> None:
        self.call, self.x64, self.changed, self.readings = record.call, record.x64, changed, readings
        self.files, self.until, self.seconds = files, until, record.seconds or 0.0
        self.traced = record.inferred.params["jaxpr"] if record.inferred is not None else None
        self.held = self._constants(self.traced) if self.traced is not None and changed else []

    def run(self) -> dict[Seen, Depends]:
        # The program shows elements that change in place; what is compiled has been copied before.
        known: dict[Seen, Depends] = {seen: True for seen in self.changed if self._holds(seen.in_place())}
        self.changed = [seen for seen in self.changed if seen not in known]
        if not self.changed:
            return known
        same = self._is_another(self.changed)
        if same is not True:
            return known | dict.fromkeys(self.changed, same)
        if self._is_another([]) is not False:  # something else has changed, or no two traces are the same
            return known | dict.fromkeys(self.changed, None)
        if len(self.changed) == 1:
            return known | {self.changed[0]: True}
        return known | {seen: self._is_another([seen]) for seen in self.changed}

    def _holds(self, array: Any) -> bool:
        return array is not None and any(
            isinstance(value := jax_compat.unwrapped(found.value), numpy.ndarray)
            and numpy.may_share_memory(value, array)
            for found in self.held
        )

    def _is_another(self, new: list[Seen]) -> Depends:
        """Does a trace give another program when only these values are new? None where that cannot be told."""
        with staling.as_they_are(self.readings):
            values = [(seen, seen.value()) for seen in new]
            for seen in self.changed:
                before = seen.before()
                if seen not in new and not (before and seen.put(before[0])):
                    return None
            for seen, value in values:
                if seen.value() is not value:  # two ways to one value
                    seen.put(value)
            program = self._traced_again()
        if program is None:
            return None
        return match(self.traced, program).difference is not None

    def _traced_again(self) -> Any:
        left = self.until - time.perf_counter()
        if self.traced is None or left < self.seconds or bool(jax.config.jax_enable_x64) != self.x64:
            return None
        try:
            with within(left):
                program = retracing.program(self.call)
        except BaseException:
            return None
        known = {found.key for found in self.held}
        made = sum(found.bytes for found in self._constants(program) if found.key not in known)
        return program if made <= _MOST_BYTES else None

    def _constants(self, program: Any) -> list[Found]:
        return walk(program, self.files, 0).constants
