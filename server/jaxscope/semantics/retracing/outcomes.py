"""What becomes of the value of an expression: called at once, called by a name, returned, stored, handed on."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.values import External
from jaxscope.semantics.names.scopes import Block, Scope, facts_of
from jaxscope.semantics.vocabulary import transform

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_STAGES = frozenset(("lower", "trace", "eval_shape", "clear_cache", "init"))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the value."""

    node: ast.Call
    scope: Scope
    block: Block


@dataclass(slots=True)
class Outcome:
    """What becomes of a value."""

    calls: list[Call] = field(default_factory=list)
    returned: bool = False
    """By the function around it."""
    kept: bool = False
    """In an attribute, a container, a global, or by somebody who was given it."""
    name: ast.expr | None = None
    """The name that it is given."""
    seen: set[int] = field(default_factory=set)
    """Trees that were followed."""


def outcome(ev: Evaluator, node: ast.expr, scope: Scope, block: Block) -> Outcome:
    """What becomes of an expression's value."""
    found = Outcome()
    _follow(ev, node, scope, block, found)
    return found


def outcome_of_definition(ev: Evaluator, node: ast.AST, scope: Scope) -> Outcome:
    """What becomes of a function by its name; `scope` is where the definition stands."""
    found = Outcome()
    _named(ev, getattr(node, "name", ""), scope, found)
    return found


def _follow(ev: Evaluator, node: ast.expr, scope: Scope, block: Block, found: Outcome) -> None:
    if id(node) in found.seen:
        return  # `f = jax.vmap(f)`
    found.seen.add(id(node))
    parent = facts_of(scope.chunk).parents.get(id(node))
    if isinstance(parent, ast.Call) and parent.func is node:
        found.calls.append(Call(parent, scope, block))
    elif isinstance(parent, ast.Call):
        _given(ev, parent, scope, block, found)
    elif isinstance(parent, ast.Attribute):
        found.kept = found.kept or parent.attr not in _STAGES
    elif isinstance(parent, ast.IfExp) and parent.test is not node:
        _follow(ev, parent, scope, block, found)
    elif isinstance(parent, ast.NamedExpr):
        _assigned(ev, [parent.target], None, scope, found)
        _follow(ev, parent, scope, block, found)
    elif isinstance(parent, (ast.Return, ast.Lambda, ast.Yield)):
        found.returned = True
    elif isinstance(parent, (ast.Assign, ast.AnnAssign)):
        targets: list[ast.expr] = [*parent.targets] if isinstance(parent, ast.Assign) else [parent.target]
        _assigned(ev, targets, None, scope, found)
    elif isinstance(parent, (ast.Tuple, ast.List)):
        _in_tuple(ev, parent, node, scope, found)
    elif not isinstance(parent, ast.Expr):
        found.kept = True


def _given(ev: Evaluator, call: ast.Call, scope: Scope, block: Block, found: Outcome) -> None:
    """An argument: of a transform, whose result goes on in its place, or of anything else."""
    callee = ev.evaluate(call.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
    entry = transform(callee.name) if isinstance(callee, External) else None
    if entry is None:
        found.kept = True
    elif not entry.loop and not entry.traces_only:
        _follow(ev, call, scope, block, found)


def _in_tuple(ev: Evaluator, parent: ast.Tuple | ast.List, node: ast.expr, scope: Scope, found: Outcome) -> None:
    around = facts_of(scope.chunk).parents.get(id(parent))
    if isinstance(around, ast.Return):
        found.returned = True
    elif isinstance(around, ast.Assign):
        _assigned(ev, around.targets, parent.elts.index(node), scope, found)
    else:
        found.kept = True


def _assigned(ev: Evaluator, targets: list[ast.expr], index: int | None, scope: Scope, found: Outcome) -> None:
    for target in targets:
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        if index is not None and index < len(names) and names[0] is not target:
            names = [names[index]]
        for one in names:
            if isinstance(one, ast.Name):
                found.name = one
                _named(ev, one.id, scope, found)
            else:
                found.kept = True


def _named(ev: Evaluator, name: str, scope: Scope, found: Outcome) -> None:
    owner = scope.owner()
    if name in owner.globals or name in owner.nonlocals or owner.kind == "class":
        found.kept = True
        return
    for inner in owner.walk():
        for read in inner.reads:
            if read.name == name and ev.owner(name, inner) is owner:
                _follow(ev, read.node, inner, read.block, found)
