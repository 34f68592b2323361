"""Is what traced code stores a tracer? What depends on an argument is, and whatever JAX computes meanwhile."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.scopes import Scope, facts_of
from jaxscope.semantics.traced_frames import TracedFrames
from jaxscope.semantics.values import TRACER, UNKNOWN, Array, Const, External, Scalar, Value
from jaxscope.semantics.vocabulary import LOOKS_ONLY, METADATA

if TYPE_CHECKING:
    from jaxscope.semantics.evaluate import Evaluator

Stored = Literal["tracer", "plain", "unknown"]
_AT_ONCE = "ensure_compile_time_eval"
_UNTRACED = frozenset(("builtins.str", "builtins.repr", "builtins.id", "builtins.dir", "builtins.format"))


class Values:
    """Of one compiled function's traced code."""

    def __init__(self, ev: Evaluator, frames: TracedFrames) -> None:
        self.ev = ev
        self.frames = frames

    def stored(self, values: tuple[ast.expr, ...], scope: Scope) -> Stored:
        """What is stored where all of `values` are."""
        if not values:
            return "plain"
        if self.computes_at_once(scope.owner()):
            return "unknown"
        if any(self.is_traced(value, scope) for value in values):
            return "tracer"
        known = all(self._is_plain(value, scope) for value in values)
        return "plain" if known else "unknown"

    def computes_at_once(self, function: Scope) -> bool:
        """Does it ask JAX to compute with values while it is traced?"""
        return any(
            (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) == _AT_ONCE
            for call, _ in function.calls
        )

    def is_traced(self, node: ast.expr, scope: Scope) -> bool:
        """Is it, or has it in it, a tracer?"""
        value = self._value(node, scope)
        if value is TRACER:
            return True
        if isinstance(value, (Const, Scalar)) or (isinstance(value, Array) and value.library == "numpy"):
            return False
        if isinstance(node, ast.Attribute) and node.attr in METADATA:
            return False
        if isinstance(node, (ast.Lambda, ast.Constant, ast.Name)):
            return False
        if isinstance(node, ast.Attribute):
            return self.is_traced(node.value, scope) and value == UNKNOWN
        if isinstance(node, ast.Call):
            function = self._value(node.func, scope)
            if isinstance(function, External):
                name = function.name
                if name in _UNTRACED or name.removeprefix("builtins.") in LOOKS_ONLY:
                    return False
            called = node.func.value if isinstance(node.func, ast.Attribute) else None
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            return any(self.is_traced(one, scope) for one in (*given, *([called] if called is not None else [])))
        inner = facts_of(scope.chunk).by_node.get(id(node), scope)
        return any(self.is_traced(one, inner) for one in _parts(node))

    def _is_plain(self, node: ast.expr, scope: Scope) -> bool:
        value = self._value(node, scope)
        return value not in (UNKNOWN, TRACER)

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        return self.ev.evaluate(node, scope, self.frames.frame(scope))


def _parts(node: ast.AST) -> list[ast.expr]:
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(child)
        elif not isinstance(child, ast.expr_context):
            found += _parts(child)
    return found
