"""Function objects that are made anew each time that a place runs: to JAX a different function every time, whatever
its code."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.evaluation.values import ClassValue, FunctionValue, Instance, PartialValue, Transformed, Value
from jaxscope.semantics.names.scopes import Binding, Block, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

Kind = Literal["lambda", "function", "partial", "bound method", "transformed", "made by a call"]
_DEEPEST = 8
_CACHES = ("cache", "memo")


@dataclass(frozen=True, slots=True)
class Fresh:
    """A function object and the place that makes it."""

    kind: Kind
    node: ast.AST
    """The expression or definition."""
    scope: Scope
    """Where that stands."""
    block: Block
    reads: tuple[tuple[ast.expr, Scope], ...] = ()
    """Expressions that it is made of besides its own code: what `partial` binds, the object of a method."""
    code: tuple[Scope, ...] = ()
    """Functions made along with it, with the variables around them."""


def made(ev: Evaluator, node: ast.expr, scope: Scope, block: Block, depth: int = 0) -> Fresh | None:
    """Where the function object that `node` gives is made, when each run of that place makes another."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        binding = only_binding(ev, node, scope)
        return made_by(ev, binding, depth + 1) if binding is not None else None
    value = ev.evaluate(node, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
    if isinstance(node, ast.Lambda):
        return Fresh("lambda", node, scope, block, code=_code(value))
    if isinstance(node, ast.Attribute):
        method = isinstance(value, FunctionValue) and isinstance(value.bound, Instance)
        return Fresh("bound method", node, scope, block, ((node.value, scope),)) if method else None
    return _called(ev, node, value, scope, block, depth) if isinstance(node, ast.Call) else None


def _called(ev: Evaluator, node: ast.Call, value: Value, scope: Scope, block: Block, depth: int) -> Fresh | None:
    """The results of `partial`, of a transform, of a function that makes functions."""
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    if isinstance(value, PartialValue) and value.call is node:
        inner = made(ev, node.args[0], scope, block, depth + 1) if node.args else None
        reads = tuple((one, scope) for one in given[1:])
        return _with(Fresh("partial", node, scope, block, reads), inner)
    if isinstance(value, Transformed) and value.call is node and value.target is not None:
        inner = made(ev, given[0], scope, block, depth + 1) if given else None
        if value.transform.is_jit:
            return inner
        return _with(Fresh("transformed", node, scope, block), inner)
    if isinstance(value, FunctionValue) and value.scope.enclosing_function() is not None:
        callee = ev.evaluate(node.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
        if isinstance(callee, FunctionValue) and not keeps_results(callee.scope):
            return Fresh("made by a call", node, scope, block, tuple((one, scope) for one in given))
    return None


def _with(outer: Fresh, inner: Fresh | None) -> Fresh:
    if inner is None:
        return outer
    return Fresh(outer.kind, outer.node, outer.scope, outer.block, (*outer.reads, *inner.reads), inner.code)


def only_binding(ev: Evaluator, node: ast.expr, scope: Scope) -> Binding | None:
    """What alone can have given a name its value, where it is read."""
    owner = ev.owner(node.id, scope) if isinstance(node, ast.Name) else None
    if owner is None or not isinstance(node, ast.Name):
        return None
    model = ev.model_of(owner.module_part())
    bindings = model.bindings_of(node.id, owner)
    if len(bindings) > 1 and owner is scope.owner():
        bindings = model.reaching(bindings, owner, (model.place_key(scope, node), model.block_of(scope, node)))
    return bindings[0] if len(bindings) == 1 else None


def made_by(ev: Evaluator, binding: Binding, depth: int = 0) -> Fresh | None:
    """Of a name that is bound once: the place that makes its function."""
    ev.look_at(binding.scope)
    if binding.kind == "def":
        inner = ev.model_of(binding.scope.module_part()).scope_of(binding.scope, binding.node)
        return Fresh("function", binding.node, binding.scope, binding.block, code=(inner,) if inner else ())
    if binding.kind == "assign" and binding.value is not None and not binding.path:
        return made(ev, binding.value, binding.scope, binding.block, depth)
    return None


def _code(value: Value) -> tuple[Scope, ...]:
    return (value.scope,) if isinstance(value, FunctionValue) else ()


def keeps_results(scope: Scope) -> bool:
    """Is the function decorated with something that remembers its results, like `functools.cache`?"""
    names = (ast.unparse(decorator).lower() for decorator in getattr(scope.node, "decorator_list", ()))
    return any(word in name for name in names for word in _CACHES)


def hashes_by_identity(ev: Evaluator, cls: ClassValue) -> bool:
    """Are two objects of a class, made alike, different to a cache?"""
    for one in objects.bases(ev, cls):
        node = one.scope.node
        assert isinstance(node, ast.ClassDef)
        if (
            any(child.name in ("__hash__", "__eq__") for child in one.scope.children)
            or "__hash__" in one.scope.bindings
        ):
            return False
        if node.decorator_list or node.keywords:
            return False  # a dataclass compares its fields; any other decorator may do as much
        for base in node.bases:
            value = ev.evaluate(base, one.scope.parent or one.scope, one.frame)
            if not isinstance(value, ClassValue) and not (isinstance(base, ast.Name) and base.id == "object"):
                return False
    return True
