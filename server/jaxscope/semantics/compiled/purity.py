"""What of a captured value is left to be a constant: NumPy computes at once, so only its last result stays."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    Const,
    External,
    FunctionValue,
    Scalar,
    Sequence,
    Value,
)
from jaxscope.semantics.names.scopes import Read, Scope, facts_of
from jaxscope.semantics.vocabulary import ITERATES, LOOKS_ONLY, METADATA

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_DEEPEST = 3
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
    if isinstance(parent, ast.Call) and parent.func is not node and _only_looks(ev, parent, node, scope, frame):
        return None
    if _is_dropped(ev, parent, node, scope):
        return None
    if isinstance(parent, ast.Attribute) and parent.attr in METADATA:
        return None
    if isinstance(parent, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops):
        return None
    if isinstance(value, Sequence) and isinstance(parent, ast.Compare):
        return None
    if not isinstance(value, Array) or value.library != "numpy":
        return value
    if _iterated(ev, parent, node, scope, frame):
        return None
    top = outermost(ev, node, scope, frame)
    if top is node:
        return value
    above = facts_of(scope.chunk).parents.get(id(top))
    if isinstance(above, ast.Call) and above.func is not top and _only_looks(ev, above, top, scope, frame):
        return None
    result = ev.evaluate(top, scope, frame)
    return result if isinstance(result, Array) and not result.made else None


def _is_dropped(ev: Evaluator, parent: ast.AST | None, node: ast.expr, scope: Scope) -> bool:
    """Is the value given to local names that nobody reads, or to none?"""
    if isinstance(parent, ast.Tuple | ast.List):
        around = facts_of(scope.chunk).parents.get(id(parent))
        targets = around.targets if isinstance(around, ast.Assign) else []
        if len(targets) != 1 or not isinstance(targets[0], ast.Tuple | ast.List):
            return False
        if len(targets[0].elts) != len(parent.elts) or any(isinstance(one, ast.Starred) for one in targets[0].elts):
            return False
        return _is_unread(ev, targets[0].elts[parent.elts.index(node)], scope)
    if isinstance(parent, ast.Assign):
        return all(_is_unread(ev, target, scope) for target in parent.targets)
    return isinstance(parent, ast.Expr)


def _is_unread(ev: Evaluator, target: ast.expr, scope: Scope) -> bool:
    owner = scope.owner()
    if not isinstance(target, ast.Name) or not owner.is_function or target.id in owner.globals | owner.nonlocals:
        return False
    if any(binding.kind == "augmented" for binding in owner.bindings.get(target.id, ())):
        return False
    reads = (inner for inner in owner.walk() for read in inner.reads if read.name == target.id)
    return all(ev.owner(target.id, inner) is not owner for inner in reads)


def _iterated(ev: Evaluator, parent: ast.AST | None, node: ast.expr, scope: Scope, frame: Frame) -> bool:
    """Does Python take it apart? What is in a NumPy array are numbers, or smaller arrays that are met where they go."""
    if isinstance(parent, (ast.For, ast.AsyncFor)):
        return parent.iter is node
    if isinstance(parent, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return any(generator.iter is node for generator in parent.generators)
    if isinstance(parent, ast.Call) and parent.func is not node:
        function = ev.evaluate(parent.func, scope, frame)
        return isinstance(function, External) and function.name.removeprefix("builtins.") in ITERATES
    return False


def _only_looks(ev: Evaluator, call: ast.Call, node: ast.expr, scope: Scope, frame: Frame, depth: int = 0) -> bool:
    """Does what is called need none of the elements of its argument `node`?"""
    if depth > _DEEPEST:
        return False
    function = ev.evaluate(call.func, scope, frame)
    at = next((number for number, argument in enumerate(call.args) if argument is node), None)
    if isinstance(function, External):
        name = function.name.removeprefix("builtins.")
        if name == "jax.tree_util.tree_map" and at:
            return _looks_at(ev, ev.evaluate(call.args[0], scope, frame), at - 1, depth)
        return name in LOOKS_ONLY
    keyword = next((keyword.arg for keyword in call.keywords if keyword.value is node), None)
    return _looks_at(ev, function, at if at is not None else keyword, depth)


def _looks_at(ev: Evaluator, function: Value, which: int | str | None, depth: int) -> bool:
    """Does `function` need none of the elements of its argument number, or called, `which`?"""
    if isinstance(function, External):
        return function.name.removeprefix("builtins.") in LOOKS_ONLY
    if not isinstance(function, FunctionValue) or which is None:
        return False
    scope = function.scope
    names = parameters(scope.function_node)[function.bound is not None :]
    if isinstance(which, int):
        which = names[which] if which < len(names) else ""
    if which not in names:
        return False
    ev.look_at(scope)
    inner = Frame(scope, function.frame.model, function.frame, dict.fromkeys(parameters(scope.function_node), TRACER))
    reads = [read for one in scope.walk() for read in one.reads if read.name == which and ev.owner(which, one) is scope]
    return all(_is_look(ev, read, inner, depth) for read in reads)


def _is_look(ev: Evaluator, read: Read, frame: Frame, depth: int) -> bool:
    if read.links:
        first = read.links[0]
        return isinstance(first, ast.Attribute) and first.attr in METADATA
    parent = facts_of(read.scope.chunk).parents.get(id(read.node))
    return (
        isinstance(parent, ast.Call)
        and parent.func is not read.node
        and _only_looks(ev, parent, read.node, read.scope, frame, depth + 1)
    )


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
