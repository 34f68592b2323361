"""Whether code runs more than once: in a loop or comprehension, or because its function is called again."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.compiled.varying import loops_around
from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.names.scopes import Block, Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Again:
    """Why a place runs more than once."""

    why: Literal["loop", "called in a loop", "called several times", "called from outside"]
    """`called from outside`: nobody in sight calls the function around it, so that it may be called any number of
    times."""
    at: Mark
    """The loop or comprehension; the call, the second of several; the function that nobody calls."""
    through: tuple[Scope, ...] = ()
    """Functions whose calls lead there, from the place outwards."""

    @property
    def is_certain(self) -> bool:
        """Does the file show that it runs more than once (if it runs at all)?"""
        return self.why != "called from outside"


def runs_again(ev: Evaluator, scope: Scope, block: Block, node: ast.AST) -> Again | None:
    """Why a place of `scope`, in that block, runs more than once; None when nothing says so, as at module level."""
    return _again(ev, scope, block, node, ())


def _again(ev: Evaluator, scope: Scope, block: Block, node: ast.AST, through: tuple[Scope, ...]) -> Again | None:
    loop = loop_around(scope, block, node)
    if loop is not None:
        return Again("called in a loop" if through else "loop", loop, through)
    owner = scope.owner()
    if owner.kind == "class":
        outer = owner.parent or owner
        return _again(ev, outer, block_of_definition(owner), owner.node or node, through)
    if not owner.is_function or owner in through or len(through) >= _DEEPEST:
        return None
    return _called_again(ev, owner, (*through, owner))


def _called_again(ev: Evaluator, function: Scope, through: tuple[Scope, ...]) -> Again | None:
    model = ev.model_of(function.module_part())
    calls = objects.calls_of(ev, function, ev.generic_frame(function, model))
    calls = [(call, where) for call, where in calls if function not in where.around()]
    if len(calls) > 1:
        call, where = sorted(calls, key=lambda one: model.place_key(one[1], one[0]))[1]
        return Again("called several times", Mark(where.chunk, call), through)
    if not calls:
        assert function.node is not None
        return Again("called from outside", Mark(function.chunk, function.node), through)
    call, where = calls[0]
    return _again(ev, where, block_of(where, call), call, through)


def loop_around(scope: Scope, block: Block, node: ast.AST) -> Mark | None:
    """The innermost comprehension or loop of the function that repeats a place of `scope`, in that block."""
    loops = loops_around(scope, block)
    return Mark(scope.chunk, loops[0].node) if loops else None


def outermost_loop(scope: Scope, block: Block) -> ast.AST | None:
    """The outermost loop of the function around a place of `scope`, in that block."""
    loops = [number for number in block if number in scope.loops]
    return facts_of(scope.chunk).loops[loops[0]] if loops else scope.node if scope.kind == "comprehension" else None


def block_of(scope: Scope, call: ast.Call) -> Block:
    """Block in which a call of `scope` stands."""
    return next((block for one, block in scope.calls if one is call), ())


def block_of_definition(scope: Scope) -> Block:
    """Block in which a def or class stands, in the scope around it."""
    outer = scope.parent
    bindings = outer.bindings.get(scope.name, []) if outer is not None else []
    return next((binding.block for binding in bindings if binding.node is scope.node), ())
