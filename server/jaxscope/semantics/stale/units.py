"""What is looked through together for stale values, and whether what was found there still holds."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from jaxscope.semantics.captured.captures import traced_code_of, traced_scopes_of
from jaxscope.semantics.captured.visits import TracedCode
from jaxscope.semantics.compiled.callers import CompiledCall, compiled_calls_of
from jaxscope.semantics.compiled.sites import Target, peel
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.stale.calls import Compiled
from jaxscope.source.module import Chunk


@dataclass(frozen=True, slots=True)
class Unit:
    """The functions that one part of the file compiles, or those of another file that it calls."""

    chunk: Chunk
    layer: str
    codes: list[TracedCode]
    same: list[list[TracedCode]]
    """For each, all sites of its function in that file."""
    calls: list[list[CompiledCall]]
    """For each, the calls of its function."""
    traced: frozenset[Scope]


class Asked:
    """A set of scopes that remembers what was looked up."""

    def __init__(self, scopes: frozenset[Scope]) -> None:
        self.scopes = scopes
        self.answers: dict[Scope, bool] = {}

    def __contains__(self, scope: object) -> bool:
        found = scope in self.scopes
        if isinstance(scope, Scope):
            self.answers[scope] = found
        return found


@dataclass(frozen=True, slots=True)
class Worked:
    """What was found, and what it rests on besides what evaluation looked at."""

    found: list[Any]
    unit: Unit
    asked: dict[Scope, bool]
    order: list[Chunk]
    """Parts of the file whose own statements were put in order."""

    def still_holds(self, unit: Unit, model: FileModel) -> bool:
        """Are functions, calls and order the same?"""
        mine, order = self.unit, set(self.order)
        return (
            _same(mine.codes, unit.codes)
            and all(_same(a, b) for a, b in zip(mine.calls, unit.calls, strict=True))
            and all(_same(a, b) for a, b in zip(mine.same, unit.same, strict=True))
            and all((scope in unit.traced) is was for scope, was in self.asked.items())
            and (len(order) < 2 or _same(self.order, [chunk for chunk in model.module.chunks if chunk in order]))
        )


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def units_of(model: FileModel) -> Iterator[Unit]:
    """The units of a file."""
    calls: dict[Scope, list[CompiledCall]] = {}
    for call in compiled_calls_of(model):
        calls.setdefault(call.function, []).append(call)
    foreign = {function.chunk.facts["model"]: None for function in calls}
    for home in dict.fromkeys((model, *foreign)):
        by_function: dict[Scope, list[TracedCode]] = {}
        by_chunk: dict[Chunk, list[TracedCode]] = {}
        codes = traced_code_of(home)
        for code in codes:
            function = code.site.function
            by_function.setdefault(function, []).append(code)
            if home is model or function in calls:
                chunk = code.site.scope.chunk if home is model else calls[function][0].scope.chunk
                by_chunk.setdefault(chunk, []).append(code)
        traced = traced_scopes_of(home)
        layer = "stale" if home is model else f"stale in {home.path}"
        for chunk, mine in by_chunk.items():
            functions = [code.site.function for code in mine]
            same = [by_function[function] for function in functions]
            yield Unit(chunk, layer, mine, same, [calls.get(function, []) for function in functions], traced)


def compiled_in(unit: Unit, traced: Container[Scope], ev: Evaluator) -> Iterator[Compiled]:
    """The compiled functions of a unit; one that several sites compile as it is, at the first of them alone."""
    for code, same, calls in zip(unit.codes, unit.same, unit.calls, strict=True):
        home = ev.model_of(code.site.scope.module_part())
        value = code.site.value(ev, home)
        target = peel(ev, value) if value is not None else Target()
        if target.function is None:
            continue
        compiled = Compiled(code, target, calls, [code.site], traced)
        if compiled.plain:
            if same[0] is not code:
                continue
            compiled.sites += [one.site for one in same[1:]]
        nodes = {id(one.node) for one in compiled.sites}
        compiled.calls = [call for call in calls if id(call.compiled_at) in nodes]
        yield compiled
