"""Where a program makes JAX trace a function again and again, as far as its source shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.semantics.captured.captures import traced_scopes_of
from jaxscope.semantics.compiled.callers import CompiledCall, LibraryCall, compiled_calls_of, library_calls_in
from jaxscope.semantics.compiled.sites import COMPILING, Site, is_local_name
from jaxscope.semantics.names.scopes import facts_of
from jaxscope.semantics.retracing import rebuilt, varied
from jaxscope.semantics.retracing.rebuilt import Rebuilt
from jaxscope.semantics.retracing.varied import Resized, Varied
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel


_COSTLY = COMPILING | rebuilt.LOOPS


@dataclass(frozen=True, slots=True)
class _Found:
    sites: tuple[Site, ...]
    calls: tuple[CompiledCall, ...]
    library: tuple[LibraryCall, ...]
    """What it was made from."""
    rebuilt: tuple[Rebuilt, ...]
    varied: tuple[Varied, ...]
    resized: tuple[Resized, ...]


def retraces_of(model: FileModel) -> tuple[list[Rebuilt], list[Varied], list[Resized]]:
    """Functions that are compiled anew again and again, compiled functions that are given something new each time, and
    those of libraries that are given arrays of other shapes.

    Code that is traced itself runs once, whatever it repeats."""
    calls: dict[Chunk, list[CompiledCall]] = {}
    for call in compiled_calls_of(model):
        calls.setdefault(call.scope.chunk, []).append(call)
    sites: dict[Chunk, list[Site]] = {}
    for site in model.sites:
        sites.setdefault(site.scope.chunk, []).append(site)
    traced = traced_scopes_of(model)
    new: list[Rebuilt] = []
    other: list[Varied] = []
    resized: list[Resized] = []
    for chunk in model.module.chunks:
        library = library_calls_in(model, chunk)
        if chunk in calls or chunk in sites or library or not _COSTLY.isdisjoint(facts_of(chunk).calls):
            found = _of_chunk(model, chunk, tuple(sites.get(chunk, ())), tuple(calls.get(chunk, ())), tuple(library))
            new += (one for one in found.rebuilt if traced.isdisjoint(one.eager))
            other += (one for one in found.varied if traced.isdisjoint(one.call.scope.around()))
            resized += (one for one in found.resized if traced.isdisjoint(one.call.scope.around()))
    other += (
        one
        for one in varied.by_style([call for group in calls.values() for call in group])
        if traced.isdisjoint(one.call.scope.around())
    )
    return new, other, resized


def _of_chunk(
    model: FileModel,
    chunk: Chunk,
    sites: tuple[Site, ...],
    calls: tuple[CompiledCall, ...],
    library: tuple[LibraryCall, ...],
) -> _Found:
    kept = chunk.facts.get("retraces")
    if kept is not None and (kept.result.sites, kept.result.calls, kept.result.library) != (sites, calls, library):
        del chunk.facts["retraces"]

    def work(ev: Evaluator) -> _Found:
        new = _rebuilt(ev, model, chunk, sites)
        other = tuple(one for call in calls for one in varied.of_call(ev, model, call))
        resized = tuple(one for call in library for one in varied.of_library_call(ev, call))
        return _Found(sites, calls, library, new, other, resized)

    found: _Found = model.kept(chunk, "retraces", work)
    return found


def _rebuilt(ev: Evaluator, model: FileModel, chunk: Chunk, sites: tuple[Site, ...]) -> tuple[Rebuilt, ...]:
    facts = facts_of(chunk)
    found = [rebuilt.of_decorated(ev, site) for site in sites if site.binding is not None]
    for name, places in facts.calls.items():
        if name in rebuilt.LOOPS:
            found += (rebuilt.of_loop(ev, model, call, scope) for call, scope in places)
        elif name in COMPILING or not name or is_local_name(model, name, ev):
            found += (rebuilt.of_call(ev, model, call, scope) for call, scope in places)
    return tuple(one for one in found if one is not None)
