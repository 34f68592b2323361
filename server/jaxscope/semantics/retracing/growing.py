"""Lists and arrays that are longer in each iteration of a loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.compiled.varying import Loop, bindings_in
from jaxscope.semantics.evaluation.filled import changed_elsewhere
from jaxscope.semantics.evaluation.values import External
from jaxscope.semantics.names.scopes import Block, Read, Scope, facts_of
from jaxscope.semantics.vocabulary import EMPTIES

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

JOINING = frozenset(("concatenate", "append", "hstack", "vstack", "column_stack"))
"""Functions whose result is longer than what goes in."""
_ADDING = frozenset(("append", "extend", "insert"))


def grows(ev: Evaluator, node: ast.expr, loop: Loop, scope: Scope, block: Block) -> bool:
    """Is it a list made before the loop that each iteration adds to, or an array that each joins something to? `block`
    is where it is used: where its length is tested first, it may be of one length there."""
    if not isinstance(node, ast.Name) or not loop.number:
        return False
    owner = ev.owner(node.id, scope)
    if owner is None or owner is not loop.scope or _is_rare(scope, block, loop, node.id):
        return False
    ev.look_at(owner)
    bindings = bindings_in(loop).get(node.id, [])
    if any(binding.kind == "assign" for binding in bindings):
        joined = (binding.value is not None and is_joined(ev, node.id, binding.value, scope) for binding in bindings)
        return all(joined)
    model = ev.model_of(scope.module_part())
    before = [one for one in model.bindings_of(node.id, owner) if one not in bindings]
    if not before or not all(isinstance(one.value, ast.List | ast.ListComp) for one in before):
        return False
    if changed_elsewhere(ev, node.id, model):
        return False
    methods = [_method(read) for read in owner.reads if read.name == node.id and loop.number in read.block]
    added = any(one in _ADDING for one in methods) or any(one.kind == "augmented" for one in bindings)
    return added and EMPTIES.isdisjoint(methods)


def is_joined(ev: Evaluator, name: str, value: ast.expr, scope: Scope) -> bool:
    """`jnp.append(name, x)`, `jnp.concatenate([name, xs])`."""
    if not isinstance(value, ast.Call) or not value.args or getattr(value.func, "attr", "") not in JOINING:
        return False
    callee = ev.evaluate(value.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
    if not isinstance(callee, External) or not callee.name.startswith(("jax.numpy.", "numpy.")):
        return False
    first = value.args[0]
    parts = first.elts if isinstance(first, ast.List | ast.Tuple) else value.args
    return any(isinstance(one, ast.Name) and one.id == name for one in parts)


def _method(read: Read) -> str:
    """The method of a list that is called; empty for anything else. To delete or set items is to empty it."""
    link = read.links[0] if read.links else None
    if isinstance(link, ast.Subscript):
        return "clear" if not isinstance(link.ctx, ast.Load) else ""
    parent = facts_of(read.scope.chunk).parents.get(id(link))
    return link.attr if link is not None and isinstance(parent, ast.Call) and parent.func is link else ""


def _is_rare(scope: Scope, block: Block, loop: Loop, name: str) -> bool:
    """Does a test within the loop compare before, with one number, its length or the loop's variable?"""
    inside = block[block.index(loop.number) + 1 :] if loop.number in block else ()
    conditions = facts_of(scope.chunk).conditions
    tests = [conditions[number][0] for number in inside if number in conditions]
    equal = (one for test in tests for one in ast.walk(test) if isinstance(one, ast.Compare))
    equal = (one for one in equal if isinstance(one.ops[0], ast.Eq))
    turn = ast.unparse(loop.node.target) if isinstance(loop.node, ast.For) else ""
    return any(ast.unparse(one.left) == turn or f"len({name})" in ast.unparse(one) for one in equal)
