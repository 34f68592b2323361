"""What a function's code may do to things outside of it, by its syntax alone: assignments, filled containers, calls,
yields. Whose the things are is for `effects` to find out.

Kept with the chunk: it rests on nothing but the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jaxscope.semantics.scopes import Scope, facts_of

Kind = Literal["name", "attribute", "item", "method", "call", "yield", "cache"]

FILLS = frozenset(
    ("append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "__setitem__")
)
"""Methods that put something into a container."""
EMPTIES = frozenset(
    ("pop", "popleft", "popitem", "remove", "discard", "clear", "sort", "reverse", "rotate", "move_to_end")
)
"""Methods that change a container otherwise."""
_CACHES = frozenset(("lru_cache", "cache"))
_GUARDS = frozenset(("Tracer", "trace_state_clean", "is_concrete", "is_traced", "is_tracer"))
"""Names in tests by which code tells whether it is being traced."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place that may have an effect outside."""

    kind: Kind
    node: ast.AST
    """The statement, call or yield."""
    target: ast.expr
    """What is assigned; of an item and a method, the container; of a call what is called."""
    scope: Scope
    """Where it stands, a comprehension's included."""
    values: tuple[ast.expr, ...] = ()
    """What is stored or handed over."""
    augmented: bool = False
    method: str = ""


def candidates_of(function: Scope) -> tuple[Candidate, ...]:
    """Those of one function or lambda, functions inside it left out; in source order."""
    kept: dict[Scope, tuple[Candidate, ...]] = function.chunk.facts.setdefault("effect_candidates", {})
    if function not in kept:
        kept[function] = tuple(_of_function(function))
    return kept[function]


def _of_function(function: Scope) -> Iterator[Candidate]:
    node = function.function_node
    body = node.body if isinstance(node.body, list) else [node.body]
    if _asks_whether_traced(body):
        return
    for decorator in getattr(node, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _CACHES:
            yield Candidate("cache", decorator, called, function)
    for item, scope in _nodes(body, function):
        yield from _of_node(item, scope, function)


def _asks_whether_traced(body: list[ast.stmt] | list[ast.expr]) -> bool:
    tests = (item.test for one in body for item in ast.walk(one) if isinstance(item, (ast.If, ast.IfExp)))
    names = (
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for t in tests for part in ast.walk(t)
    )
    return any(name in _GUARDS for name in names)


def _nodes(body: list[ast.stmt] | list[ast.expr], scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """All trees of a function's own code, with the scope that they stand in."""
    by_node = facts_of(scope.chunk).by_node
    stack: list[tuple[ast.AST, Scope]] = [(one, scope) for one in reversed(body)]
    while stack:
        node, home = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        yield node, home
        inner = by_node.get(id(node), home)
        stack += [(child, inner) for child in reversed(list(ast.iter_child_nodes(node)))]


def _of_node(node: ast.AST, scope: Scope, function: Scope) -> Iterator[Candidate]:
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        if node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from _assigned(target, node, node.value, scope, function)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield Candidate("item", node, target.value, scope, method="del")
    elif isinstance(node, ast.Call):
        yield from _called(node, scope)
    elif isinstance(node, ast.Yield) and node.value is not None:
        yield Candidate("yield", node, node.value, scope, (node.value,))


def _assigned(
    target: ast.expr, node: ast.Assign | ast.AnnAssign | ast.AugAssign, value: ast.expr, scope: Scope, function: Scope
) -> Iterator[Candidate]:
    augmented = isinstance(node, ast.AugAssign)
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) and same else [value] * len(target.elts)
        for one, part in zip(target.elts, parts, strict=True):
            yield from _assigned(one.value if isinstance(one, ast.Starred) else one, node, part, scope, function)
    elif isinstance(target, ast.Name):
        if target.id in function.globals or target.id in function.nonlocals:
            yield Candidate("name", node, target, scope, (value,), augmented)
    elif isinstance(target, ast.Attribute):
        yield Candidate("attribute", node, target, scope, (value,), augmented)
    elif isinstance(target, ast.Subscript):
        yield Candidate("item", node, target.value, scope, (value,), augmented)


def _called(node: ast.Call, scope: Scope) -> Iterator[Candidate]:
    function = node.func
    values = (*node.args, *(keyword.value for keyword in node.keywords))
    if isinstance(function, ast.Attribute) and function.attr in FILLS | EMPTIES:
        stored = values if function.attr in FILLS else ()
        yield Candidate("method", node, function.value, scope, stored, method=function.attr)
    elif isinstance(function, ast.Name) and function.id == "setattr" and len(node.args) == 3:
        yield Candidate("attribute", node, node.args[0], scope, (node.args[2],), method="setattr")
    yield Candidate("call", node, function, scope, values)


def is_guarded(candidate: Candidate, function: Scope) -> bool:
    """Does the function ask first whether it is there, as a memo does?"""
    node = function.function_node
    body = node.body if isinstance(node.body, list) else [node.body]
    target = candidate.target
    text = ast.unparse(target)
    for item, _ in _nodes(body, function):
        if isinstance(item, ast.Compare):
            compared = [item.left, *item.comparators]
            if any(isinstance(op, (ast.In, ast.NotIn)) for op in item.ops) and ast.unparse(compared[-1]) == text:
                return True
            none = isinstance(compared[-1], ast.Constant) and compared[-1].value is None
            if none and ast.unparse(item.left).startswith(text):
                return True
        elif isinstance(item, ast.ExceptHandler) and "KeyError" in ast.unparse(item.type or ast.Constant("")):
            return True
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr == "get":
            if ast.unparse(item.func.value) == text:
                return True
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "hasattr":
            return isinstance(target, ast.Attribute)
    return candidate.method == "setdefault"
