"""Does a call give its argument away, so that the array is deleted after it?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files

_DEPTH = 6
_OPTIONS = ("donate_argnums", "donate_argnames", "donate")


def donates(files: Files, file: File, call: ast.Call, position: int | None, keyword: str | None) -> bool:
    """May the argument at `position`, or given as `keyword`, be donated?"""
    for option in _options(files, file, call, 0):
        if option.arg == "donate_argnames":
            names = _literal(option.value)
            if keyword is None or names is None or keyword in names:
                return True
        else:
            numbers = (position,) if option.arg == "donate" else _literal(option.value)
            if numbers is None or position is None or position in [_from_start(number, call) for number in numbers]:
                return True
    return False


def _from_start(number: object, call: ast.Call) -> object:
    """The position meant by one that counts from the end."""
    return number + len(call.args) if isinstance(number, int) and number < 0 else number


def _literal(node: ast.expr) -> tuple[object, ...] | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    if value is None or value is False:
        return ()
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _options(files: Files, file: File, call: ast.Call, depth: int) -> Iterator[ast.keyword]:
    """Donation options of what is called."""
    yield from (keyword for keyword in call.keywords if keyword.arg == "donate")
    yield from _of_expression(files, file, call.func, depth)


def _of_expression(files: Files, file: File, node: ast.expr, depth: int) -> Iterator[ast.keyword]:
    if depth > _DEPTH:
        return
    if isinstance(node, ast.Call):
        yield from (keyword for keyword in node.keywords if keyword.arg in _OPTIONS)
        for part in (node.func, *node.args):
            yield from _of_expression(files, file, part, depth + 1)
    elif isinstance(node, ast.Name):
        home = file.lookup(file.scope_of(node), node.id)
        for binding in home.bindings.get(node.id, []) if home else []:
            target = files.target(file, binding)
            if target is not None and target[1]:
                yield from _of_global(files, target[0], target[1], depth)
            else:
                yield from _of_binding(files, file, binding.node, binding.value, depth)
    elif isinstance(node, ast.Attribute):
        yield from _of_attribute(files, file, node, depth)


def _of_binding(files: Files, file: File, node: ast.AST, value: ast.expr | None, depth: int) -> Iterator[ast.keyword]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for decorator in node.decorator_list:
            yield from _of_expression(files, file, decorator, depth + 1)
    elif value is not None and isinstance(value, ast.Call | ast.Name | ast.Attribute):
        yield from _of_expression(files, file, value, depth + 1)


def _of_global(files: Files, path: str, name: str, depth: int) -> Iterator[ast.keyword]:
    other = files.readable(path)
    for binding in other.top.bindings.get(name, []) if other else []:
        if other is not None:
            yield from _of_binding(files, other, binding.node, binding.value, depth)


def _of_attribute(files: Files, file: File, node: ast.Attribute, depth: int) -> Iterator[ast.keyword]:
    """A function of a module, a method, or what an object keeps under that name."""
    if file.dotted(node) is not None:
        path = files.project.resolve(file.path, file.dotted(node.value) or "")
        if path is not None:
            yield from _of_global(files, path, node.attr, depth)
        return
    for other in files.mentioning(node.attr):
        for item in other.nodes:
            if isinstance(item, ast.FunctionDef) and item.name == node.attr:
                yield from _of_binding(files, other, item, None, depth)
    for other, store in files.attribute_stores(node.attr):
        statement = other.parents.get(store)
        if isinstance(statement, ast.Assign) and statement.value is not None:
            yield from _of_binding(files, other, store, statement.value, depth)
