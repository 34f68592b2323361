"""What an expression in a loop or comprehension is worth in each turn, where the turns are known one by one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.operations import unpacked
from jaxscope.semantics.evaluation.values import UNKNOWN, Const, External, Sequence, Value, leaves
from jaxscope.semantics.names.scopes import Binding, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_MOST_TURNS = 24


def each_turn(
    ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame, loop: ast.For | ast.comprehension
) -> tuple[Value, ...] | None:
    """Values of `node` turn by turn; None where the turns are not known, or `node` is the same array in all of them."""
    if not _is_vague(ev.evaluate(node, scope, frame)):
        return None
    items = _items(ev, loop.iter, scope, frame)
    if items is None or len(items) > _MOST_TURNS:
        return None
    found = []
    bindings = _bindings(scope, loop)
    begun: dict[object, Value] = {
        key: value for key, value in frame.cache.items() if value is UNKNOWN and isinstance(key, Binding)
    }
    for item in items:
        turn = Frame(frame.scope, frame.model, frame.parent, frame.parameters, traced=frame.traced, depth=frame.depth)
        turn.cache.update(begun)
        for binding in bindings:
            value = item
            for step in binding.path:
                value = unpacked(value, step)
            turn.cache[binding] = value
        found.append(ev.evaluate(node, scope, turn))
    return tuple(found)


def _is_vague(value: Value) -> bool:
    """Has it arrays whose sizes are not known?"""
    return any(array.shape is None or None in array.shape for _, array, _ in leaves(value))


def _bindings(scope: Scope, loop: ast.For | ast.comprehension) -> list[Binding]:
    around = [binding for at in scope.around() for many in at.bindings.values() for binding in many]
    return [binding for binding in around if binding.kind == "iteration" and binding.value is loop.iter]


def _items(ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame) -> tuple[Value, ...] | None:
    value = ev.evaluate(node, scope, frame)
    if isinstance(value, Sequence) and value.items is not None:
        return value.items
    if isinstance(node, ast.Call) and ev.evaluate(node.func, scope, frame) == External("builtins.range"):
        given = [ev.evaluate(one, scope, frame) for one in node.args]
        numbers = [one.value for one in given if isinstance(one, Const) and isinstance(one.value, int)]
        if len(numbers) == len(given) and 0 not in numbers[2:]:
            return tuple(Const(number) for number in range(*numbers)[: _MOST_TURNS + 1])
    return None
