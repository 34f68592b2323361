"""The functions that a function with derivatives of its own is given for them: `f.defvjp(fwd, bwd)`, `@f.defjvp`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import External, Transformed, Value
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.vocabulary import CUSTOM_DERIVATIVES, DERIVATIVE_RULES, transform

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator


def custom_in(value: Value) -> Iterator[Transformed]:
    """The layers of a transformed function that give it derivatives of its own."""
    while isinstance(value, Transformed):
        if value.transform.name in CUSTOM_DERIVATIVES:
            yield value
        value = value.target


def mentioned(ev: Evaluator, scopes: Iterable[Scope]) -> bool:
    """Does the code of any of the scopes name a transform that differentiates?"""
    for scope in scopes:
        frame = ev.generic_frame(scope, ev.model_of(scope.module_part()))
        for read in scope.reads:
            value = ev.evaluate(read.links[-1] if read.links else read.node, scope, frame)
            entry = transform(value.name) if isinstance(value, External) else None
            if entry is not None and entry.differentiates:
                return True
    return False


def rules_of(ev: Evaluator, function: Transformed) -> Iterator[Value]:
    """The functions given to `function`, which is what `custom_vjp` or its kin made."""
    model = function.frame.model
    for name in DERIVATIVE_RULES:
        for call, scope in ev.calls_named(model, name):
            frame = ev.generic_frame(scope, model)
            if _is_of(ev, call.func, function, scope, frame):
                yield from (ev.evaluate(node, scope, frame) for node in call.args)
                yield from (ev.evaluate(keyword.value, scope, frame) for keyword in call.keywords)
    for _, facts in model.chunks:
        for binding, scope in facts.decorated:
            frame = ev.generic_frame(scope, model)
            decorators = getattr(binding.node, "decorator_list", [])
            if any(_is_of(ev, decorator, function, scope, frame) for decorator in decorators):
                yield ev.binding_value(binding, frame)


def _is_of(ev: Evaluator, node: ast.expr, function: Transformed, scope: Scope, frame: Frame) -> bool:
    """Is it `function.defvjp` or one of its kin?"""
    if not isinstance(node, ast.Attribute) or node.attr not in DERIVATIVE_RULES:
        return False
    owner = ev.evaluate(node.value, scope, frame)
    return isinstance(owner, Transformed) and owner.call is function.call
