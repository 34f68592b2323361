"""What of a captured value is left to be a constant: NumPy computes at once, so only its last result stays."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.frames import Frame
from jaxscope.semantics.scopes import Scope, facts_of
from jaxscope.semantics.values import UNKNOWN, Array, Const, External, Scalar, Sequence, Value
from jaxscope.semantics.vocabulary import LOOKS_ONLY, METADATA

if TYPE_CHECKING:
    from jaxscope.semantics.evaluate import Evaluator

_KEPT = (ast.Assign, ast.AnnAssign, ast.Return, ast.NamedExpr)


def outermost(ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame) -> ast.expr:
    """The largest expression around `node` that NumPy or Python computes while tracing."""
    parents = facts_of(scope.chunk).parents
    while True:
        parent = parents.get(id(node))
        if not isinstance(parent, ast.expr) or isinstance(parent, (ast.Lambda, ast.IfExp, ast.NamedExpr)):
            return node
        if isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return node
        if isinstance(parent, (ast.Slice, ast.Tuple, ast.List, ast.Starred)) or _inside_key(parent, node):
            return node
        if not _computed(ev.evaluate(parent, scope, frame), ev, parent, scope, frame):
            return node
        node = parent


def _inside_key(parent: ast.expr, node: ast.expr) -> bool:
    return isinstance(parent, ast.Subscript) and parent.slice is node


def _computed(value: Value, ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame) -> bool:
    if isinstance(value, Array):
        return value.library == "numpy"
    if isinstance(value, (Scalar, Const)):
        return True
    if isinstance(node, ast.Attribute):
        return isinstance(facts_of(scope.chunk).parents.get(id(node)), ast.Call)
    return isinstance(node, ast.Call) and _is_numpy(ev.evaluate(node.func, scope, frame))


def _is_numpy(value: Value) -> bool:
    return isinstance(value, External) and value.name.startswith("numpy.")


def what_stays(ev: Evaluator, node: ast.expr, value: Value, scope: Scope, frame: Frame) -> Value | None:
    """What becomes a constant where `node`, whose value is `value`, is read; None when nothing of it does."""
    parent = facts_of(scope.chunk).parents.get(id(node))
    if isinstance(parent, ast.Call) and parent.func is not node and _only_looks(ev, parent, scope, frame):
        return None
    if isinstance(parent, ast.Attribute) and parent.attr in METADATA:
        return None
    if isinstance(parent, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops):
        return None
    if isinstance(value, Sequence) and isinstance(parent, ast.Compare):
        return None
    if not isinstance(value, Array) or value.library != "numpy":
        return value
    top = outermost(ev, node, scope, frame)
    if top is node:
        return value
    above = facts_of(scope.chunk).parents.get(id(top))
    if isinstance(above, ast.Call) and above.func is not top and _only_looks(ev, above, scope, frame):
        return None
    result = ev.evaluate(top, scope, frame)
    return result if isinstance(result, Array) and not result.made else None


def _only_looks(ev: Evaluator, call: ast.Call, scope: Scope, frame: Frame) -> bool:
    function = ev.evaluate(call.func, scope, frame)
    return isinstance(function, External) and function.name.removeprefix("builtins.") in LOOKS_ONLY


def used_on_the_spot(node: ast.expr, scope: Scope) -> bool:
    """Is the value neither given a name nor returned?"""
    parent = facts_of(scope.chunk).parents.get(id(node))
    return isinstance(parent, ast.expr) and not isinstance(parent, _KEPT)


def ends_in_traced_code(ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame) -> bool:
    """Does the value meet traced code here, rather than being kept under another name or returned?"""
    top = outermost(ev, node, scope, frame)
    parent = facts_of(scope.chunk).parents.get(id(top))
    if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        return False
    if isinstance(parent, ast.Return):
        return top is node
    return isinstance(parent, ast.expr) and ev.evaluate(top, scope, frame) != UNKNOWN
