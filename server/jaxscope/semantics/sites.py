"""Finds where functions are compiled: decorators and calls, through aliases, partials, chains and factories."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxscope.semantics import calls, objects
from jaxscope.semantics.scopes import Scope
from jaxscope.semantics.values import (
    Const,
    External,
    FunctionValue,
    Instance,
    PartialValue,
    Sequence,
    Transformed,
    Value,
)
from jaxscope.semantics.vocabulary import CANONICAL, TRANSFORMS, Transform, transform

if TYPE_CHECKING:
    from jaxscope.semantics.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

_COMPILING = frozenset(
    [name.rpartition(".")[2] for name, entry in TRANSFORMS.items() if entry.is_jit]
    + [old.rpartition(".")[2] for old, new in CANONICAL.items() if new in TRANSFORMS and TRANSFORMS[new].is_jit]
)


@dataclass(slots=True)
class Target:
    """What is behind a compiled callable, with everything peeled off."""

    function: FunctionValue | None = None
    partials: list[PartialValue] = field(default_factory=list)
    """From the outermost inwards."""
    instance: Instance | None = None
    """The callable object whose `__call__` it is."""
    chain: list[Transform] = field(default_factory=list)


def peel(ev: Evaluator, value: Value) -> Target:
    """Takes transforms, partials and callable objects apart down to the function."""
    target = Target()
    for _ in range(12):
        if isinstance(value, Transformed):
            target.chain.append(value.transform)
            value = value.target
        elif isinstance(value, PartialValue):
            target.partials.append(value)
            value = value.target
        elif isinstance(value, Instance):
            target.instance = value
            value = objects.attribute(ev, value, "__call__")
        elif isinstance(value, FunctionValue):
            target.function = value
            break
        else:
            break
    return target


@dataclass(slots=True)
class Site:
    """One place where a function is compiled."""

    value: Transformed
    target: Target
    node: ast.AST
    scope: Scope
    """Where `node` stands."""


def find(model: FileModel) -> Iterator[Site]:
    """All sites of a file whose function is known."""
    seen: set[int] = set()
    for value, node, scope in _candidates(model):
        target = peel(model.project.evaluator, value)
        if target.function is not None and id(node) not in seen:
            seen.add(id(node))
            yield Site(value, target, node, scope)


def _candidates(model: FileModel) -> Iterator[tuple[Transformed, ast.AST, Scope]]:
    ev = model.project.evaluator
    for function in model.functions:
        node = function.scope.node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.decorator_list:
            outer = function.scope.parent or function.scope
            bindings = [b for b in outer.bindings.get(function.name, ()) if b.node is node]
            for binding in bindings:
                value = ev.binding_value(binding, ev.generic_frame(outer, model))
                for layer in _layers(value):
                    if layer.transform.is_jit:
                        yield layer, layer.call, outer
                        break
    for name in _COMPILING | {""} | _local_names(model):
        for call, scope in model.calls_named(name):
            value = ev.evaluate(call, scope, ev.generic_frame(scope, model))
            if isinstance(value, Transformed) and value.transform.is_jit and value.call is call:
                yield value, call, scope


def _layers(value: Value) -> Iterator[Transformed]:
    while isinstance(value, Transformed):
        yield value
        value = value.target


def _local_names(model: FileModel) -> set[str]:
    """Names of this file under which a compiling transform is called: import aliases, `jit = partial(jax.jit, ...)`."""
    ev = model.project.evaluator
    found = set()
    for name, bindings in model.module_bindings.items():
        for binding in bindings:
            if binding.kind == "import":
                if binding.attribute and (binding.attribute in _COMPILING):
                    found.add(name)
            elif binding.kind == "assign" and isinstance(binding.value, (ast.Call, ast.Attribute, ast.Name)):
                value = ev.binding_value(binding, model.module_frame)
                if isinstance(value, PartialValue):
                    value = value.target
                if isinstance(value, External) and (entry := transform(value.name)) is not None and entry.is_jit:
                    found.add(name)
    return found


def static_options(value: Transformed) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names that the transform is told to treat as static."""
    nums: list[int] = []
    names: list[str] = []
    for option in value.transform.static:
        given = value.option(option)
        items = given.items or () if isinstance(given, Sequence) else (given,)
        for item in items:
            if isinstance(item, Const) and isinstance(item.value, int):
                nums.append(item.value)
            elif isinstance(item, Const) and isinstance(item.value, str):
                names += item.value.replace(",", " ").split()
    return tuple(nums), tuple(names)


def static_parameters(target: Target, nums: tuple[int, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the static parameters of the function, self and parameters bound by `partial` not counted."""
    if target.function is None:
        return ()
    own = calls.parameters(target.function.scope.function_node)
    if target.function.bound is not None:
        own = own[1:]
    for partial in reversed(target.partials):
        given = {key for key, _ in partial.keywords}
        own = [name for name in own[len(partial.args) :] if name not in given]
    found = [own[n] for n in nums if -len(own) <= n < len(own)]
    return tuple(dict.fromkeys([*found, *names]))
