"""Where attributes are assigned, other ways than by `self.name = value` included: `setattr(self, "name", value)`,
`self.__dict__["name"] = value`, `self.__dict__.update(name=value)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.semantics.names.scope_types import AttributeWrite, Scope

_SETTERS = ("setattr", "__setattr__")
ASSIGNING = frozenset((*_SETTERS, "update"))
"""Names of what may assign attributes when it is called."""


def assigned_by(target: ast.expr, value: ast.expr | None, path: tuple[int, ...], scope: Scope) -> AttributeWrite | None:
    """The attribute that an assignment to `target` in `scope` sets, if it sets one."""
    if isinstance(target, ast.Attribute):
        root = target.value.id if isinstance(target.value, ast.Name) else ""
        return AttributeWrite(root, target.attr, target, value, path, scope)
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        root, name = _namespace_of(target.value), target.slice.value
        return AttributeWrite(root, name, target, value, path, scope) if root and isinstance(name, str) else None
    return None


def written_by(call: ast.Call, scope: Scope) -> Iterator[AttributeWrite]:
    """The attributes that a call in `scope` assigns, as far as their names are written there."""
    function = call.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name in _SETTERS and len(call.args) == 3:
        root, attribute, value = call.args
        if isinstance(root, ast.Name) and isinstance(attribute, ast.Constant) and isinstance(attribute.value, str):
            yield AttributeWrite(root.id, attribute.value, call, value, (), scope)
    elif name == "update" and isinstance(function, ast.Attribute) and (owner := _namespace_of(function.value)):
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield AttributeWrite(owner, keyword.arg, call, keyword.value, (), scope)
        for given in call.args:
            if isinstance(given, ast.Dict):
                for key, value in zip(given.keys, given.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield AttributeWrite(owner, key.value, call, value, (), scope)


def _namespace_of(node: ast.expr) -> str:
    """`self` of `self.__dict__` and of `vars(self)`; else nothing."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__" and isinstance(node.value, ast.Name):
        return node.value.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars" and node.args:
        return node.args[0].id if isinstance(node.args[0], ast.Name) else ""
    return ""
