"""Classes, their instances, decorated definitions, and who calls what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.annotations import annotated
from jaxscope.semantics.evaluation.arguments import Given, bind, parameters
from jaxscope.semantics.evaluation.assigned import NOTHING, assigned, picked, writes_outside
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    Mapping,
    PartialValue,
    Sequence,
    Transformed,
    Tree,
    TupleType,
    Value,
    as_argument,
    join,
)
from jaxscope.semantics.names.methods import has_decorator
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import AttributeWrite, Binding, Scope, facts_of
from jaxscope.semantics.vocabulary import LINEN_MODULE, LINEN_RUNNERS, PARTIALS, REGISTERING, TRANSFORMS, transform

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_MOST_BASES = 6


# ---------------------------------------------------------------- definitions


def decorated(ev: Evaluator, binding: Binding, frame: Frame) -> Value:
    """A function with its decorators applied; decorators that are no transforms are looked through."""
    scope = frame.model.scope_of(binding.scope, binding.node)
    if scope is None:
        return UNKNOWN
    value: Value = FunctionValue(scope, frame)
    for decorator in reversed(getattr(binding.node, "decorator_list", [])):
        value = _decorate(ev, decorator, value, binding.scope, frame)
    return value


def _decorate(ev: Evaluator, decorator: ast.expr, value: Value, scope: Scope, frame: Frame) -> Value:
    """One decorator: a transform is applied, anything else is taken to call what it wraps."""
    if isinstance(decorator, ast.Call):
        called = ev.evaluate(decorator.func, scope, frame)
        if isinstance(called, External) and called.name not in PARTIALS and transform(called.name) is None:
            return value
    by = ev.evaluate(decorator, scope, frame)
    options: tuple[tuple[str, Value], ...] = ()
    if isinstance(by, PartialValue):
        options, by = by.keywords, by.target
    if isinstance(by, External) and (entry := transform(by.name)) is not None and not entry.loop:
        return Transformed(entry, value, options, decorator, frame)
    if isinstance(by, FunctionValue):
        made = ev.call(by, Given([value], dict(options), False), decorator, frame)
        for inner in _around(ev, made):
            if inner.target == value:
                return Transformed(inner.transform, value, inner.options, decorator, frame)
    return value


def _around(ev: Evaluator, made: Value) -> Iterator[Transformed]:
    """What a decorator of the project made: a transformed function, or those that its wrapper calls."""
    if isinstance(made, Transformed):
        yield made
    elif isinstance(made, FunctionValue):
        frame = Frame(made.scope, made.frame.model, made.frame)
        for read in made.scope.reads:
            value = ev.evaluate(read.node, made.scope, frame)
            if isinstance(value, Transformed):
                yield value


def class_value(ev: Evaluator, binding: Binding, frame: Frame) -> Value:
    """A class; a named tuple's class where it is one."""
    scope = frame.model.scope_of(binding.scope, binding.node)
    if scope is None:
        return UNKNOWN
    node = scope.node
    for base in getattr(node, "bases", []):
        value = ev.evaluate(base, binding.scope, frame)
        if isinstance(value, External) and value.name in ("typing.NamedTuple", "typing_extensions.NamedTuple"):
            return TupleType(tuple(_annotated_fields(scope)))
        if isinstance(value, TupleType):
            return value
    return ClassValue(scope, frame)


