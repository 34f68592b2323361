"""Calls: of the project's own functions and classes, of transforms, and of library functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from jaxscope.semantics.evaluation import branches, objects
from jaxscope.semantics.evaluation.annotations import annotated
from jaxscope.semantics.evaluation.arguments import Given, arguments, bind, defaults, every_parameter
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    SOMEWHERE,
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Mapping,
    Method,
    PartialValue,
    Scalar,
    Sequence,
    Transformed,
    Tree,
    TupleType,
    Value,
    join,
    number,
)
from jaxscope.semantics.library import calls as library_calls
from jaxscope.semantics.names.methods import has_decorator, is_self
from jaxscope.semantics.names.scopes import Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_DEEPEST = 12
_MOST_CALLS = 8


def evaluate_call(ev: Evaluator, node: ast.Call, scope: Scope, frame: Frame) -> Value:
    """Value of a call expression."""
    callee = ev.evaluate(node.func, scope, frame)
    if callee == UNKNOWN:
        return UNKNOWN
    if isinstance(callee, External) and (result := library_calls.whatever_given(callee.name, frame)) is not None:
        return result
    return call_value(ev, callee, arguments(ev, node, scope, frame), node, frame)


def call_value(ev: Evaluator, callee: Value, given: Given, node: ast.AST, frame: Frame) -> Value:
    """What `callee` gives for arguments."""
    if isinstance(callee, FunctionValue):
        return call_function(ev, callee, given, frame)
    if isinstance(callee, ClassValue):
        return objects.construct(ev, callee, given, frame)
    if isinstance(callee, External):
        return library_calls.call_external(ev, callee.name, given, node, frame)
    if isinstance(callee, Method):
        return library_calls.call_method(ev, callee, given, frame)
    if isinstance(callee, PartialValue):
        keywords = {**dict(callee.keywords), **given.keywords}
        return call_value(ev, callee.target, Given([*callee.args, *given.args], keywords, given.starred), node, frame)
    if isinstance(callee, Instance):
        method = objects.attribute(ev, callee, "__call__")
        return call_value(ev, method, given, node, frame) if isinstance(method, FunctionValue) else UNKNOWN
    if isinstance(callee, TupleType):
        return Sequence(_by_name(given, callee.fields), fields=callee.fields)
    if isinstance(callee, Transformed):
        if frame.traced:
            return TRACER
        if callee.makes_variables:
            return SOMEWHERE
        if callee.transform.name in ("jax.jit", "jax.experimental.pjit.pjit", "jax.checkpoint"):
            result = call_value(ev, callee.target, given, node, frame)
            return result if isinstance(result, (Array, Sequence, Mapping, Tree)) else UNKNOWN
        return UNKNOWN
    if isinstance(callee, Tree) and frame.traced:
        return TRACER
    return TRACER if callee is TRACER else UNKNOWN


def _by_name(given: Given, names: tuple[str, ...]) -> tuple[Value, ...]:
    values = dict(zip(names, given.args, strict=False)) | given.keywords
    return tuple(values.get(name, UNKNOWN) for name in names)


# ---------------------------------------------------------------- the project's functions


def call_function(ev: Evaluator, function: FunctionValue, given: Given, frame: Frame) -> Value:
    """Result of calling a function of the project."""
    scope = function.scope
    if frame.depth > _DEEPEST or scope.is_generator or isinstance(scope.node, ast.AsyncFunctionDef):
        return UNKNOWN
    ev.look_at(scope)
    values = bind(ev, scope, given, function.frame, function.bound)
    key: Any = (scope, function.frame, frame.traced, tuple(values.items()))
    try:
        if key in ev.results:
            return ev.results[key]
    except TypeError:
        key = None
    inner = Frame(scope, function.frame.model, function.frame, values, traced=frame.traced, depth=frame.depth + 1)
    if key is not None:
        ev.results[key] = UNKNOWN
    values_of = [ev.evaluate(value, scope, inner) for value in branches.returned(ev, scope, inner)]
    result = join(values_of) if scope.returns else Const(None)
    if result == UNKNOWN and isinstance(function.bound, Instance) and function.bound.argument:
        result = TRACER
    if key is not None:
        ev.results[key] = result
    return result


def passed(ev: Evaluator, frame: Frame, name: str) -> Value:
    """What every call in sight passes for a parameter of the function of a generic frame."""
    key = ("parameter", name)
    if key in frame.cache:
        return frame.cache[key]
    frame.cache[key] = UNKNOWN
    frame.cache[key] = value = _passed(ev, frame, name)
    return value


def _passed(ev: Evaluator, frame: Frame, name: str) -> Value:
    scope = frame.scope
    owner = scope.parent
    in_class = owner is not None and owner.kind == "class"
    if in_class and owner is not None and is_self(scope, name):
        cls = ClassValue(owner, ev.frame_of(owner, frame))
        return cls if has_decorator(scope, "classmethod") else Instance(cls, None)
    values = []
    for call, where in objects.calls_of(ev, scope, frame)[:_MOST_CALLS]:
        given = arguments(ev, call, where, ev.generic_frame(where, frame.model))
        bound = UNKNOWN if in_class and not has_decorator(scope, "staticmethod") else None
        values.append(bind(ev, scope, given, frame.parent or frame, bound).get(name, UNKNOWN))
    value = join(values)
    if value != UNKNOWN:
        return value
    default = number(defaults(ev, scope, frame.parent or frame).get(name, UNKNOWN))
    if default is not None:
        return Scalar(default)  # also where it is annotated as an array: a number is what stands there
    annotation = next((a.annotation for a in every_parameter(scope.function_node) if a.arg == name), None)
    return annotated(ev, annotation, scope.parent or scope, frame.parent or frame)
