"""Names that are meant by a string: `getattr(module, "f")`, `globals()["W"]`, `eval("f(x)")`, a patch, a doctest.

Such a use cannot be followed, so that whatever has that name must stay as it is.
"""

from __future__ import annotations

import ast
import re

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files

_BY_NAME = frozenset(
    [
        *("getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller", "patch", "object", "setitem"),
        *("delitem", "__getattr__", "__getattribute__", "__setattr__", "get", "pop", "setdefault", "getattr_static"),
    ]
)
"""Last component of functions that are told a name."""
_OF_NAMESPACE = frozenset(["get", "pop", "setdefault"])
"""Those of them that count only on a namespace."""
_CODE = frozenset(["builtins.eval", "builtins.exec", "builtins.compile", "cProfile.run", "profile.run"])
"""Functions that are given code, besides those of `timeit`."""
_NAMESPACES = frozenset(["globals", "locals", "vars"])


def check_named(files: Files, name: str) -> None:
    """Raises Refused where code of the project means `name` by a string."""
    pattern = re.compile(rf"(?<![\w]){re.escape(name)}(?!\w)")
    for file in files.mentioning(name):
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and pattern.search(node.value):
                if _means(file, node, name):
                    raise file.refuse(f"`{name}` is meant by a string here, so that its uses cannot be followed.", node)
                if _doctest(node.value, pattern):
                    raise file.refuse(f"`{name}` is used by a doctest here, which would have to change too.", node)
            if isinstance(node, ast.Call) and _updated(node, name):
                raise file.refuse(f"`{name}` is meant by a string here, so that its uses cannot be followed.", node)


def check_exported(files: Files, file: File, name: str) -> None:
    """Raises Refused where a module that has the global `name` of `file` exports it."""
    for other, local in files.handed_on(file, name):
        for binding in other.bindings(other.top, "__all__"):
            for constant in ast.walk(other.statement(binding.node)):
                if isinstance(constant, ast.Constant) and constant.value == local:
                    reason = f"`{local}` is exported in `__all__`, so that its calls cannot all be seen."
                    raise other.refuse(reason, constant)


def _means(file: File, node: ast.Constant, name: str) -> bool:
    text = str(node.value)
    whole = text == name or text.endswith((f".{name}", f":{name}"))
    at: ast.AST = node
    parent = file.parents.get(at)
    while isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.keyword | ast.BinOp):
        at, parent = parent, file.parents.get(parent)
    if isinstance(parent, ast.Subscript) and parent.slice is at:
        return whole and _namespace(parent.value)
    if isinstance(parent, ast.Dict) and at in parent.keys:
        call = file.parents.get(parent)
        return whole and isinstance(call, ast.Call) and any(map(_namespace, [call.func, *call.args]))
    if not isinstance(parent, ast.Call):
        return False
    called, dotted = _last(parent.func), file.dotted(parent.func) or ""
    if dotted in _CODE or dotted.startswith("timeit."):
        return True
    if called in _OF_NAMESPACE:
        return whole and isinstance(parent.func, ast.Attribute) and _namespace(parent.func.value)
    return whole and called in _BY_NAME


def _updated(call: ast.Call, name: str) -> bool:
    """`globals().update(W=…)`."""
    given = any(keyword.arg == name for keyword in call.keywords)
    return given and isinstance(call.func, ast.Attribute) and _namespace(call.func.value)


def _namespace(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute) and node.attr != "__dict__":
        node = node.value
    if isinstance(node, ast.Attribute):
        return True
    return isinstance(node, ast.Call) and _last(node.func) in _NAMESPACES


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _doctest(text: str, pattern: re.Pattern[str]) -> bool:
    lines = (line.strip() for line in text.splitlines()) if ">>>" in text else ()
    return any(line.startswith((">>>", "... ")) and pattern.search(line) for line in lines)
