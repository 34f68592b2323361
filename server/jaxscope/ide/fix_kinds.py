"""The kinds of fixes that rules offer: who plans them, and what may differ after them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from jaxscope.ide import new_argument
from jaxscope.refactor import (
    compute_at_once,
    debug_callback,
    debug_print,
    donate,
    drop_static,
    enable_x64,
    hoist_jit,
    make_hashable,
    random_key,
    return_state,
    say_dtype,
    strong_type,
)
from jaxscope.refactor.change import Refusal
from jaxscope.refactor.to_argument import factory_argument, hoist_argument
from jaxscope.rules.finding import Finding
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange

Planner = Callable[[Project, Finding], SourceChange | Refusal]


def _to_argument(project: Project, finding: Finding, changes: bool = False) -> SourceChange | Refusal:
    """`changes`: the value is another at times, and every call is to see that of its moment."""
    line = finding.range.start.line
    change = hoist_argument.plan(project, finding.path, finding.function, finding.name, line, changes=changes)
    return change if isinstance(change, Refusal) else new_argument.in_comments(project, finding, change)


def _donate(project: Project, finding: Finding) -> SourceChange | Refusal:
    return donate.plan(project, finding.path, finding.range, finding.fixes[0].about)


def _debug_print(project: Project, finding: Finding) -> SourceChange | Refusal:
    return debug_print.plan(project, finding.path, finding.range)


def _debug_callback(project: Project, finding: Finding) -> SourceChange | Refusal:
    return debug_callback.plan(project, finding.path, finding.range)


def _hoist_jit(project: Project, finding: Finding) -> SourceChange | Refusal:
    return hoist_jit.plan(project, finding.path, finding.range)


def _drop_static(project: Project, finding: Finding) -> SourceChange | Refusal:
    return drop_static.plan(project, finding.path, finding.range, finding.fixes[0].about[0])


def _scalar_to_argument(project: Project, finding: Finding) -> SourceChange | Refusal:
    return factory_argument.plan(project, finding.path, finding.range)


def _make_hashable(project: Project, finding: Finding) -> SourceChange | Refusal:
    return make_hashable.plan(project, finding.path, finding.range, finding.fixes[0].about[0])


def _strong_type(project: Project, finding: Finding) -> SourceChange | Refusal:
    return strong_type.plan(project, finding.path, finding.range, finding.fixes[0].about[0])


def _random_key(project: Project, finding: Finding) -> SourceChange | Refusal:
    return random_key.plan(project, finding.path, finding.range)


def _say_dtype(project: Project, finding: Finding) -> SourceChange | Refusal:
    return say_dtype.plan(project, finding.path, finding.range)


def _enable_x64(project: Project, finding: Finding) -> SourceChange | Refusal:
    return enable_x64.plan(project, finding.path, finding.range.start.line)


def _return_state(project: Project, finding: Finding) -> SourceChange | Refusal:
    model = project.model(finding.path)
    if model is not None and compute_at_once.memo_at(model, finding.range):
        return compute_at_once.plan(project, finding.path, finding.range)
    return return_state.plan(project, finding.path, finding.range)


PLANNERS: dict[str, Planner] = {
    "array-to-argument": _to_argument,
    "donate": _donate,
    "hoist-jit": _hoist_jit,
    "drop-static": _drop_static,
    "strong-type": _strong_type,
    "scalar-to-argument": _scalar_to_argument,
    "make-hashable": _make_hashable,
    "debug-print": _debug_print,
    "debug-callback": _debug_callback,
    "random-key": _random_key,
    "say-dtype": _say_dtype,
    "enable-x64": _enable_x64,
    "return-state": _return_state,
    "value-to-argument": partial(_to_argument, changes=True),
}
"""By `FixOffer.kind`."""
RAISING = frozenset(("make-hashable",))
"""Kinds of fixes of calls that raise as they are, so that the program need not give what it gave."""
ARGUMENTS = frozenset(("array-to-argument", "value-to-argument", "scalar-to-argument"))
"""Kinds of fixes that make an argument of what was captured."""
MENDING = frozenset(("value-to-argument", "debug-print", "debug-callback", "return-state", "random-key", "enable-x64"))
"""Kinds of fixes after which the program gives or prints something else, as it should: one decides on each."""
OTHER_TYPES = frozenset(("return-state", "enable-x64"))
"""Kinds of fixes after which compiled functions return something of other types, as they should."""
_SETTINGS = frozenset(("enable-x64",))
"""Kinds of fixes that change a setting of the whole program."""
RESULTS: dict[str, Literal["eager", "arrays", "types", "any", "prints"]] = {
    "value-to-argument": "eager",
    "return-state": "eager",
    "donate": "arrays",
    "random-key": "types",
    "enable-x64": "any",
    "debug-print": "prints",
    "debug-callback": "prints",
}
"""What the program must give after a fix of a kind that does not leave all as it was (`VerifyRequest.results`)."""


def is_setting(finding: Finding) -> bool:
    """Does its fix change a setting of the whole program, under which other findings may be none?"""
    return any(offer.kind in _SETTINGS for offer in finding.fixes)
