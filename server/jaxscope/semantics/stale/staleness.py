"""Values that a compiled function took in when it was traced and that are another afterwards.

A value is stale when a call, a change and another call can follow one another with the same function: in one run of the
code around them, or in a loop around both. What only may follow, because nobody in sight calls the function that makes
the change, is told apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.compiled.callers import CompiledCall
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.evaluation.values import Array, number
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.changes import MAKING, changed_names
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.names.variables import Variable
from jaxscope.semantics.stale.call_chains import Chain, Chains, before, common_loops, inside
from jaxscope.semantics.stale.calls import Calls, Compiled, Way
from jaxscope.semantics.stale.changes import Change, Changes, overlap
from jaxscope.semantics.stale.traced_reads import TracedRead, TracedReads
from jaxscope.semantics.stale.units import Asked, Unit, Worked, compiled_in, units_of
from jaxscope.source.module import Chunk

Pair = tuple[CompiledCall, CompiledCall]


@dataclass(frozen=True, slots=True)
class Stale:
    """One value that goes out of date."""

    site: Site
    name: str
    at: Mark
    inner: Scope | None
    """The function that does the read, when it is not the compiled one."""
    via: str
    change: Mark
    changer: Scope
    """The function or module that makes the change."""
    first: Mark | None
    """A call after which the change comes; None when it is not known that there is one."""
    later: Mark | None
    """A call that goes on using the old value."""
    known: str | None
    """The value at the first call, where the source says it."""
    again: Mark | None
    """Where `jax.jit` is applied to the same function again, which traces nothing anew."""
    while_traced: bool
    """Is it the traced code itself that makes the change?"""
    is_key: bool
    """Is it a key for random numbers?"""

    @property
    def certain(self) -> bool:
        """Does the source show a call, the change and a further call?"""
        return self.later is not None


def stale_of(model: FileModel) -> list[Stale]:
    """Everything of that kind in the functions compiled in the file, or called from it."""
    return model.once("stale", lambda: [one for unit in units_of(model) for one in _of_unit(model, unit)])


def is_over(model: FileModel, function: Scope, name: str) -> bool:
    """Does the file show all calls of a compiled function of its own, and that none follows a change of a name that it
    reads? Then nobody goes on using the old value, unless from another file."""
    ev = model.project.evaluator.begin()
    found = [one for unit in units_of(model) for one in compiled_in(unit, unit.traced, ev) if one.function is function]
    return bool(found) and all(_Search(model, one, ev).is_over(name) for one in found)


def _of_unit(model: FileModel, unit: Unit) -> list[Stale]:
    known = unit.chunk.facts.get(unit.layer)
    if known is not None and not known.result.still_holds(unit, model):
        del unit.chunk.facts[unit.layer]

    def work(ev: Evaluator) -> Worked:
        asked = Asked(unit.traced)
        found: list[Stale] = []
        order: set[Chunk] = set()
        for compiled in compiled_in(unit, asked, ev):
            search = _Search(model, compiled, ev)
            found += search.run()
            order |= search.chains.in_modules
        return Worked(found, unit, asked.answers, [chunk for chunk in model.module.chunks if chunk in order])

    worked: Worked = model.kept(unit.chunk, unit.layer, work)
    return worked.found


class _Search:
    """One compiled function."""

    def __init__(self, model: FileModel, compiled: Compiled, ev: Evaluator) -> None:
        self.compiled = compiled
        self.ev = ev
        site = compiled.code.site
        homes = (model, ev.model_of(site.scope.module_part()), ev.model_of(site.function.module_part()))
        self.models = tuple(dict.fromkeys(homes))
        ev.seen.paths.update(one.path for one in self.models if one is not model)
        self.chains = Chains(ev, self.models)
        self.changes = Changes(self.chains, self.models)
        self.calls = Calls(compiled, self.chains, self.changes)

    def run(self) -> Iterator[Stale]:
        """What goes out of date, each variable once."""
        found: dict[Variable, Stale] = {}
        changed = frozenset[str]().union(*(changed_names(model) for model in self.models))
        reads = TracedReads(self.ev, self.compiled.code, self.compiled.target, self.compiled.traced)
        for read in reads.find(changed):
            key = read.shown
            if key not in found or not found[key].certain:
                stale = self._of_read(read)
                if stale is not None and (key not in found or stale.certain):
                    found[key] = stale
        yield from found.values()

    def _of_read(self, read: TracedRead) -> Stale | None:
        changes = self.changes.of(read)
        ways = list(self.calls.ways(read)) if changes else []
        best: Stale | None = None
        for change in changes:
            if change.scope in self.compiled.traced:
                stale = self._while_traced(read, change, ways)
            else:
                stale = self._judged(read, change, ways, changes)
            if stale is not None and (best is None or (stale.certain and not best.certain)):
                best = stale
        return best

    def is_over(self, name: str) -> bool:
        """See the function of that name."""
        changed = frozenset[str]().union(*(changed_names(model) for model in self.models))
        found = TracedReads(self.ev, self.compiled.code, self.compiled.target, self.compiled.traced).find(changed)
        reads = [read for read in found if read.name == name]
        return bool(reads) and self.calls.are_all and all(self._comes_last(read) for read in reads)

    def _comes_last(self, read: TracedRead) -> bool:
        """Does a change of it follow a call, in one place with all of them?"""
        calls, comes = list(self.calls.ways(read)), False
        for change in self.changes.of(read):
            for way in self.chains.to(change.spot, change.scope, change.meant, read.variable.home):
                if way.open is None and all(chain.open is not None for _, chain in calls):
                    continue  # while the file is imported
                if any(chain.spots[0].home != way.spots[0].home for _, chain in calls):
                    return False
                comes = comes or any(before(chain, way) for _, chain in calls)
        return comes

    # -- order

    def _judged(self, read: TracedRead, change: Change, calls: list[Way], changes: list[Change]) -> Stale | None:
        within = None if read.parameter else read.variable.home
        ways = self.chains.to(change.spot, change.scope, change.meant, within)
        meets = False
        later = []
        for way in ways:
            mine = [(call, chain) for call, chain in calls if _same_object(way, chain, read, change)]
            meets = meets or any(chain.spots[0].home == way.spots[0].home for _, chain in mine)
            makes = self.calls.makes(way, read)
            pair = self._in_order(way, mine, makes)
            if pair is not None:
                return self._stale(read, change, pair, _known(read, change, changes))
            pair = self._in_loop(way, mine, makes, change, changes)
            if pair is not None:
                anew = any(before(way, chain) for call, chain in mine if call is pair[0])
                return self._stale(read, change, pair, None if anew else _known(read, change, changes))
            if not any(before(way, made) for made in makes):
                later.append(way)
        if not meets and any(self._may_come_later(way, read, change) for way in later):
            return self._stale(read, change, None, _known(read, change, changes))
        return None

    def _in_order(self, way: Chain, calls: list[Way], makes: list[Chain]) -> Pair | None:
        """A call before the change and one after it, of the same function."""
        earlier = [call for call, chain in calls if before(chain, way)]
        for first in earlier:
            for second, chain in calls:
                anew = any(before(way, made) and before(made, chain) for made in makes)
                if before(way, chain) and not anew and self.calls.share_a_trace(first, second):
                    return first, second
        return None

    def _in_loop(
        self, way: Chain, calls: list[Way], makes: list[Chain], change: Change, changes: list[Change]
    ) -> Pair | None:
        """A call that a loop repeats together with the change."""
        for call, chain in calls:
            for loop in common_loops(way, chain):
                if any(inside(made, loop, way) for made in makes):
                    continue
                if change.literal is not None and before(way, chain):
                    others = (one for one in changes if one is not change)
                    ways = (other for one in others for other in self.chains.to(one.spot, one.scope, one.meant))
                    if not any(inside(other, loop, way) for other in ways):
                        continue  # the same value in every round
                if self.calls.share_a_trace(call, call):
                    return call, call
        return None

    def _may_come_later(self, way: Chain, read: TracedRead, change: Change) -> bool:
        """Is it not in sight who makes the change, so that it may come after a call?"""
        function, meant = way.open, way.meant
        if function is None or function in self.compiled.traced or function.name in MAKING or function.name == "main":
            return False
        if function is read.variable.home or change.fills:
            return False  # as registers are filled
        if change.meant is None or meant is None:
            return change.meant is None
        if not read.parameter:
            return meant.root == read.variable.root
        own = self.compiled.own_object == read.variable.name and meant.path[:1] == read.variable.path[:1]
        return own and function.parent is self.compiled.function.parent

    def _while_traced(self, read: TracedRead, change: Change, ways: list[Way]) -> Stale | None:
        """A number that the traced code itself counts on: that happens once for each trace."""
        if change.scope not in self.compiled.code.scopes or change.meant is not None:
            return None
        statement = change.spot.steps[-1].statement if change.spot.steps else None
        value = statement.value if isinstance(statement, (ast.Assign, ast.AugAssign)) else None
        if value is None:
            return None
        if number(self.changes.value(value, change.scope)) is None and not _counts(value, read.variable.name):
            return None
        repeated = next((call for call, chain in ways if any(spot.loops for spot in chain.spots)), None)
        if repeated is None and len(ways) < 2:
            return None
        pair = (ways[0][0], ways[1][0]) if repeated is None else (repeated, repeated)
        return self._stale(read, change, pair, None, while_traced=True)

    def _stale(
        self, read: TracedRead, change: Change, pair: Pair | None, known: str | None, *, while_traced: bool = False
    ) -> Stale:
        scope = read.read.scope.owner()
        first, later = (Mark(call.scope.chunk, call.node) for call in pair) if pair is not None else (None, None)
        again = next(iter(self.compiled.sites[1:]), None) if pair is not None else None
        value = self.changes.value(read.node, read.read.scope)
        return Stale(
            self.compiled.code.site,
            read.name,
            Mark(read.read.scope.chunk, read.node),
            None if scope is self.compiled.function else scope,
            read.via,
            Mark(change.scope.chunk, change.node),
            change.scope.owner(),
            first,
            later,
            known,
            Mark(again.scope.chunk, again.node) if again is not None else None,
            while_traced,
            isinstance(value, Array) and (value.dtype or "").startswith("key"),
        )


def _same_object(way: Chain, chain: Chain, read: TracedRead, change: Change) -> bool:
    """Do a change and a call speak of the same thing?"""
    if change.meant is None:
        return True
    meant = chain.meant if read.parameter else read.variable
    if way.meant is None or meant is None or way.meant.root != meant.root:
        return False
    return overlap(way.meant, meant)


def _known(read: TracedRead, change: Change, changes: list[Change]) -> str | None:
    """The number that it was before, when only one other statement assigns one."""
    others = [one for one in changes if one is not change]
    if read.variable.path or len(others) != 1 or others[0].spot.loops or others[0].spot.home != read.variable.home:
        return None
    literal = others[0].literal
    return None if literal is None else repr(literal[1])


def _counts(node: ast.expr, name: str) -> bool:
    """Is it the old number and others written out, as in `calls + 1`?"""
    return all(
        isinstance(one, (ast.BinOp, ast.operator, ast.expr_context, ast.Constant))
        or (isinstance(one, ast.Name) and one.id == name)
        for one in ast.walk(node)
    )
