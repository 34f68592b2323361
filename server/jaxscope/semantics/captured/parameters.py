"""Parameters that stand for something from outside of the compiled program: a bound or static `self`, a static
argument, a default, what `partial` binds, an object that is handed on."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.captured.listing import CaptureList, written
from jaxscope.semantics.captured.origin import Origin
from jaxscope.semantics.compiled.sites import Site, Target, closes_over_self, leading
from jaxscope.semantics.evaluation import calls, objects
from jaxscope.semantics.evaluation.annotations import annotated
from jaxscope.semantics.evaluation.arguments import defaults, every_parameter, parameters
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    TRACER,
    FunctionValue,
    Instance,
    PartialValue,
    Value,
    as_argument,
    leaves,
)
from jaxscope.semantics.names.methods import is_self
from jaxscope.semantics.names.scopes import Scope

_PARTIAL_VIA = {"functools.partial": "functools.partial", "jax.tree_util.Partial": "tree_util.Partial"}


def all_tracers(scope: Scope) -> dict[str, Value]:
    """The parameters of a function all of whose arguments are traced."""
    return {name: TRACER for name, bindings in scope.bindings.items() if any(b.kind == "parameter" for b in bindings)}


def traced_parameters(ev: Evaluator, scope: Scope, frame: Frame) -> dict[str, Value]:
    """The same, and of those that are annotated as objects of the project's classes which class; `frame` is the one
    around the function."""
    values = all_tracers(scope)
    for argument in every_parameter(scope.function_node):
        if argument.annotation is not None:
            values[argument.arg] = as_argument(annotated(ev, argument.annotation, scope.parent or scope, frame))
    return values


@dataclass(frozen=True, slots=True)
class Outer:
    """What a parameter stands for when it is not an argument of the compiled function."""

    via: str
    written: str | None = None
    """How it is written where it is compiled, when that is where to show it."""
    at: Mark | None = None


class OutsideParameters:
    """Those met in the walk of one compiled function, by frame and name."""

    def __init__(self, ev: Evaluator, site: Site, captures: CaptureList, origin: Origin) -> None:
        self.ev = ev
        self.site = site
        self.captures = captures
        self.origin = origin
        self.found: dict[tuple[Frame, str], Outer] = {}

    def of_compiled(self, target: Target, function: FunctionValue, frame: Frame) -> dict[str, Value]:
        """Values of the compiled function's own parameters, whose frame is `frame`."""
        scope = function.scope
        values = all_tracers(scope)
        names = parameters(scope.function_node)
        if function.bound is not None and names and closes_over_self(self.ev, target):
            values[names[0]] = function.bound
            self._bound_self(target, frame, names[0])
        rest = [""] * leading(target) + (names[1:] if function.bound is not None else names)
        for partial in reversed(target.partials):
            given = {**dict(zip(rest, partial.args, strict=False)), **dict(partial.keywords)}
            if partial in target.taken_apart:
                given = {name: as_argument(value) for name, value in given.items()}
            values.update(given)
            rest = rest[len(partial.args) :]
        values.pop("", None)
        generic = self.ev.generic_frame(scope, function.frame.model)
        for name in self.site.statics:
            if name in values:
                values[name] = calls.passed(self.ev, generic, name)
                own = is_self(scope, name)
                via = "static-self-attribute" if own else "static-argument"
                self.found[frame, name] = Outer(via)
        for name in values.keys() - set(self.site.statics):
            if values[name] is TRACER:
                values[name] = as_argument(calls.passed(self.ev, generic, name))
        for name, default in self._used_defaults(scope, function.frame).items():
            if values.get(name) is TRACER:
                values[name] = default
                self.found[frame, name] = Outer("default-argument")
        return values

    def _bound_self(self, target: Target, frame: Frame, name: str) -> None:
        if target.instance is None:
            self.found[frame, name] = Outer("bound-self-attribute")
            return
        node, chunk = self.site.node, self.site.scope.chunk
        argument = node.args[0] if isinstance(node, ast.Call) and node.args else None
        outer = Outer("jitted-callable-object")
        if isinstance(argument, (ast.Name, ast.Attribute)):
            outer = Outer(outer.via, written(chunk, argument), Mark(chunk, argument))
        self.found[frame, name] = outer

    def _used_defaults(self, scope: Scope, home: Frame) -> dict[str, Value]:
        """Defaults that are arrays and that some call in sight leaves to apply."""
        found = {
            name: value
            for name, value in defaults(self.ev, scope, home).items()
            if next(leaves(value), None) is not None
        }
        if not found:
            return found
        names = parameters(scope.function_node)
        callers = objects.calls_of(self.ev, scope, self.ev.generic_frame(scope, home.model))
        for name in list(found):
            at = names.index(name) if name in names else len(names)
            gives = [len(call.args) > at or any(k.arg == name for k in call.keywords) for call, _ in callers]
            if gives and all(gives):
                del found[name]
        return found

    def take_partial(self, partial: PartialValue) -> None:
        """Arrays bound by `partial` are constants of what is compiled."""
        if partial.call is None:
            return
        found = partial.frame.model.chunk_of(partial.call)
        if found is None:
            return
        nodes = [*partial.call.args[1:], *(keyword.value for keyword in partial.call.keywords)]
        values = [*partial.args, *(value for _, value in partial.keywords)]
        if len(nodes) != len(values):
            return
        model = partial.frame.model
        for node, value in zip(nodes, values, strict=True):
            bound = None
            if isinstance(node, ast.Name):
                bound = self.origin.of_name(node.id, model.scope_at(found, node), partial.frame)
            via = _PARTIAL_VIA.get(partial.kind, partial.kind)
            self.captures.keep(("partial", id(node)), written(found, node), Mark(found, node), via, value, bound=bound)

    def hand_on(self, inner: Frame, outer: Frame) -> None:
        """Takes down the objects that a function is called with by code in `outer`."""
        for name, item in (inner.parameters or {}).items():
            if isinstance(item, Instance) and not item.traced:
                self.found[inner, name] = Outer(self._object_via(outer, item))

    def _object_via(self, frame: Frame, value: Instance) -> str:
        for name, item in (frame.parameters or {}).items():
            if item == value and (frame, name) in self.found:
                return self.found[frame, name].via
        return "captured-object"
