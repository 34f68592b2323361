"""Which names and expressions differ from one iteration of a loop to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.semantics.names.loops import repeats
from jaxscope.semantics.names.scopes import Binding, Block, Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop or comprehension around a place."""

    node: ast.AST
    scope: Scope
    """Whose names it binds: of a comprehension its own."""
    number: int
    """Block of its body; 0 for a comprehension."""

    @property
    def first(self) -> ast.expr | None:
        """What it runs over; None for `while`."""
        if isinstance(self.node, (ast.For, ast.AsyncFor)):
            return self.node.iter
        if isinstance(self.node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return self.node.generators[0].iter
        return None


def loops_around(scope: Scope, block: Block) -> list[Loop]:
    """The loops of a function that repeat a place of `scope`, in that block, from the innermost outwards."""
    found: list[Loop] = []
    while True:
        facts = facts_of(scope.chunk)
        for at in reversed(range(len(block))):
            inside = [(facts.bodies[n], n in scope.loops) for n in block[at + 1 :] if n in facts.bodies]
            if block[at] in scope.loops and repeats(facts.loops[block[at]], inside):
                found.append(Loop(facts.loops[block[at]], scope.owner(), block[at]))
        if scope.kind != "comprehension" or scope.parent is None or scope.node is None:
            return found
        if repeats(scope.node):
            found.append(Loop(scope.node, scope, 0))
        scope, block = scope.parent, _block_of(scope)


def _block_of(comprehension: Scope) -> Block:
    """Block of the scope around in which a comprehension stands: that of the first name or call in it."""
    outer, facts = comprehension.parent, facts_of(comprehension.chunk)
    at: ast.AST | None = comprehension.node
    while outer is not None and at is not None:
        for call, block in outer.calls:
            if call is at:
                return block
        if id(at) in facts.blocks:
            return facts.blocks[id(at)]
        if isinstance(at, ast.stmt):
            return _block_of_statement(outer, at)
        at = facts.parents.get(id(at))
    return ()


def _block_of_statement(scope: Scope, statement: ast.stmt) -> Block:
    names = {id(node) for node in ast.walk(statement)}
    for bindings in scope.bindings.values():
        for binding in bindings:
            if id(binding.node) in names:
                return binding.block
    return next((read.block for read in scope.reads if id(read.node) in names), ())


def bindings_in(loop: Loop) -> dict[str, list[Binding]]:
    """What a loop binds anew each time it runs."""
    found: dict[str, list[Binding]] = {}
    for name, bindings in loop.scope.bindings.items():
        inside = [one for one in bindings if _is_inside(one, loop)]
        if inside:
            found[name] = inside
    return found


def _is_inside(binding: Binding, loop: Loop) -> bool:
    if not loop.number:
        return True
    return loop.number in binding.block or (binding.kind == "iteration" and binding.value is loop.first)


def varying_names(ev: Evaluator, loop: Loop) -> dict[str, list[Binding]]:
    """Names of a loop that may have another value in the next iteration."""
    ev.look_at(loop.scope)
    bound = bindings_in(loop)
    return {name: bindings for name, bindings in bound.items() if any(_varies(one, bound) for one in bindings)}


def _varies(binding: Binding, bound: dict[str, list[Binding]]) -> bool:
    if binding.kind not in ("assign", "def") or binding.value is None:
        return binding.kind in ("iteration", "augmented", "with", "other", "assign")
    return not isinstance(binding.value, ast.Constant)


def names_in(node: ast.AST) -> Iterator[str]:
    """Names read in an expression."""
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
