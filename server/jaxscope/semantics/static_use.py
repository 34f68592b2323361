"""What a function does with a parameter that is marked static: arithmetic that arrays could do as well, or something
that needs the value itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.arguments import parameters
from jaxscope.semantics.scopes import Read, Scope, facts_of
from jaxscope.semantics.values import External, FunctionValue
from jaxscope.semantics.vocabulary import transform, words

if TYPE_CHECKING:
    from jaxscope.semantics.evaluate import Evaluator

Use = Literal["array", "value", "unknown"]
_DEEPEST = 4
_ARITHMETIC = (ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_SHAPING = frozenset(
    words(
        "zeros ones full empty arange linspace logspace eye identity tri reshape broadcast_to tile repeat split roll "
        "array_split expand_dims squeeze moveaxis swapaxes transpose sum mean max min argmax argmin concatenate stack "
        "pad resize norm take one_hot top_k fft ifft rfft irfft cumsum sort argsort iota zeros_like ones_like indices "
        "full_like broadcasted_iota PRNGKey key make_mesh diag rot90 hstack vstack unstack nonzero"
    )
)
"""Functions of arrays of which some argument is a size, an axis or a seed."""


def use_of(ev: Evaluator, function: Scope, name: str, depth: int = 0) -> Use:
    """What a parameter is needed for; where it is used in several ways, the one that needs most."""
    ev.look_at(function)
    found: Use = "array"
    for inner in function.walk():
        for read in inner.reads:
            if read.name == name and ev.owner(name, inner) is function:
                one = _use(ev, read, inner, depth)
                if one == "value":
                    return one
                found = one if one == "unknown" else found
    return found


def _use(ev: Evaluator, read: Read, scope: Scope, depth: int) -> Use:
    return "value" if read.links else use_of_expression(ev, read.node, scope, depth)


def use_of_expression(ev: Evaluator, node: ast.expr, scope: Scope, depth: int = 0) -> Use:
    """What the value of an expression in `scope` is needed for."""
    parents = facts_of(scope.chunk).parents
    while True:
        parent = parents.get(id(node))
        if isinstance(parent, ast.UnaryOp | ast.BinOp) and isinstance(parent.op, _ARITHMETIC):
            node = parent
        elif isinstance(parent, ast.Return):
            return "array"
        elif isinstance(parent, ast.Call) and parent.func is not node:
            return _given(ev, parent, node, scope, depth)
        elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
            owner = scope.owner()
            return use_of(ev, owner, parent.targets[0].id, depth + 1) if depth < _DEEPEST else "unknown"
        elif isinstance(parent, ast.keyword | ast.Expr):
            return "unknown"
        else:
            return "value"


def _given(ev: Evaluator, call: ast.Call, node: ast.expr, scope: Scope, depth: int) -> Use:
    callee = ev.evaluate(call.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
    if isinstance(callee, External):
        if not callee.name.startswith("jax.") or transform(callee.name) is not None:
            return "value"
        return "unknown" if callee.name.rpartition(".")[2] in _SHAPING else "array"
    if isinstance(callee, FunctionValue) and depth < _DEEPEST:
        own = parameters(callee.scope.function_node)[callee.bound is not None :]
        keyword = next((one.arg for one in call.keywords if one.value is node), None)
        index = call.args.index(node) if node in call.args else len(own)
        name = keyword or (own[index] if index < len(own) else None)
        return use_of(ev, callee.scope, name, depth + 1) if name else "unknown"
    return "unknown"
