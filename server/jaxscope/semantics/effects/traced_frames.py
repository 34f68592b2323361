"""The frames of the code that one compiled function runs while it is traced: what each parameter stands for, and which
calls gave it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.semantics.captured.parameters import all_tracers
from jaxscope.semantics.captured.visits import TracedCode
from jaxscope.semantics.compiled.sites import Target, peel
from jaxscope.semantics.effects.candidates import candidates_of
from jaxscope.semantics.evaluation import calls, objects
from jaxscope.semantics.evaluation.arguments import arguments, bind
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import TRACER, UNKNOWN, ClassValue, External, FunctionValue, Value
from jaxscope.semantics.names.methods import is_self
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.vocabulary import CALLBACKS

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call by which one traced function gets into another."""

    node: ast.Call
    scope: Scope
    """Where it stands, a comprehension's included."""
    receiver: ast.expr | None
    """What stands for `self`; None for a plain function, and for what is made by the call."""
    makes: bool
    """Is it the call of a class?"""
    plain: bool
    """Are the arguments passed on as they are?"""


class TracedFrames:
    """Of one compiled function."""

    def __init__(self, ev: Evaluator, model: FileModel, code: TracedCode) -> None:
        self.ev = ev
        self.model = model
        self.code = code
        self.scopes = tuple(scope for scope in code.scopes if scope.is_function)
        self.inside = frozenset(self.scopes)
        self.frames: dict[Scope, Frame] = {}
        self.calls: dict[Scope, list[TracedCall]] = {}
        self.bodies: set[Scope] = set()
        """Functions that are handed to JAX, or to a library on it, which calls them with tracers."""
        self.hosts: set[Scope] = set()
        """Functions that the running program calls back."""
        self._followed: set[Scope] = set()
        self.takes_self = False
        self.bound = False
        self._enter_all()

    @property
    def function(self) -> Scope:
        """The compiled function."""
        return self.code.site.function

    def is_outside(self, name: str) -> bool:
        """Is the compiled function's own parameter no argument of the program: static, or a bound `self`?"""
        own = is_self(self.function, name)
        if own and self.takes_self:
            return False
        return name in self.code.site.statics or (own and self.bound)

    def frame(self, scope: Scope) -> Frame:
        """The frame in which the names of `scope` live."""
        owner = scope.owner()
        return self.frames.get(owner) or self.ev.frame_of(scope, self.ev.module_frame(self.home(scope)))

    def home(self, scope: Scope) -> FileModel:
        """The file that `scope` is in."""
        return self.ev.model_of(scope.module_part())

    # -- entering

    def _enter_all(self) -> None:
        value = self.code.site.value(self.ev, self.model)
        target = peel(self.ev, value) if value is not None else Target()
        if target.function is None:
            return
        self.takes_self = any(entry.takes_self for entry in target.chain)
        self.bound = target.function.bound is not None
        self._enter(self.function, self._own_parameters(target.function))
        for scope in self.scopes:
            self._follow_hosts()
            if scope not in self.frames and scope not in self.hosts:
                known = scope in self.bodies or bool(getattr(scope.node, "decorator_list", None))
                names = all_tracers(scope)
                self._enter(scope, names if known else dict.fromkeys(names, UNKNOWN))

    def _hand_over(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        given += [item for one in given if isinstance(one, (ast.List, ast.Tuple)) for item in one.elts]
        for argument in given:
            if isinstance(argument, (ast.Name, ast.Attribute, ast.Lambda, ast.Call)):
                function = peel(self.ev, self.ev.evaluate(argument, scope, frame)).function
                if function is not None:
                    self.bodies.add(function.scope)

    def _follow_hosts(self) -> None:
        """What runs outside of the program: the functions it calls back, those inside them and those they call."""
        waiting = [scope for scope in self.hosts if scope not in self._followed]
        while waiting:
            one = waiting.pop()
            self._followed.add(one)
            found = [inner for inner in one.walk() if inner.is_function]
            generic = self.ev.generic_frame(one, self.home(one))
            for call, _ in one.calls:
                function = peel(self.ev, self.ev.evaluate(call.func, one, generic)).function
                found += [function.scope] if function is not None else []
            waiting += [scope for scope in found if scope in self.inside and scope not in self.hosts]
            self.hosts.update(found)

    def _own_parameters(self, function: FunctionValue) -> dict[str, Value]:
        values = all_tracers(self.function)
        generic = self.ev.generic_frame(self.function, self.home(self.function))
        for name in values:
            if self.is_outside(name):
                own = function.bound if function.bound is not None and is_self(self.function, name) else None
                values[name] = own or calls.passed(self.ev, generic, name)
        return values

    def _enter(self, scope: Scope, parameters: dict[str, Value]) -> None:
        known = self.frames.get(scope)
        if known is not None and known.parameters is not None:
            new = [name for name, value in parameters.items() if value is TRACER is not known.parameters.get(name)]
            if not new:
                return
            parameters = {**known.parameters, **dict.fromkeys(new, TRACER)}
        outer = scope.enclosing_function()
        model = self.home(scope)
        if outer is None:
            parent = self.ev.module_frame(model)
        else:
            parent = self.frames.get(outer) or self.ev.generic_frame(outer, model)
        frame = self.frames[scope] = Frame(scope, model, parent, parameters, traced=True)
        for child in scope.walk():
            if child.owner() is scope:
                for call, _ in child.calls:
                    self._call(call, child, frame)

    def _call(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        value = self.ev.evaluate(call.func, scope, frame)
        if isinstance(value, External) and value.name in CALLBACKS and call.args:
            called = peel(self.ev, self.ev.evaluate(call.args[0], scope, frame)).function
            self.hosts.update([called.scope] if called is not None else [])
            return
        if isinstance(value, External) and not value.name.startswith(_PLAIN) and "with_path" not in value.name:
            self._hand_over(call, scope, frame)
        made: Value | None = None
        if isinstance(value, ClassValue):
            found = objects.method_scope(self.ev, value, "__init__")
            made = value
            value = FunctionValue(found[0], found[1].frame, UNKNOWN) if found is not None else UNKNOWN
        target = peel(self.ev, value)
        function = target.function
        if function is None or function.scope not in self.inside or function.scope is self.function:
            return
        plain = not target.chain and not target.partials
        receiver = None
        if function.bound is not None and made is None:
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        self.calls.setdefault(function.scope, []).append(TracedCall(call, scope, receiver, made is not None, plain))
        if plain:
            given = arguments(self.ev, call, scope, frame)
            values = bind(self.ev, function.scope, given, function.frame, function.bound)
        else:
            values = all_tracers(function.scope)
        if _is_cached(function.scope):
            values = dict.fromkeys(values, UNKNOWN)  # a tracer has no hash
        self._enter(function.scope, values)


_PLAIN = ("builtins.", "functools.", "itertools.", "numpy.", "operator.")
"""Beginnings of names of what calls functions with whatever it is given."""


def _is_cached(function: Scope) -> bool:
    return any(candidate.kind == "cache" for candidate in candidates_of(function))