def _annotated_fields(scope: Scope) -> dict[str, ast.AnnAssign]:
    body: list[ast.stmt] = getattr(scope.node, "body", [])
    return {
        statement.target.id: statement
        for statement in body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def bases(ev: Evaluator, cls: ClassValue) -> list[ClassValue]:
    """The class and those of its bases that the project has, in order of lookup, roughly."""
    found: list[ClassValue] = []
    queue = [cls]
    while queue and len(found) < _MOST_BASES:
        one = queue.pop(0)
        found.append(one)
        queue += [base for base in _outer_bases(ev, one) if isinstance(base, ClassValue) and base not in found]
    return found


def _outer_bases(ev: Evaluator, cls: ClassValue) -> list[Value]:
    """What a class is written to be derived from."""
    scope = cls.scope
    return [ev.evaluate(base, scope.parent or scope, cls.frame) for base in getattr(scope.node, "bases", [])]


def has_base(ev: Evaluator, cls: ClassValue, name: str) -> bool:
    """Is it derived from the class of that dotted name, from outside the project?"""
    return any(External(name) in _outer_bases(ev, one) for one in bases(ev, cls))


def is_plain(ev: Evaluator, cls: ClassValue) -> bool:
    """Is it a class that nothing has made a pytree of: no base, decorator or registration but the project's own?"""
    for one in bases(ev, cls):
        if getattr(one.scope.node, "decorator_list", []) or getattr(one.scope.node, "keywords", []):
            return False
        outer = _outer_bases(ev, one)
        if not all(isinstance(base, ClassValue) or base == External("builtins.object") for base in outer):
            return False
        calls = [call for name in REGISTERING for call in ev.calls_named(one.frame.model, name)]
        if any(_registers(ev, call, where, one) for call, where in calls):
            return False
    return True


def _registers(ev: Evaluator, call: ast.Call, where: Scope, cls: ClassValue) -> bool:
    """May the call be about the class?"""
    given = ev.evaluate(call.args[0], where, ev.generic_frame(where, cls.frame.model)) if call.args else UNKNOWN
    return given == cls or not isinstance(given, ClassValue)


def method_scope(ev: Evaluator, cls: ClassValue, name: str) -> tuple[Scope, ClassValue] | None:
    """Scope of a method, and the class that has it."""
    for one in bases(ev, cls):
        for child in one.scope.children:
            if child.kind == "function" and child.name == name:
                return child, one
    return None


# ---------------------------------------------------------------- instances


def construct(ev: Evaluator, cls: ClassValue, given: Given, frame: Frame) -> Value:
    """An instance made by calling the class."""
    found = method_scope(ev, cls, "__init__")
    if found is None:
        fields: dict[str, Value] = dict.fromkeys(_fields(ev, cls), UNKNOWN)
        names = list(fields)
        for name, value in [*zip(names, given.args, strict=False), *given.keywords.items()]:
            fields[name] = value
        known = tuple((k, v) for k, v in fields.items() if v != UNKNOWN)
        return Instance(cls, None, known, traced=frame.traced)
    scope, owner = found
    if frame.depth > 8:
        return Instance(cls, None, traced=frame.traced)
    init = Frame(scope, owner.frame.model, owner.frame, traced=frame.traced, depth=frame.depth + 1)
    instance = Instance(cls, init, traced=frame.traced)
    init.parameters = bind(ev, scope, given, owner.frame, instance)
    return instance


def _fields(ev: Evaluator, cls: ClassValue) -> list[str]:
    names: dict[str, None] = {}
    for one in reversed(bases(ev, cls)):
        names.update(dict.fromkeys(_annotated_fields(one.scope)))
    return list(names)


def attribute(ev: Evaluator, value: Instance | ClassValue, name: str) -> Value:
    """`instance.name` or `Class.name`."""
    cls = value.cls if isinstance(value, Instance) else value
    key: object = ("attribute", cls, name)
    if isinstance(value, Instance):
        key = ("attribute", cls, name, value.init, value.traced, value.argument)
    if isinstance(value, Instance) and value.given is not None:
        given = dict(value.given).get(name)
        if given is not None:
            return given
    elif key in ev.results:
        return ev.results[key]
    ev.results[key] = UNKNOWN
    result = _with_outside(ev, value, name, _attribute(ev, value, cls, name))
    if isinstance(value, Instance) and value.argument and not isinstance(result, (FunctionValue, Transformed)):
        result = as_argument(result)
    ev.results[key] = result
    return result


def _with_outside(ev: Evaluator, value: Instance | ClassValue, name: str, own: Value) -> Value:
    """An attribute that may be assigned elsewhere too, `net.table = zeros`, if its class says `own` of it."""
    if isinstance(own, (FunctionValue, Transformed)) or (isinstance(value, Instance) and value.traced):
        return own
    declared = own != UNKNOWN or bool(_declared_at(ev, value, name))
    given = [assigned(ev, write) for write in writes_outside(ev, value, name, own, declared)]
    if not given:
        return own
    found = join([own, *given] if declared else given)
    return found if isinstance(found, (Array, Sequence, Mapping, Tree)) else own


def _attribute(ev: Evaluator, value: Instance | ClassValue, cls: ClassValue, name: str) -> Value:
    for one in bases(ev, cls):
        method = next((c for c in one.scope.children if c.kind == "function" and c.name == name), None)
        if method is not None:
            return _bound_method(ev, value, method, one)
        if isinstance(value, Instance):
            written = _writes(one, name)
            if written:
                return join([_written(ev, value, write, one) for write in written])
        if name in one.scope.bindings:
            frame = ev.frame_of(one.scope, one.frame)
            found = ev.bound(one.scope.bindings[name], one.scope, frame, None)
            if found != UNKNOWN:
                return found
            field = _annotated_fields(one.scope).get(name)
            if field is not None and isinstance(value, Instance) and value.traced and not value.argument:
                return TRACER
            if field is not None:
                return annotated(ev, field.annotation, one.scope, frame)
    if name in LINEN_RUNNERS and isinstance(value, Instance) and _is_linen(ev, cls):
        entry = TRANSFORMS[f"{LINEN_MODULE}.apply"]
        return Transformed(entry, attribute(ev, value, "__call__"), (), None, cls.frame).member(name)
    return UNKNOWN


def _is_linen(ev: Evaluator, cls: ClassValue) -> bool:
    """Is it a module of flax.linen?"""
    return has_base(ev, cls, LINEN_MODULE)


def _writes(cls: ClassValue, name: str) -> list[AttributeWrite]:
    """`self.name = ...` in the class's methods; those in `__init__` and its kin alone where there are any."""
    found: list[tuple[bool, AttributeWrite]] = []
    for method in cls.scope.children:
        if method.kind != "function":
            continue
        first = method.name in ("__init__", "__post_init__", "setup")
        own = parameters(method.function_node)[:1]
        found += [(first, w) for w in method.writes if w.attribute == name and [w.root] == own]
    return [write for _, write in found]


def written_at(ev: Evaluator, value: Instance | ClassValue, name: str) -> list[tuple[Scope, ast.AST]]:
    """Where an attribute is assigned other than to None, each with the scope that the assignment stands in."""
    own = _attribute(ev, value, value.cls if isinstance(value, Instance) else value, name)
    declared = _declared_at(ev, value, name)
    writes = writes_outside(ev, value, name, own, bool(declared))
    outside: list[tuple[Scope, ast.AST]] = [(write.scope, write.node) for write in writes]
    return outside if outside and own in NOTHING else [*declared, *outside]


def _declared_at(ev: Evaluator, value: Instance | ClassValue, name: str) -> list[tuple[Scope, ast.AST]]:
    """Where the class itself assigns it."""
    for one in bases(ev, value.cls if isinstance(value, Instance) else value):
        writes = _writes(one, name)
        given = [write for write in writes if not (isinstance(write.value, ast.Constant) and write.value.value is None)]
        if writes:
            return [(write.scope, write.node) for write in given or writes]
        if name in one.scope.bindings:
            return [(one.scope, one.scope.bindings[name][-1].node)]
    return []


def _written(ev: Evaluator, value: Instance, write: AttributeWrite, cls: ClassValue) -> Value:
    if write.value is None:
        return UNKNOWN
    frame = value.init
    if frame is None or frame.scope is not write.scope:
        if value.given is not None and write.scope.name == "__post_init__":
            frame = Frame(write.scope, cls.frame.model, cls.frame, {"self": value})
        elif write.scope.name == "setup" and _is_linen(ev, cls):
            frame = Frame(write.scope, cls.frame.model, cls.frame, {"self": value}, traced=True)  # `apply` runs it
        else:
            frame = ev.generic_frame(write.scope, cls.frame.model)
    return picked(ev.evaluate(write.value, write.scope, frame), write)


def _bound_method(ev: Evaluator, value: Instance | ClassValue, method: Scope, cls: ClassValue) -> Value:
    own = None if has_decorator(method, "staticmethod") else value
    if has_decorator(method, "classmethod") and isinstance(value, Instance):
        own = value.cls
    if isinstance(value, ClassValue) and not has_decorator(method, "classmethod"):
        own = None
    function: Value = FunctionValue(method, cls.frame, own)
    if has_decorator(method, "property") or has_decorator(method, "cached_property"):
        if own is None:
            return UNKNOWN
        return ev.call(FunctionValue(method, cls.frame, own), Given([], {}, False), method.function_node, cls.frame)
    for decorator in reversed(getattr(method.node, "decorator_list", [])):
        function = _decorate(ev, decorator, function, cls.scope, ev.frame_of(cls.scope, cls.frame))
    return function


# ---------------------------------------------------------------- who calls a function


def calls_of(ev: Evaluator, scope: Scope, frame: Frame) -> list[tuple[ast.Call, Scope]]:
    """Calls of a function in its own file, with the scopes that they stand in; of `__init__` the calls of its class."""
    cls = scope.parent if scope.parent is not None and scope.parent.kind == "class" else None
    wanted = cls if cls is not None and scope.name == "__init__" else scope
    names = {wanted.name, *ev.other_names(frame.model, wanted.name)}
    if cls is not None and scope.name == "__call__":
        names |= _instances(ev, cls, frame)
    found = []
    for name in names - {"<lambda>"}:
        for call, where in ev.calls_named(frame.model, name):
            value = ev.evaluate(call.func, where, ev.generic_frame(where, frame.model))
            method = value == UNKNOWN and cls is not None and isinstance(call.func, ast.Attribute)
            if isinstance(value, Instance):
                value = attribute(ev, value, "__call__")
            if called_scope(value) is wanted or method:
                found.append((call, where))
    return found


def _instances(ev: Evaluator, cls: Scope, frame: Frame) -> set[str]:
    """Names given to the objects of a class where they are made, and the empty one for those called on the spot."""
    found = {""}
    for call, where in ev.calls_named(frame.model, cls.name):
        statement = facts_of(where.chunk).parents.get(id(call))
        if isinstance(statement, ast.Assign):
            found |= {last_name(target) for target in statement.targets}
    return found


def called_scope(value: Value) -> Scope | None:
    """The definition behind a callable."""
    while isinstance(value, Transformed):
        value = value.target
    if isinstance(value, (FunctionValue, ClassValue)):
        return value.scope
    return None
