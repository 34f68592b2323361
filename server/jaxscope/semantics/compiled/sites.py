"""Finds where functions are compiled: decorators and calls, through aliases, partials, chains and factories."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import (
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    PartialValue,
    Sequence,
    Transformed,
    Value,
)
from jaxscope.semantics.names.scopes import Binding, ChunkFacts, Scope
from jaxscope.semantics.vocabulary import CANONICAL, PARTIALS, TRANSFORMS, Transform, transform

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.evaluation.frames import Frame
    from jaxscope.semantics.model import FileModel

COMPILING = frozenset(
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
    hidden: bool = False
    """Is the function inside a wrapper that is no pytree, so that whatever it is bound to is no argument?"""
    taken_apart: list[PartialValue] = field(default_factory=list)
    """Partials of which the compiling transform makes arguments."""


def peel(ev: Evaluator, value: Value) -> Target:
    """Takes transforms, partials and callable objects apart down to the function."""
    target = Target()
    for _ in range(12):
        if isinstance(value, Transformed):
            target.chain.append(value.transform)
            target.hidden = target.hidden or value.transform.name in _HIDING
            value = value.target
        elif isinstance(value, PartialValue):
            target.partials.append(value)
            if value.kind != "functools.partial" and not target.hidden and _is_equinox(target):
                target.taken_apart.append(value)
            target.hidden = target.hidden or value.kind == "functools.partial"
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


def _is_equinox(target: Target) -> bool:
    return any(entry.takes_self and entry.name.startswith("equinox.") for entry in target.chain)


def closes_over_self(ev: Evaluator, target: Target) -> bool:
    """Is what the function is bound to closed over for certain, and not an argument nor refused?"""
    compiling = next((entry for entry in target.chain if entry.takes_self), None)
    bound = target.function.bound if target.function is not None else None
    cls = bound.cls if isinstance(bound, Instance) else bound
    if target.function is None or not isinstance(cls, ClassValue):
        return compiling is None
    plain_method = target.instance is None and target.function.scope.name == "__call__"
    if compiling is None:  # `jax.jit` cannot look up a module of Equinox that has arrays, nor such a method of one
        wrapped = target.hidden or plain_method or bool(target.partials)
        return wrapped or not objects.has_base(ev, cls, "equinox.Module")
    if compiling.name == "flax.nnx.jit":  # it refuses bound methods of its own modules
        return target.instance is not None or target.hidden or objects.is_plain(ev, cls)
    return _is_equinox(target) and (target.hidden or plain_method or objects.is_plain(ev, cls))


_HIDING = ("jax.vmap", "jax.pmap", "jax.grad", "jax.value_and_grad")
"""Transforms that make a plain function of a callable, under their own names alone."""


def leading(target: Target) -> int:
    """Number of arguments that are passed in front of the function's own: `params` of `network.apply`."""
    return max(0, sum(entry.leading for entry in target.chain))


@dataclass(frozen=True, slots=True)
class Site:
    """One place where a known function is compiled. Holds no values: it outlives the evaluation that found it."""

    node: ast.expr
    """The decorator or call."""
    scope: Scope
    """Where that stands."""
    binding: Binding | None
    """The decorated definition; None for a call."""
    function: Scope
    """The compiled function, possibly of another file."""
    transform: str
    chain: tuple[str, ...]
    static_nums: tuple[int, ...]
    static_names: tuple[str, ...]
    statics: tuple[str, ...]

    def value(self, ev: Evaluator, model: FileModel) -> Transformed | None:
        """What is compiled, as `ev` sees it."""
        frame = ev.generic_frame(self.scope, model)
        if self.binding is not None:
            layers = _layers(ev.binding_value(self.binding, frame))
            return next((layer for layer in layers if layer.call is self.node), None)
        found = ev.evaluate(self.node, self.scope, frame)
        return found if isinstance(found, Transformed) else None


def find(model: FileModel, facts: ChunkFacts, ev: Evaluator) -> list[Site]:
    """The sites of one chunk, in source order."""
    found: dict[int, Site] = {}
    for value, binding, scope in _candidates(model, facts, ev):
        target = peel(ev, value)
        if target.function is not None and id(value.call) not in found:
            nums, names = static_options(value)
            found[id(value.call)] = Site(
                value.call,
                scope,
                binding,
                target.function.scope,
                value.transform.name.rpartition(".")[2],
                tuple(entry.name.rpartition(".")[2] for entry in target.chain),
                nums,
                names,
                static_parameters(target, nums, names),
            )
    return sorted(found.values(), key=lambda site: (site.node.lineno, site.node.col_offset))


def _candidates(
    model: FileModel, facts: ChunkFacts, ev: Evaluator
) -> Iterator[tuple[Transformed, Binding | None, Scope]]:
    for binding, outer in facts.decorated:
        for layer in _layers(ev.binding_value(binding, ev.generic_frame(outer, model))):
            if layer.transform.is_jit:
                yield layer, binding, outer
                break
    for name, calls in facts.calls.items():
        if name in COMPILING or not name or is_local_name(model, name, ev):
            for call, scope in calls:
                frame = ev.generic_frame(scope, model)
                value = ev.evaluate(call, scope, frame) if _can_compile(ev, call.func, scope, frame) else None
                if isinstance(value, Transformed) and value.transform.is_jit and value.call is call:
                    yield value, None, scope


def _can_compile(ev: Evaluator, called: ast.expr, scope: Scope, frame: Frame) -> bool:
    """May a call of it compile: is it a transform that does, or one with options?"""
    if isinstance(called, ast.Call) and called.args:
        maker = ev.evaluate(called.func, scope, frame)
        if isinstance(maker, External) and maker.name not in PARTIALS:
            return False
    value = ev.evaluate(called, scope, frame)
    if isinstance(value, External):
        return (entry := transform(value.name)) is not None and entry.is_jit
    return isinstance(value, PartialValue)


def _layers(value: Value) -> Iterator[Transformed]:
    while isinstance(value, Transformed):
        yield value
        value = value.target


def is_local_name(model: FileModel, name: str, ev: Evaluator) -> bool:
    """Is it a global under which a compiling transform is called: an import alias, `jit = partial(jax.jit, ...)`?"""
    bindings = model.module_bindings.get(name, ())
    for binding in bindings:
        if binding.kind == "import":
            if binding.attribute in COMPILING:
                ev.seen.names.add(name)
                return True
        elif binding.kind == "assign" and isinstance(binding.value, (ast.Call, ast.Attribute, ast.Name)):
            value = ev.binding_value(binding, ev.module_frame(model))
            value = value.target if isinstance(value, PartialValue) else value
            ev.seen.names.add(name)
            if isinstance(value, External) and (entry := transform(value.name)) is not None and entry.is_jit:
                return True
    ev.seen.names.add(name)
    return False


def static_options(value: Transformed) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names that the transform is told to treat as static."""
    return numbers_and_names(value.option(option) for option in value.transform.static)


def numbers_and_names(options: Iterable[Value | None]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of parameters that options hold, one or several each."""
    nums: list[int] = []
    names: list[str] = []
    for given in options:
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
    own = parameters(target.function.scope.function_node)
    own = [""] * leading(target) + (own[1:] if target.function.bound is not None else own)
    for partial in reversed(target.partials):
        given = {key for key, _ in partial.keywords}
        own = [name for name in own[len(partial.args) :] if name not in given]
    found = [own[n] for n in nums if -len(own) <= n < len(own)]
    return tuple(name for name in dict.fromkeys([*found, *names]) if name)
