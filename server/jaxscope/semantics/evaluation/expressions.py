"""What each kind of expression evaluates to, given the values of its parts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxscope.semantics.evaluation import assigned, calls, objects
from jaxscope.semantics.evaluation.arrays import (
    Slice,
    as_array,
    elementwise,
    index,
    matmul,
    permuted,
    shape_value,
    size_bytes,
)
from jaxscope.semantics.evaluation.filled import names_each
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.operations import (
    folded,
    is_none,
    length,
    number_kind,
    sequence_operation,
    sliced_sequence,
)
from jaxscope.semantics.evaluation.turns import each_turn
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Made,
    Mapping,
    Method,
    ModuleValue,
    PartialValue,
    Scalar,
    Sequence,
    Tracer,
    Transformed,
    Tree,
    Value,
    join,
)
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.vocabulary import CONSTANTS, canonical

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator


def outside(name: str) -> Value:
    """What a dotted name from outside the project stands for."""
    name = canonical(name)
    return Const(CONSTANTS[name]) if name in CONSTANTS else External(name)


def _constant(ev: Evaluator, node: ast.Constant, scope: Scope, frame: Frame) -> Value:
    return Const(node.value)


def _name(ev: Evaluator, node: ast.Name, scope: Scope, frame: Frame) -> Value:
    return ev.lookup(node.id, scope, frame, node)


def _named_expr(ev: Evaluator, node: ast.NamedExpr, scope: Scope, frame: Frame) -> Value:
    return ev.evaluate(node.value, scope, frame)


def _await(ev: Evaluator, node: ast.Await, scope: Scope, frame: Frame) -> Value:
    return UNKNOWN


def _tuple(ev: Evaluator, node: ast.Tuple | ast.List, scope: Scope, frame: Frame) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            inner = ev.evaluate(item.value, scope, frame)
            if not isinstance(inner, Sequence) or inner.items is None:
                return TRACER if inner is TRACER else Sequence(None)
            items += inner.items
        else:
            items.append(ev.evaluate(item, scope, frame))
    return Sequence(tuple(items))


def _dict(ev: Evaluator, node: ast.Dict, scope: Scope, frame: Frame) -> Value:
    items: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        inner = ev.evaluate(value, scope, frame)
        if key is None:
            if isinstance(inner, Mapping):
                items.update(inner.items)
            continue
        name = ev.evaluate(key, scope, frame)
        if isinstance(name, Const):
            items[name.value] = inner
    return Mapping(tuple(items.items()))


def _list_comp(ev: Evaluator, node: ast.ListComp | ast.GeneratorExp, scope: Scope, frame: Frame) -> Value:
    inner = frame.model.scope_of(scope, node)
    if inner is None:
        return UNKNOWN
    count: int | None = 1
    for generator in node.generators:
        many = length(ev.evaluate(generator.iter, scope, frame)) if count is not None else None
        count = None if many is None or count is None or generator.ifs else count * many
    if len(node.generators) == 1 and count is not None:
        values = each_turn(ev, node.elt, inner, frame, node.generators[0])
        if values is not None:
            return Sequence(values)
    return Sequence(None, ev.evaluate(node.elt, inner, frame), count)


def _dict_comp(ev: Evaluator, node: ast.DictComp, scope: Scope, frame: Frame) -> Value:
    inner = frame.model.scope_of(scope, node)
    if inner is None:
        return UNKNOWN
    only = node.generators[0] if len(node.generators) == 1 and not node.generators[0].ifs else None
    count = length(ev.evaluate(only.iter, scope, frame)) if only is not None and names_each(only, node.key) else None
    return Mapping((), ev.evaluate(node.value, inner, frame), count)


def _if_exp(ev: Evaluator, node: ast.IfExp, scope: Scope, frame: Frame) -> Value:
    return join([ev.evaluate(node.body, scope, frame), ev.evaluate(node.orelse, scope, frame)])


def _bool_op(ev: Evaluator, node: ast.BoolOp, scope: Scope, frame: Frame) -> Value:
    return join([ev.evaluate(value, scope, frame) for value in node.values])


def _lambda(ev: Evaluator, node: ast.Lambda, scope: Scope, frame: Frame) -> Value:
    inner = frame.model.scope_of(scope, node)
    return UNKNOWN if inner is None else FunctionValue(inner, frame)


def _unary_op(ev: Evaluator, node: ast.UnaryOp, scope: Scope, frame: Frame) -> Value:
    value = ev.evaluate(node.operand, scope, frame)
    if isinstance(value, Const) and isinstance(value.value, (int, float)):
        if isinstance(node.op, ast.USub):
            return Const(-value.value)
        return Const(not value.value) if isinstance(node.op, ast.Not) else value
    if isinstance(value, Array) and frame.traced and value.library == "jax":
        return TRACER
    return value if isinstance(value, (Array, Scalar, Tracer)) else UNKNOWN


def _bin_op(ev: Evaluator, node: ast.BinOp, scope: Scope, frame: Frame) -> Value:
    left, right = ev.evaluate(node.left, scope, frame), ev.evaluate(node.right, scope, frame)
    if isinstance(left, Const) and isinstance(right, Const):
        return folded(node.op, left.value, right.value)
    if TRACER in (left, right):
        return TRACER
    arrays = [value for value in (left, right) if isinstance(value, Array)]
    if arrays:
        if frame.traced and any(array.library == "jax" for array in arrays):
            return TRACER
        call = ev.library_call([left, right], frame)
        if isinstance(node.op, ast.MatMult):
            return matmul(left, right, call)
        if UNKNOWN in (left, right):
            return Array(None, None, call.library)
        operands = [as_array(v, call) or UNKNOWN if isinstance(v, Sequence) else v for v in (left, right)]
        return elementwise(operands, call, floating=isinstance(node.op, ast.Div))
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return sequence_operation(node.op, left, right)
    if isinstance(left, (Const, Scalar)) and isinstance(right, (Const, Scalar)):
        return Scalar(number_kind(node.op, left, right))
    return UNKNOWN


def _compare(ev: Evaluator, node: ast.Compare, scope: Scope, frame: Frame) -> Value:
    values = [ev.evaluate(value, scope, frame) for value in (node.left, *node.comparators)]
    if TRACER in values:
        return TRACER
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and values[1:] == [Const(None)]:
        return is_none(values[0], isinstance(node.ops[0], ast.Is))
    arrays = [value for value in values if isinstance(value, Array)]
    if arrays and frame.traced and any(array.library == "jax" for array in arrays):
        return TRACER
    if arrays and UNKNOWN not in values:
        return elementwise(values, ev.library_call(values, frame), boolean=True)
    return Scalar("bool") if not arrays else UNKNOWN


def _joined_str(ev: Evaluator, node: ast.JoinedStr, scope: Scope, frame: Frame) -> Value:
    return Scalar("str")


def _slice(ev: Evaluator, node: ast.Slice, scope: Scope, frame: Frame) -> Value:
    bounds = (node.lower, node.upper, node.step)
    start, stop, step = (Const(None) if b is None else ev.evaluate(b, scope, frame) for b in bounds)
    return Slice(start, stop, step)


def _attribute(ev: Evaluator, node: ast.Attribute, scope: Scope, frame: Frame) -> Value:
    return attribute(ev, ev.evaluate(node.value, scope, frame), node.attr, frame)


def attribute(ev: Evaluator, value: Value, name: str, frame: Frame) -> Value:
    """`value.name`."""
    if isinstance(value, External):
        return outside(f"{value.name}.{name}")
    if isinstance(value, ModuleValue):
        found = ev.module_attribute(value.path, name)
        if found == UNKNOWN:
            inner = ev.project.submodule(value.path, name)
            if inner is not None:
                return ModuleValue(inner)
        return assigned.module_global(ev, value.path, name, found)
    if isinstance(value, (Instance, ClassValue)):
        return objects.attribute(ev, value, name)
    if isinstance(value, Array):
        return _array_attribute(ev, value, name, frame)
    if isinstance(value, Tree):
        return value.part(f".{name}")
    if isinstance(value, Sequence) and name in value.fields:
        return value.item(value.fields.index(name))
    if isinstance(value, Transformed) and value.holds(name):
        return value.member(name)
    if isinstance(value, PartialValue) and name == "func":
        return value.target
    if isinstance(value, Method) and value.name == "at[]":
        return Method(value.owner, f"at[].{name}")
    if isinstance(value, (Sequence, Mapping, Made, Method, Const)):
        return Method(value, name)
    return TRACER if value is TRACER else UNKNOWN


def _array_attribute(ev: Evaluator, value: Array, name: str, frame: Frame) -> Value:
    if name == "shape":
        return shape_value(value.shape)
    if name == "dtype":
        return UNKNOWN if value.dtype is None else Const(value.dtype)
    if name == "ndim":
        return Scalar("int") if value.shape is None else Const(len(value.shape))
    if name in ("size", "nbytes"):
        count = size_bytes(Array(value.shape, "int8" if name == "size" else value.dtype, value.library), True)
        return Scalar("int") if count is None else Const(count)
    if name in ("T", "mT"):
        return TRACER if frame.traced and value.library == "jax" else permuted(value, None)
    return Method(value, name)


def _subscript(ev: Evaluator, node: ast.Subscript, scope: Scope, frame: Frame) -> Value:
    return subscript(ev, ev.evaluate(node.value, scope, frame), ev.evaluate(node.slice, scope, frame), frame)


def subscript(ev: Evaluator, value: Value, key: Value, frame: Frame) -> Value:
    """`value[key]`."""
    if isinstance(value, Sequence):
        if isinstance(key, Const) and isinstance(key.value, int):
            return value.item(key.value)
        if isinstance(key, Slice) and value.items is not None:
            return sliced_sequence(value, key)
        return Sequence(None, value.any_item()) if isinstance(key, Slice) else value.any_item()
    if isinstance(value, Mapping):
        known = isinstance(key, Const)
        return value.get(key.value) if isinstance(key, Const) and known else join([v for _, v in value.items])
    if isinstance(value, Array):
        items = list(key.items or ()) if isinstance(key, Sequence) else [key]
        if TRACER in items or (frame.traced and value.library == "jax"):
            return TRACER
        return index(value, items)
    if isinstance(value, Method) and value.name == "at":
        return Method(value.owner, "at[]")
    if isinstance(value, ModuleValue) and isinstance(key, Const):
        return ev.module_attribute(value.path, str(key.value))  # `globals()[key]`
    if isinstance(value, Tree) and isinstance(key, Const):
        return value.part(f"[{key.value!r}]")
    return TRACER if value is TRACER else UNKNOWN


def _call(ev: Evaluator, node: ast.Call, scope: Scope, frame: Frame) -> Value:
    return calls.evaluate_call(ev, node, scope, frame)


HANDLERS: dict[type[ast.expr], Callable[[Evaluator, Any, Scope, Frame], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.NamedExpr: _named_expr,
    ast.Await: _await,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Dict: _dict,
    ast.ListComp: _list_comp,
    ast.GeneratorExp: _list_comp,
    ast.DictComp: _dict_comp,
    ast.IfExp: _if_exp,
    ast.BoolOp: _bool_op,
    ast.Lambda: _lambda,
    ast.UnaryOp: _unary_op,
    ast.BinOp: _bin_op,
    ast.Compare: _compare,
    ast.JoinedStr: _joined_str,
    ast.Slice: _slice,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
"""What evaluates an expression, by the type of its tree; any other expression is unknown."""
