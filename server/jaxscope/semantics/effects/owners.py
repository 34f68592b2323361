"""Whose an object is that traced code changes: the outer name that it goes by, through aliases and through the
parameters of helpers; None where the traced code made it itself, or where JAX hands it in as an argument."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.captured.listing import written
from jaxscope.semantics.effects.traced_frames import TracedCall, TracedFrames
from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.evaluation.arguments import default_nodes, parameters
from jaxscope.semantics.evaluation.values import (
    UNKNOWN,
    Array,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Mapping,
    ModuleValue,
    Sequence,
    Transformed,
    Value,
)
from jaxscope.semantics.names.methods import is_self
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Binding, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_DEEPEST = 6
_LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKERS = frozenset(
    [
        *(f"builtins.{name}" for name in ("list", "dict", "set", "bytearray")),
        *(f"collections.{name}" for name in ("deque", "defaultdict", "OrderedDict", "Counter", "UserDict", "UserList")),
        *(f"weakref.{name}" for name in ("WeakKeyDictionary", "WeakValueDictionary", "WeakSet")),
    ]
)
_TYPES = frozenset(
    [
        *("list", "dict", "set", "List", "Dict", "Set", "MutableMapping", "MutableSequence", "MutableSet"),
        *("defaultdict", "deque", "OrderedDict", "Counter", "DefaultDict", "Deque"),
    ]
)
_UNAMBIGUOUS = frozenset(("append", "appendleft", "extend", "extendleft", "setdefault", "popitem"))
"""Methods that only containers have."""
_OTHERS = frozenset(("flax", "haiku", "equinox", "treex", "objax", "torch", "penzai", "elegy", "sonnet", "tensorflow"))
"""Libraries whose classes look after what is assigned to their objects."""


@dataclass(frozen=True, slots=True)
class Outer:
    """An object from outside the traced code."""

    name: str
    """As written where it is outside."""
    key: tuple[object, str]
    how: str
    bound: Mark | None
    value: Value
    node: ast.expr | None
    """What it was bound to, in `home`."""
    home: Scope
    sure: bool = True
    through: Mark | None = None
    maker: str | None = None
    """The function outside the project that made it."""
    annotation: ast.expr | None = None

    def member(self, attribute: str) -> Outer:
        """One of its attributes."""
        name = f"{self.name}.{attribute}"
        return replace(self, name=name, key=(self.key[0], f"{self.key[1]}.{attribute}"))


class Owners:
    """Of one compiled function's traced code."""

    def __init__(self, ev: Evaluator, frames: TracedFrames) -> None:
        self.ev = ev
        self.frames = frames

    # -- what is asked

    def of_declared(self, node: ast.expr, scope: Scope) -> Outer | None:
        """A name that the function declares `global` or `nonlocal` and assigns."""
        assert isinstance(node, ast.Name)
        owner = self.ev.owner(node.id, scope)
        if owner is None or owner in self.frames.inside:
            return None
        return self._outer(node.id, owner, scope, is_name=True)

    def of_object(self, node: ast.expr, scope: Scope) -> Outer | None:
        """An object of which an attribute is set; None also where a library looks after that."""
        outer = self.resolve(node, scope)
        if outer is None:
            return None
        kept_by = self._kept_by_library(outer.value)
        if kept_by:
            return None
        known = isinstance(outer.value, (Instance, ClassValue, FunctionValue, Transformed, ModuleValue))
        return replace(outer, sure=known and kept_by is False)

    def of_container(self, node: ast.expr, scope: Scope, method: str) -> Outer | None:
        """A list, dict, set or the like that is filled or emptied."""
        outer = self.resolve(node, scope)
        if outer is None:
            return None
        if self._is_container(outer):
            return outer
        if method in _UNAMBIGUOUS and outer.value == UNKNOWN and outer.maker is None:
            return replace(outer, sure=outer.how in ("enclosing-scope", "module-global"))
        return None

    def _is_container(self, outer: Outer) -> bool:
        if isinstance(outer.value, (Mapping, Sequence)):
            return not isinstance(outer.node, (ast.Tuple, ast.GeneratorExp)) and not getattr(outer.value, "fields", ())
        if isinstance(outer.value, Array):
            return outer.value.library == "numpy"
        if isinstance(outer.node, _LITERALS) or outer.maker in _MAKERS:
            return True
        return _type_name(outer.annotation) in _TYPES

    def _kept_by_library(self, value: Value) -> bool | None:
        """Does a library look after what is assigned to the object? None: not known."""
        if not isinstance(value, (Instance, ClassValue)):
            return False
        cls = value.cls if isinstance(value, Instance) else value
        known: bool | None = False
        for one in objects.bases(self.ev, cls):
            for base in getattr(one.scope.node, "bases", []):
                found = self.ev.evaluate(base, one.scope.parent or one.scope, one.frame)
                if isinstance(found, External) and found.name.partition(".")[0] in _OTHERS:
                    return True
                if found == UNKNOWN:
                    known = None
        return known

    # -- following

    def resolve(self, node: ast.expr, scope: Scope, depth: int = 0) -> Outer | None:
        """The outer object that an expression of traced code is, or is part of."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self._part(node, scope, depth)
        if isinstance(node, ast.Call):
            # `cache.setdefault(key, [])` and `table.get(key)` are parts of what they are asked of.
            part = node.func
            if isinstance(part, ast.Attribute) and part.attr in ("setdefault", "get") and node.args:
                return self.resolve(part.value, scope, depth + 1)
            return self._of_super(node, scope, depth)
        if not isinstance(node, ast.Name):
            return None
        owner = self.ev.owner(node.id, scope)
        if owner is None:
            return None
        if owner in self.frames.inside:
            return self._local(node, owner, scope, depth)
        return self._outer(node.id, owner, scope)

    def _part(self, node: ast.Attribute | ast.Subscript, scope: Scope, depth: int) -> Outer | None:
        outer = self.resolve(node.value, scope, depth + 1)
        if outer is None:
            return None
        value = self.ev.evaluate(node, scope, self.frames.frame(scope))
        if isinstance(node, ast.Subscript):
            return replace(outer, name=f"{outer.name}[{written(scope.chunk, node.slice)}]", value=value, node=None)
        if isinstance(outer.value, ModuleValue):
            return self._of_module(outer, node.attr) or replace(outer.member(node.attr), value=value, node=None)
        part = replace(outer.member(node.attr), value=value, node=None, maker=None, annotation=None)
        owner = outer.value
        if isinstance(owner, (Instance, ClassValue)):
            for home, where in objects.written_at(self.ev, owner, node.attr)[:1]:
                bound = _assigned(home, where)
                part = replace(part, bound=Mark(home.chunk, where), node=bound, maker=self._maker(bound, home))
        return part

    def _of_module(self, outer: Outer, name: str) -> Outer | None:
        assert isinstance(outer.value, ModuleValue)
        other = self.ev.project.model(outer.value.path)
        self.ev.seen.paths.add(outer.value.path)
        bindings = other.global_bindings(name) if other is not None else []
        if other is None or not bindings:
            return None
        found = self._outer(name, bindings[-1].scope.module_part(), bindings[-1].scope)
        return replace(found, name=f"{outer.name}.{name}") if found is not None else None

    def _of_super(self, node: ast.Call, scope: Scope, depth: int) -> Outer | None:
        function = scope.owner()
        if isinstance(node.func, ast.Name) and node.func.id == "super" and function.is_function:
            own = parameters(function.function_node)[:1]
            if own and is_self(function, own[0]):
                return self._local(ast.Name(own[0]), function, scope, depth)
        return None

    def _outer(self, name: str, owner: Scope, scope: Scope, is_name: bool = False) -> Outer | None:
        """A name that is not the traced code's own."""
        model = self.frames.home(scope)
        bindings = model.bindings_of(name, owner)
        if not bindings:
            return None
        first = next((binding for binding in bindings if -1 not in binding.block), bindings[0])
        frame = self.ev.frame_of(owner, self.ev.module_frame(model))
        value = self.ev.bound(bindings, owner, frame, None) if not is_name else UNKNOWN
        if isinstance(value, External) or (first.kind == "import" and value == UNKNOWN):
            return Outer(name, (owner, name), "import", None, value, None, scope, False) if is_name else None
        how = "module-global" if owner.kind == "module" else "enclosing-scope"
        if owner.is_function and is_self(owner, name):
            how = "self"
        key = (model.path if owner.kind == "module" else owner, name)
        bound = Mark(first.scope.chunk, first.node)
        annotation = first.node.annotation if isinstance(first.node, ast.arg) else None
        maker = self._maker(first.value, first.scope) if not first.path else None
        return Outer(name, key, how, bound, value, first.value, first.scope, maker=maker, annotation=annotation)

    def _maker(self, node: ast.expr | None, scope: Scope) -> str | None:
        if not isinstance(node, ast.Call):
            return None
        value = self.ev.evaluate(node.func, scope, self.ev.generic_frame(scope, self.frames.home(scope)))
        return value.name if isinstance(value, External) else None

    def _local(self, node: ast.Name, owner: Scope, scope: Scope, depth: int) -> Outer | None:
        """A name of the traced code's own: a parameter, or another name for something."""
        bindings = owner.bindings.get(node.id, [])
        if any(binding.kind == "parameter" for binding in bindings):
            return self._parameter(node.id, owner, depth) if len(bindings) == 1 else None
        if len(bindings) != 1:
            return None
        binding: Binding = bindings[0]
        if binding.kind != "assign" or binding.path or binding.value is None:
            return None
        return self.resolve(binding.value, binding.scope, depth + 1)

    def _parameter(self, name: str, function: Scope, depth: int) -> Outer | None:
        if function is self.frames.function:
            return self._own_parameter(name, function)
        for call in self.frames.calls.get(function, ()):
            outer = self._given(name, function, call, depth)
            if outer is not None:
                return replace(outer, through=outer.through or Mark(call.scope.chunk, call.node))
        return None

    def _given(self, name: str, function: Scope, call: TracedCall, depth: int) -> Outer | None:
        names = parameters(function.function_node)
        own_self = bool(names) and is_self(function, names[0])
        if own_self and name == names[0]:
            return self.resolve(call.receiver, call.scope, depth + 1) if call.receiver is not None else None
        if not call.plain or name not in names:
            return None
        at = names.index(name) - (own_self and (call.makes or call.receiver is not None))
        given = next((keyword.value for keyword in call.node.keywords if keyword.arg == name), None)
        if given is None and 0 <= at < len(call.node.args):
            given = call.node.args[at]
        if given is None:
            starred = any(isinstance(one, ast.Starred) for one in call.node.args)
            return None if starred else self._default(name, function)
        return self.resolve(given, call.scope, depth + 1)

    def _own_parameter(self, name: str, function: Scope) -> Outer | None:
        if self.frames.is_outside(name):
            how = "self" if is_self(function, name) else "static-argument"
            value = (self.frames.frames[function].parameters or {}).get(name, UNKNOWN)
            return Outer(name, (function, name), how, None, value, None, function)
        model = self.frames.home(function)
        names = parameters(function.function_node)
        callers = objects.calls_of(self.ev, function, self.ev.generic_frame(function, model))
        at = names.index(name) if name in names else len(names)
        if any(len(call.args) > at or any(k.arg in (name, None) for k in call.keywords) for call, _ in callers):
            return None
        return self._default(name, function)

    def _default(self, name: str, function: Scope) -> Outer | None:
        """A container that is made once, when the function is defined."""
        node = default_nodes(function.function_node).get(name)
        if not isinstance(node, _LITERALS) and not isinstance(node, ast.Call):
            return None
        home = function.parent or function
        if isinstance(node, ast.Call) and self._maker(node, home) not in _MAKERS:
            return None
        bound = Mark(function.chunk, node)
        return Outer(
            name, (function, name), "default-argument", bound, UNKNOWN, node, home, maker=self._maker(node, home)
        )


def _assigned(scope: Scope, node: ast.AST) -> ast.expr | None:
    """What is assigned to an attribute, at the place that `written_at` gives."""
    write = next((write.value for write in scope.writes if write.node is node), None)
    if write is not None:
        return write
    found = (binding.value for bindings in scope.bindings.values() for binding in bindings if binding.node is node)
    return next(found, None)


def _type_name(node: ast.expr | None) -> str:
    """`Dict` of `typing.Dict[str, int]`, `"Dict"` and `Dict | None`."""
    while isinstance(node, (ast.Subscript, ast.BinOp)):
        node = node.value if isinstance(node, ast.Subscript) else node.left
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition("[")[0].rpartition(".")[2]
    return last_name(node) if node is not None else ""
