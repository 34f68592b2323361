"""Is what traced code stores a tracer? What depends on the elements of an argument is, and whatever JAX computes
meanwhile; shapes, and what Python and NumPy make of them, are not."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.effects import texts
from jaxscope.semantics.effects.candidates import Candidate
from jaxscope.semantics.effects.traced_frames import TracedFrames
from jaxscope.semantics.evaluation import branches, objects
from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Scalar,
    Value,
    number,
)
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Binding, Scope, facts_of
from jaxscope.semantics.vocabulary import ARRAY_METHODS, LOOKS_ONLY, METADATA, words

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

Stored = Literal["tracer", "plain", "unknown"]
_AT_ONCE = "ensure_compile_time_eval"
_COMPUTES = words("jax.numpy jax.lax jax.random jax.nn jax.scipy jax.image jax.ops jax.experimental")
_PLAIN = frozenset(words("str repr id dir format int float bool complex len range hash type isinstance hasattr"))
_NO_ARRAYS = frozenset(
    words("dtype iinfo finfo issubdtype isdtype result_type promote_types can_cast shape ndim size eval_shape")
)
_DEEPEST = 24


class Values:
    """Of one compiled function's traced code."""

    def __init__(self, ev: Evaluator, frames: TracedFrames, *, strict: bool = False) -> None:
        self.ev = ev
        self.frames = frames
        self.strict = strict
        """Are attributes of arguments left out? They may be static fields."""
        self._known: dict[tuple[object, ...], bool] = {}
        self._depth = 0

    def stored(self, candidate: Candidate) -> Stored:
        """What a candidate stores or hands over."""
        values, scope = candidate.values, candidate.scope
        if self.computes_at_once(scope.owner()):
            return "unknown"
        if any(self.is_traced(value, scope, wholly=candidate.unpacked) for value in values):
            return "tracer"
        return "plain" if all(self._value(value, scope) not in (UNKNOWN, TRACER) for value in values) else "unknown"

    def computes_at_once(self, function: Scope) -> bool:
        """Does it ask JAX to compute with values while it is traced?"""
        decorators = getattr(function.node, "decorator_list", ())
        called = [call.func for call, _ in function.calls] + [getattr(one, "func", one) for one in decorators]
        return any(last_name(one) == _AT_ONCE for one in called)

    def takes_tracers(self, function: Scope) -> bool:
        """Is any of its parameters a tracer, in the calls of the traced code, of which it needs more than the shape?"""
        frame = self.frames.frames.get(function)
        if frame is None:
            return True
        wanted = {
            read.name
            for scope in function.walk()
            for read in scope.reads
            if not (read.links and isinstance(read.links[0], ast.Attribute) and read.links[0].attr in METADATA)
        }
        return any(name in wanted and self._parameter(name, function) for name in frame.parameters or {})

    def returns_tracers(self, function: Scope) -> bool:
        """Has a function of the traced code results that are tracers?"""
        frame = self.frames.frames.get(function)
        if frame is None:
            return False
        return any(self.is_traced(value, function) for value in branches.returned(self.ev, function, frame))

    def are_shown(self, values: tuple[ast.expr, ...], scope: Scope) -> bool:
        """Is each of them a text that is written out, a number, or all tracer: what the running program can show?"""
        return all(self._is_shown(value, scope) for value in values)

    def _is_shown(self, node: ast.expr, scope: Scope) -> bool:
        inside = texts.values(node)
        if inside is not None:
            return all(self._is_shown(part, scope) for part in inside)
        value = self._value(node, scope)
        if number(value) in ("int", "bool") or (isinstance(value, Const) and isinstance(value.value, str)):
            return True
        return self.is_traced(node, scope, wholly=True)

    def is_traced(self, node: ast.expr, scope: Scope, wholly: bool = False) -> bool:
        """Is it, or has it in it, a tracer; with `wholly`: is all of it one?"""
        key = (id(node), scope, wholly)
        if key not in self._known:
            self._known[key] = False
            if self._depth > _DEEPEST:
                return False
            self._depth += 1
            self._known[key] = self._is_traced(node, scope, wholly)
            self._depth -= 1
        return self._known[key]

    def _is_traced(self, node: ast.expr, scope: Scope, wholly: bool) -> bool:
        if isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
            return self._some(_parts(node), scope, False)  # a text, but one that shows a tracer
        value = self._value(node, scope)
        if isinstance(node, ast.Lambda) or isinstance(value, _NO_TRACERS):
            return False
        if isinstance(node, ast.Name):
            return self._name(node, scope)
        if isinstance(node, ast.Attribute):
            if self.strict and node.attr not in _PARTS:
                return False
            return node.attr not in METADATA and self.is_traced(node.value, scope, wholly)
        if isinstance(node, ast.Subscript):
            return self.is_traced(node.value, scope, wholly)
        if isinstance(node, ast.Call):
            return self._call(node, scope, wholly)
        if isinstance(node, ast.Compare) and all(isinstance(op, _PYTHON_TESTS) for op in node.ops):
            return False
        if isinstance(node, ast.IfExp):
            return self._some([node.body, node.orelse], scope, wholly)
        inner = facts_of(scope.chunk).by_node.get(id(node), scope)
        return self._some(_parts(node), inner, wholly and isinstance(node, (ast.Tuple, ast.List)))

    def _some(self, nodes: list[ast.expr], scope: Scope, wholly: bool) -> bool:
        nodes = [node for node in nodes if not isinstance(node, (ast.Constant, ast.Lambda))]
        return (all if wholly and nodes else any)(self.is_traced(node, scope, wholly) for node in nodes)

    def _name(self, node: ast.Name, scope: Scope) -> bool:
        owner = self.ev.owner(node.id, scope)
        if owner is None or owner.kind == "module":
            return False
        home = owner.owner() if owner.kind == "comprehension" else owner
        if home not in self.frames.inside:
            return False
        bindings = owner.bindings.get(node.id, [])
        return any(self._binding(binding, owner) for binding in bindings)

    def _binding(self, binding: Binding, owner: Scope) -> bool:
        if binding.kind == "parameter":
            return self._parameter(binding.name, owner)
        if binding.value is None or binding.kind not in ("assign", "iteration"):
            return False
        return self.is_traced(binding.value, binding.scope)

    def _parameter(self, name: str, function: Scope) -> bool:
        frame = self.frames.frames.get(function)
        given = (frame.parameters or {}).get(name) if frame is not None else None
        if given is not TRACER:
            return False
        calls = [call for call in self.frames.calls.get(function, ()) if call.plain]
        names = parameters(function.function_node)
        if not calls or name not in names:
            return True
        for call in calls:
            at = names.index(name) - (call.makes or call.receiver is not None)
            starred = next((n for n, one in enumerate(call.node.args) if isinstance(one, ast.Starred)), None)
            value = next((keyword.value for keyword in call.node.keywords if keyword.arg == name), None)
            if value is None and starred is not None and at >= starred:
                value = call.node.args[starred]
            elif value is None and 0 <= at < len(call.node.args):
                value = call.node.args[at]
            value = value.value if isinstance(value, ast.Starred) else value
            if value is not None and self.is_traced(value, call.scope):
                return True
        return False

    def _call(self, node: ast.Call, scope: Scope, wholly: bool) -> bool:
        function = self._value(node.func, scope)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(function, External):
            home, _, name = function.name.rpartition(".")
            if function.name in LOOKS_ONLY or name in _NO_ARRAYS or home == "numpy" or home.startswith("numpy."):
                return False
            if home == "builtins" and (name in _PLAIN or name in LOOKS_ONLY):
                return False
            if home.startswith(_COMPUTES):
                return True
        elif isinstance(function, FunctionValue) and function.scope in self.frames.inside:
            return self.returns_tracers(function.scope)
        elif isinstance(function, ClassValue) and objects.method_scope(self.ev, function, "__init__") is None:
            return self._some(given, scope, wholly)
        called = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if wholly and called and last_name(node.func) in ARRAY_METHODS:
            return self.is_traced(called[0], scope, wholly)
        return self._some([*called, *given] if not wholly else given, scope, wholly)

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        return self.ev.evaluate(node, scope, self.frames.frame(scope))


_PARTS = frozenset(words("T mT real imag at flat"))
"""Attributes of arrays that are arrays."""
_NO_TRACERS = (Const, Scalar, Array, FunctionValue, ClassValue, External)
_PYTHON_TESTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def _parts(node: ast.AST) -> list[ast.expr]:
    found: list[ast.expr] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            found.append(child)
        elif not isinstance(child, ast.expr_context):
            found += _parts(child)
    return found
