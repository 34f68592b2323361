"""`verify`: runs the files before and after a change, one after the other, and compares what was seen."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import comparing, donating, jax_compat
from ..failing import Failed
from ..pairing import Programs
from ..printing import Printed
from ..session import Program, Session
from ..uncompiled import uncompiled
from ..wire.messages import Constant, Hoisted, TracedFunction, TraceReply, TraceRequest, VerifyReply, VerifyRequest
from .trace import trace_file

_OTHER_NUMBERS = ("types", "any")
"""What `VerifyRequest.results` says of changes after which a program computes other numbers."""
Report = Callable[[str, str, "float | None"], None]


def handle(session: Session, request: VerifyRequest, progress: Report) -> VerifyReply:
    """Answers a verify request. Raises Failed when the files before the change fail."""
    before = _run(request.before, "before", progress)
    if before.reply.failure is not None:
        raise Failed(before.reply.failure)
    after = _run(request.after, "after", progress)
    targets = [Hoisted(request.function, request.constant, request.donates), *request.others]
    if not after.imported:
        failed = VerifyReply(False, None, None, None, f"importing it would fail: {_why(after.reply)}")
        return replace(failed, others=(failed,) * len(request.others))
    results = _results(before, after, request, progress)
    given: dict[str, tuple[str, ...]] = {}
    for target in targets:
        given[target.function] = given.get(target.function, ()) + target.donates
    programs = Programs(before.programs, after.programs, given, prints=request.results == "prints")
    by_numbers = request.results not in _OTHER_NUMBERS
    first, *others = (_reply(before, after, one, programs, results, by_numbers=by_numbers) for one in targets)
    told = after.reply if request.tell and _is_whole(request.after, after.reply) else None
    return replace(first, others=tuple(others), after=told)


def _is_whole(request: TraceRequest, reply: TraceReply) -> bool:
    """Did the run trace by itself all that a trace would have guessed shapes for?"""
    traced = {item.function for item in reply.functions if item.path == request.path}
    guessed = {item.function for item in request.declared if item.source == "guess"}
    return guessed <= traced and not any("<lambda>" in name for name in guessed)


def _results(before: _Ran, after: _Ran, request: VerifyRequest, progress: Report) -> tuple[bool | None, str]:
    """Do the entries return what they should?"""
    if request.results in _OTHER_NUMBERS:
        return _values_equal(before, after, request.results)
    results = _values_equal(before, after, request.results if request.results in ("arrays", "prints") else "same")
    if request.results == "eager" and before.results and not before.silent and after.reply.failure is None:
        with uncompiled():
            eager = _run(request.before, "before, not compiled", progress)
        if eager.reply.failure is None:
            results = _moved(before, after, eager)
    if results[0] is not False or after.reply.failure is not None:
        return results
    if not _repeats(before, request.before, progress):
        return None, "the results differ from run to run, so they were not compared"
    return results


def _reply(
    before: _Ran,
    after: _Ran,
    target: Hoisted,
    programs: Programs,
    results: tuple[bool | None, str],
    *,
    by_numbers: bool,
) -> VerifyReply:
    """What was seen of one array. `by_numbers`: is the program to compute the same?"""
    function = target.function
    now = programs.present_name(function)
    gone, still = _constant_gone(before.of(function), after.of(now), function, target.constant)
    avals, change = _avals_equal(before, after, function, now)
    values, difference = results
    alike, other = programs.equal(function)
    if not by_numbers:
        values = None
    elif alike is False and values is None:
        values, difference = programs.values_equal(function, lambda: before.arrays(target))
        if values is None:
            values, difference = False, f"{other}, and whether it gives the same could not be seen"
            difference += f": {_silence(before.silent)}" if before.silent else ""
    elif alike and values is None and not before.results:
        values = True  # the same program of the same arrays
    reuse = donating.reuse(programs.after(function), target.donates) if target.donates else None
    reply = VerifyReply(True, gone, avals, values, still or change or difference, alike, results[0], reuse=reuse)
    return replace(reply, silent=before.silent, printed=before.printed)


def _silence(entry: str) -> str:
    return f"`{entry}` returns nothing and prints nothing that could be compared; return what it computes"


@dataclass
class _Ran:
    reply: TraceReply
    imported: bool
    results: dict[str, Any]
    session: Session

    @property
    def programs(self) -> list[Program]:
        return list(self.session.programs.values())

    @property
    def printed(self) -> bool:
        """Did the entries return nothing, and print something?"""
        texts = [result for result in self.results.values() if isinstance(result, Printed)]
        return len(texts) == len(self.results) and any(text.lines for text in texts)

    @property
    def silent(self) -> str:
        """An entry that shows nothing, where none does."""
        empty = [entry for entry, result in self.results.items() if isinstance(result, Printed) and not result.lines]
        return empty[0] if empty and len(empty) == len(self.results) else ""

    def arrays(self, target: Hoisted) -> Iterator[Any]:
        """What the constant's name may stand for: the constant itself, unless it is a part of what has the name."""
        for program in self.programs:
            if program.function is not None and program.function.function == target.function:
                for constant in program.constants:
                    if constant.described is not None and constant.described.name == target.constant:
                        yield jax_compat.unwrapped(constant.value)
        yield eval(target.constant, dict(vars(self.session.module)))

    def of(self, function: str) -> list[TracedFunction]:
        return [traced for traced in self.reply.functions if traced.function == function]


