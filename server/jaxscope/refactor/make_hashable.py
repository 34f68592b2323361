"""Passes a static dict, list or set as a tuple, of which the function makes what it was.

Such a call raises as it is, since JAX looks static values up by their hash: nothing that works can be broken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.repeated import varied_at
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import insert_before, replace, starts_own_line
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.varied import Varied
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range

_MAKES = {ast.Dict: "dict", ast.List: "list", ast.Set: "set"}


def can_plan(one: Varied) -> bool:
    """Is it written out in the call, of constants?"""
    return one.cause == "unhashable" and _converted(one.node) is not None


def plan(project: Project, path: str, place: Range, parameter: str) -> SourceChange | Refusal:
    """Converts the argument for `parameter` at every call, and back in the function."""
    try:
        _, one = varied_at(project, path, place, parameter)
        files = Files(project)
        home = one.call.function.chunk.facts["model"]
        file = files.get(home.path)
        function = _function(file, home.function_of(one.call.function).line)
        edits = Edits()
        kinds = set()
        for use in files.of_function(file, function):
            call = use.file.parents.get(use.node)
            if not isinstance(call, ast.Call) or call.func is not use.node:
                raise use.file.refuse(f"`{function.name}` is used otherwise than called.", use.node)
            given = _argument(use.file, call, function, parameter)
            text = _converted(given, use.file.layout.source)
            if text is None:
                raise use.file.refuse(f"`{parameter}` is not written out here, of constants.", given)
            kinds.add(_MAKES[type(given)])
            edits.add(use.file, [replace(use.file.layout, given, text)])
        if len(kinds) != 1:
            raise file.refuse(f"`{parameter}` is of several kinds.", function)
        edits.add(file, _back(file, function, parameter, kinds.pop()))
        return edits.change()
    except Refused as refused:
        return refused.refusal


def _converted(node: ast.expr, source: Callable[[ast.expr], str] = ast.unparse) -> str | None:
    """A tuple with the same content; None where that is not constants alone."""
    if isinstance(node, ast.Dict):
        keys = [key for key in node.keys if key is not None]
        if len(keys) != len(node.keys) or not all(map(_is_fixed, [*keys, *node.values])):
            return None
        pairs = [f"({source(key)}, {source(value)})" for key, value in zip(keys, node.values, strict=True)]
        return _tuple(pairs)
    if isinstance(node, ast.List | ast.Set) and all(map(_is_fixed, node.elts)):
        return _tuple([source(one) for one in node.elts])
    return None


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _is_fixed(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(map(_is_fixed, node.elts))
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _function(file: File, line: int) -> ast.FunctionDef:
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef) and line in (node.lineno, *(one.lineno for one in node.decorator_list)):
            if not node.decorator_list:
                break
            return node
    raise Refused("The function is not compiled by a decorator.", file.path, line)


def _argument(file: File, call: ast.Call, function: FunctionNode, parameter: str) -> ast.expr:
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    index = names.index(parameter) if parameter in names else len(call.args)
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    if starred or names[:1] == ["self"] or index >= len(call.args):
        raise file.refuse(f"It cannot be seen what is given for `{parameter}` here.", call)
    return call.args[index]


def _back(file: File, function: ast.FunctionDef, parameter: str, kind: str) -> list[Edit]:
    """`opts = dict(opts)` as the function's first statement."""
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(function.body) > 1:
        first = function.body[1]
    if not starts_own_line(file.layout, first) or file.lookup(file.scope(function), kind) is not None:
        raise file.refuse(f"`{parameter} = {kind}({parameter})` finds no place in the function.", first)
    return insert_before(file.layout, first, [f"{parameter} = {kind}({parameter})"])
