"""What a function's code may do to things outside of it, by its syntax alone: assignments, filled containers, calls,
yields. Whose the things are is for `effects` to find out.

Kept with the chunk: it rests on nothing but the text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Scope, facts_of
from jaxscope.semantics.names.variables import begins_with
from jaxscope.semantics.vocabulary import EMPTIES, FILLS
from jaxscope.source.module import Chunk

Kind = Literal["name", "attribute", "item", "method", "call", "yield", "cache"]

_CACHES = frozenset(("lru_cache", "cache"))
_GUARDS = re.compile(
    r"tracer|trace_state|is_traced|is_tracing|is_concrete|under_jax|under_jit|(?<![a-z])in_jit(?![a-z])", re.IGNORECASE
)
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
    """Does the new value follow from the old, as a counter's does?"""
    unpacked: bool = False
    """Is it one of several things that the value is taken apart into?"""
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
    if _may_ask(function.chunk) and _asks_whether_traced(body):
        return
    for decorator in getattr(node, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _CACHES:
            yield Candidate("cache", decorator, called, function)
    for item, scope in _nodes(body, function):
        yield from _of_node(item, scope, function)


def _may_ask(chunk: Chunk) -> bool:
    """Is any of the names in the text? To walk through every function takes longer."""
    found: bool | None = chunk.facts.get("may_ask")
    if found is None:
        found = chunk.facts["may_ask"] = _GUARDS.search(chunk.text) is not None
    return found


def _asks_whether_traced(body: list[ast.stmt] | list[ast.expr]) -> bool:
    tests = [item.test for one in body for item in ast.walk(one) if isinstance(item, (ast.If, ast.IfExp))]
    return any(
        _GUARDS.search(last_name(part)) for test in tests for part in ast.walk(test) if isinstance(part, ast.expr)
    )


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
        stack += [(child, inner) for child in reversed(list(_children(node)))]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What has parts of its own or can be called, so neither names nor operators, in half of the time."""
    for name in node._fields:
        field = getattr(node, name, None)
        for one in field if isinstance(field, list) else (field,):
            if isinstance(one, ast.AST) and one._fields and not isinstance(one, (ast.Name, ast.Constant)):
                yield one


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
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) and same else [value] * len(target.elts)
        for one, part in zip(target.elts, parts, strict=True):
            inner = one.value if isinstance(one, ast.Starred) else one
            for found in _assigned(inner, node, part, scope, function):
                yield found if same else replace(found, unpacked=True)
        return
    counts = isinstance(node, ast.AugAssign) or _is_counted(target, value)
    if isinstance(target, ast.Name):
        if target.id in function.globals or target.id in function.nonlocals:
            yield Candidate("name", node, target, scope, (value,), counts)
    elif isinstance(target, ast.Attribute):
        yield Candidate("attribute", node, target, scope, (value,), counts)
    elif isinstance(target, ast.Subscript):
        yield Candidate("item", node, target.value, scope, (value,), counts)


def _is_counted(target: ast.expr, value: ast.expr) -> bool:
    """`n = n + 1` and `counts[k] = counts.get(k, 0) + 1`."""
    if not isinstance(value, ast.BinOp):
        return False
    text = ast.unparse(target.value if isinstance(target, ast.Subscript) else target)
    return any(begins_with(ast.unparse(side), text) for side in (value.left, value.right))


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
    text = ast.unparse(candidate.target)
    asks = any(_asks_for(item, candidate.target, text) for item, _ in _nodes(body, function))
    return asks or candidate.method == "setdefault"


def _asks_for(item: ast.AST, target: ast.expr, text: str) -> bool:
    if isinstance(item, ast.Compare):
        last = item.comparators[-1]
        if any(isinstance(op, (ast.In, ast.NotIn)) for op in item.ops):
            return ast.unparse(last) == text
        return _is_text(last, None) and begins_with(ast.unparse(item.left), text)
    if isinstance(item, ast.Try):
        missing = any(one.type is not None and "KeyError" in ast.unparse(one.type) for one in item.handlers)
        return missing and any(_looks_up(one, target, text) for one in item.body)
    if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute) and item.func.attr == "get":
        return ast.unparse(item.func.value) == text
    if isinstance(item, ast.Call) and last_name(item.func) in ("hasattr", "getattr"):
        return isinstance(target, ast.Attribute) and any(_is_text(one, target.attr) for one in item.args)
    return False


def _looks_up(statement: ast.stmt, target: ast.expr, text: str) -> bool:
    return any(
        isinstance(one, ast.expr) and one is not target and ast.unparse(one) == text for one in ast.walk(statement)
    )


def _is_text(node: ast.expr, text: str | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def is_put_back(candidate: Candidate, function: Scope) -> bool:
    """Is it changed for a while only: assigned again, or counted up and down, where the function ends?"""
    text = ast.unparse(candidate.target)
    same = [
        other
        for other in candidates_of(function)
        if other.kind == candidate.kind and ast.unparse(other.target) == text and other.node is not candidate.node
    ]
    body = getattr(function.function_node, "body", [])
    ends = [one for part in body if isinstance(body, list) for one in ast.walk(part) if isinstance(one, ast.Try)]
    final = {id(part) for one in ends for last in one.finalbody for part in ast.walk(last)}
    if any(id(other.node) in final for other in (candidate, *same)) and same:
        return True
    return id(candidate.node) in final and candidate.kind in ("name", "attribute")
