"""The captures of a file and the code that it traces: one walk for each compiled function, kept until something changes
that it looked at."""

from __future__ import annotations

from jaxscope.semantics.captured.capture import Capture
from jaxscope.semantics.captured.visits import Found, TracedCode
from jaxscope.semantics.captured.walk import Walk
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.source.module import Chunk


def captures_of(model: FileModel) -> list[Capture]:
    """Captures of every compiled function of the file."""
    return [capture for one in _found(model) for capture in one.captures]


def traced_code_of(model: FileModel) -> list[TracedCode]:
    """What runs while each compiled function of the file is traced, in source order of the sites."""

    def work() -> list[TracedCode]:
        found = [code for one in _found(model) for code in one.code]
        return sorted(found, key=lambda code: model.place_key(code.site.scope, code.site.node))

    return model.once("traced code", work)


def traced_scopes_of(model: FileModel) -> frozenset[Scope]:
    """The functions, lambdas and comprehensions of that code."""
    return model.once("traced scopes", lambda: frozenset(s for code in traced_code_of(model) for s in code.scopes))


def _found(model: FileModel) -> list[Found]:
    return model.once("captures", lambda: _Survey(model).run())


class _Survey:
    """All sites of a file. A site inside a function that is itself traced sees tracers, not arrays, around it."""

    def __init__(self, model: FileModel) -> None:
        self.model = model
        self.compiled = frozenset(site.function for site in model.sites)
        self.reached: set[Scope] = set(self.compiled)

    def run(self) -> list[Found]:
        by_chunk: dict[Chunk, list[Site]] = {}
        for site in self.model.sites:
            by_chunk.setdefault(site.scope.chunk, []).append(site)
        found: dict[Chunk, Found] = {}
        for _ in range(2):
            for chunk, sites in by_chunk.items():
                enclosed = self._enclosed(sites)
                one = found.get(chunk)
                if one is None or one.enclosed != enclosed:
                    found[chunk] = one = self._of_chunk(chunk, sites, enclosed)
                self.reached |= one.reached
        return list(found.values())

    def _enclosed(self, sites: list[Site]) -> frozenset[Scope]:
        around: set[Scope] = set()
        for site in sites:
            for start in (site.scope, site.function.parent):
                at = start
                while at is not None:
                    if at in self.reached:
                        around.add(at)
                    at = at.parent
        return frozenset(around)

    def _of_chunk(self, chunk: Chunk, sites: list[Site], enclosed: frozenset[Scope]) -> Found:
        kept = chunk.facts.get("captures")
        if kept is not None and (
            kept.result.enclosed != enclosed
            or any((scope in self.compiled) is not was for scope, was in kept.result.asked.items())
        ):
            del chunk.facts["captures"]

        def work(ev: Evaluator) -> Found:
            found = Found([], [], set(), enclosed, {})
            for site in sites:
                Walk(self.model, self.compiled, ev, site, found).run()
            return found

        found: Found = self.model.kept(chunk, "captures", work)
        return found