def _run(request: TraceRequest, which: str, progress: Report) -> _Ran:
    """In a session of its own, so that the first run's arrays are free for the second."""

    def report(stage: str, detail: str = "", done: float | None = None) -> None:
        progress(stage, f"{which}: {detail}" if detail else which, done)

    # Data that is made anew at each import must come out the same, where it can.
    random.seed(0)
    np.random.seed(0)
    session = Session(results={})
    # Two guesses need not be the same one.
    declared = tuple(item for item in request.declared if item.source != "guess")
    reply = trace_file(session, replace(request, declared=declared), report)
    return _Ran(reply, session.module is not None, session.results or {}, session)


def _why(reply: TraceReply) -> str:
    return reply.failure.message if reply.failure is not None else "for an unknown reason"


def _kind(constant: Constant) -> tuple[Any, ...]:
    return constant.shape, constant.dtype, constant.bytes


def _constant_gone(
    before: list[TracedFunction], after: list[TracedFunction], function: str, name: str
) -> tuple[bool | None, str]:
    """None where the function was not traced on both sides, or never held the constant."""
    held = [constant for traced in before for constant in traced.constants if constant.name == name]
    if not held or not after:
        return None, ""
    for traced in after:
        if any(constant.name == name for constant in traced.constants):
            return False, f"{name} would still be a constant of {function}"
    for kind in {_kind(constant) for constant in held}:
        had = max(Counter(map(_kind, traced.constants))[kind] for traced in before)
        has = max(Counter(map(_kind, traced.constants))[kind] for traced in after)
        if has >= had:
            return False, f"{function} would still hold a constant of {kind[2]} bytes, as large as {name}"
    return True, ""


def _avals_equal(before: _Ran, after: _Ran, function: str, now: str) -> tuple[bool | None, str]:
    old, new = before.of(function), after.of(now)
    if not old:
        return None, ""
    failed = [each for each in after.reply.not_traced if each.function in (function, now)]
    if not new:
        return (False, f"{function} could no longer be traced: {failed[0].reason}") if failed else (None, "")
    outs, changed = {traced.out for traced in old}, {traced.out for traced in new}
    if outs == changed:
        return True, ""
    lost, found = sorted(outs - changed), sorted(changed - outs)
    if not lost or not found:
        return None, ""  # other signatures were seen, none of them against what was there
    return False, f"the output of {function} would change from {_types(lost[0])} to {_types(found[0])}"


def _types(out: tuple[str, ...]) -> str:
    return out[0] if len(out) == 1 else f"({', '.join(out)})"


def _values_equal(before: _Ran, after: _Ran, results: str = "same") -> tuple[bool | None, str]:
    known: bool | None = None
    for entry, result in before.results.items():
        if entry not in after.results:
            return False, f"{entry}() would fail: {_why(after.reply)}"
        same, how = comparing.equal(result, after.results[entry], results)
        if same is False:
            return False, f"what {entry}() {_gives(result)} {how}"
        known = known or same
    return known, ""


def _gives(result: Any) -> str:
    return "prints" if isinstance(result, Printed) else "returns"


def _moved(before: _Ran, after: _Ran, eager: _Ran) -> tuple[bool | None, str]:
    known: bool | None = None
    for entry, result in before.results.items():
        if entry not in after.results:
            return False, f"{entry}() would fail: {_why(after.reply)}"
        right, how = comparing.moved(result, after.results[entry], eager.results.get(entry))
        if right is False:
            return False, f"what {entry}() {_gives(result)} {how}"
        known = known or right
    return known, ""


def _repeats(before: _Ran, request: TraceRequest, progress: Report) -> bool:
    """Does the unchanged program return the same when it is run again?"""
    again = _run(request, "before, again", progress)
    return all(
        entry in again.results and comparing.equal(result, again.results[entry])[0] is not False
        for entry, result in before.results.items()
    )
