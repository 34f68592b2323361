"""How a place is reached: the calls that lead there, from where nobody in sight calls any more. Two such chains can be
compared: which comes first in one run, and which loops repeat both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.names.spots import Spot, precedes, spot_of
from jaxscope.semantics.names.variables import (
    Link,
    Variable,
    argument_for,
    chain_of,
    is_parameter_of,
    links_of,
    variable_of,
)
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

_DEEPEST = 6
_MOST = 40


@dataclass(frozen=True, slots=True)
class Chain:
    """One way to a place."""

    spots: tuple[Spot, ...]
    """The calls on the way and the place itself, the outermost first."""
    meant: Variable | None
    """What the object at the place is called at the outermost end; None where nothing was asked for."""

    @property
    def open(self) -> Scope | None:
        """The function at the outermost end, which nobody in sight calls; None for a module."""
        return self.spots[0].scope if self.spots[0].scope.is_function else None


def before(one: Chain, other: Chain) -> bool:
    """Can `one` happen before `other` in one run of what both begin in, loops apart?"""
    for a, b in zip(one.spots, other.spots, strict=False):
        if a.node is not b.node:
            return a.home == b.home and precedes(a, b)
    return False


def common_loops(one: Chain, other: Chain) -> Iterator[tuple[int, ast.AST]]:
    """Loops around both, with the depth at which they stand in the chains."""
    for depth, (a, b) in enumerate(zip(one.spots, other.spots, strict=False)):
        if a.home != b.home:
            return
        yield from ((depth, loop) for loop in a.loops if loop in b.loops)
        if a.node is not b.node:
            return


def inside(chain: Chain, loop: tuple[int, ast.AST], other: Chain) -> bool:
    """Does a loop that is around `other` repeat the place of `chain` as well?"""
    depth, node = loop
    if len(chain.spots) <= depth or any(
        a.node is not b.node for a, b in zip(chain.spots[:depth], other.spots[:depth], strict=True)
    ):
        return False
    return node in chain.spots[depth].loops


class Chains:
    """Finds chains in some files of a project."""

    def __init__(self, ev: Evaluator, models: tuple[FileModel, ...]) -> None:
        self.ev = ev
        self.models = models
        self.in_modules: set[Chunk] = set()
        """Parts of files whose own statements are among the places."""
        self._callers: dict[Scope, list[tuple[ast.Call, Scope]]] = {}

    def spot(self, scope: Scope, node: ast.AST, *, changes: bool = False) -> Spot:
        """A place in its own function."""
        self.ev.look_at(scope)
        if not scope.owner().is_function:
            self.in_modules.add(scope.chunk)
        return spot_of(self.ev.model_of(scope.module_part()), scope, node, changes=changes)

    def to(self, spot: Spot, scope: Scope, meant: Variable | None = None, within: object = None) -> list[Chain]:
        """The ways to a place of `scope`. `meant` is followed to what its caller knows it by; a chain ends at the
        function `within`, each run of which has variables of its own."""
        return list(self._ways((spot,), meant, within))[:_MOST]

    def _ways(self, spots: tuple[Spot, ...], meant: Variable | None, within: object) -> Iterator[Chain]:
        function = spots[0].scope
        own = meant is not None and meant.home is function
        follows = own and meant is not None and is_parameter_of(function, meant.name)
        ends = not function.is_function or function is within or len(spots) > _DEEPEST or (own and not follows)
        callers = [] if ends or any(spot.scope is function for spot in spots[1:]) else self.callers(function)
        if not callers:
            yield Chain(spots, meant)
        for call, where in callers:
            given = meant
            if follows and meant is not None:
                argument = argument_for(call, function, meant.name)
                given = self.named(argument, where, meant.path) if argument is not None else None
                if given is None:
                    continue
            yield from self._ways((self.spot(where, call), *spots), given, within)

    def named(self, node: ast.expr, scope: Scope, path: tuple[Link, ...] = ()) -> Variable | None:
        """The variable that an expression in `scope` stands for, with `path` behind it."""
        chain = chain_of(node)
        if chain is None:
            return None
        return variable_of(self.ev, chain[0].id, (*links_of(chain[1]), *path), scope)

    def callers(self, function: Scope) -> list[tuple[ast.Call, Scope]]:
        """Calls of a function in its own file and in those looked at."""
        found = self._callers.get(function)
        if found is None:
            home = self.ev.model_of(function.module_part())
            found = objects.calls_of(self.ev, function, self.ev.generic_frame(function, home))
            for model in self.models:
                if model is not home and function.name != "<lambda>":
                    found += self._elsewhere(model, function)
            self._callers[function] = found
        return found

    def _elsewhere(self, model: FileModel, function: Scope) -> Iterator[tuple[ast.Call, Scope]]:
        for name in {function.name, *self.ev.other_names(model, function.name)}:
            for call, where in self.ev.calls_named(model, name):
                value = self.ev.evaluate(call.func, where, self.ev.generic_frame(where, model))
                if objects.called_scope(value) is function:
                    yield call, where
