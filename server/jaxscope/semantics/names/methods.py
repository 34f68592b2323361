"""What a definition in a class is, as its syntax tells."""

from __future__ import annotations

import ast

from jaxscope.semantics.names.scope_types import Scope


def has_decorator(scope: Scope, name: str) -> bool:
    """Does the definition have this plain decorator (`staticmethod`, `property`)?"""
    decorators = getattr(scope.node, "decorator_list", [])
    return any((d.id if isinstance(d, ast.Name) else getattr(d, "attr", "")) == name for d in decorators)


def is_self(scope: Scope, name: str) -> bool:
    """Is `name` the parameter of a method that holds its object or class?"""
    if scope.parent is None or scope.parent.kind != "class" or has_decorator(scope, "staticmethod"):
        return False
    given = scope.function_node.args
    return [argument.arg for argument in (*given.posonlyargs, *given.args)][:1] == [name]
