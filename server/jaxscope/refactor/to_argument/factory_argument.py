"""Takes a compiled function out of the function that makes one for each number: the number becomes an argument.

The factory goes on answering a function of the same arguments, a `partial` of the one that is compiled once.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import decorated_by
from jaxscope.refactor.repeated import check_stale, rebuilt_at
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.syntax import add_parameter, replace
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.names.scopes import Scope, facts_of
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.rebuilt import Rebuilt
from jaxscope.semantics.retracing.static_use import use_of
from jaxscope.text.edit import Edit, SourceChange, TextEdit
from jaxscope.text.span import Range, Span


def can_plan(one: Rebuilt) -> bool:
    """Is it a definition in a function that takes what differs as parameters?"""
    definition, factory = one.fresh.node, one.fresh.scope
    decorated = isinstance(definition, ast.FunctionDef) and one.node in definition.decorator_list
    return decorated and one.varies == "values" and factory.is_function and factory.enclosing_function() is None


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """Makes what the function decorated at `place` takes from its factory keyword-only parameters of it."""
    try:
        model, one = rebuilt_at(project, path, place)
        if not can_plan(one):
            raise Refused("It is not a function that is compiled in one that makes it.", path, place.start.line)
        files = Files(project)
        file = files.get(path)
        start = file.module.lines.offset(place.start)
        inner, factory = _definitions(file, start)
        names = _taken(file, inner, factory)
        _check(file, inner, factory, names)
        compiled = facts_of(one.fresh.scope.chunk).by_node[id(one.fresh.node)]
        for name in names:
            if use_of(Evaluator(project, model), one.fresh.scope, name, compiled) != "array":
                raise file.refuse(f"`{name}` is needed when the function is traced.", inner)
        edits = Edits()
        edits.add(file, _moved(file, inner, factory, names))
        change = edits.change()
        check_stale(project, change, path, place.start.line)
        return change
    except Refused as refused:
        return refused.refusal


def _definitions(file: File, start: int) -> tuple[ast.FunctionDef, ast.FunctionDef]:
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef) and any(file.layout.start(one) == start for one in node.decorator_list):
            factory = file.parents.get(node)
            if isinstance(factory, ast.FunctionDef) and file.parents.get(factory) is file.tree:
                return node, factory
            raise file.refuse("The function that makes it is not at the top of the file.", node)
    raise Refused("There is no decorated function here.", file.path, file.module.lines.position(start).line)


def _taken(file: File, inner: ast.FunctionDef, factory: ast.FunctionDef) -> list[str]:
    """Parameters of the factory that the function reads."""
    home, found = file.scope(factory), dict[str, None]()
    for scope in file.scope(inner).walk():
        for read in scope.reads:
            if file.lookup(scope, read.name) is home:
                found[read.name] = None
    return list(found)


def _check(file: File, inner: ast.FunctionDef, factory: ast.FunctionDef, names: list[str]) -> None:
    body = [one for one in factory.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    returned = body[-1].value if isinstance(body[-1], ast.Return) else None
    simple = len(body) == 2 and body[0] is inner and isinstance(returned, ast.Name) and returned.id == inner.name
    if not simple or factory.decorator_list:
        raise file.refuse(f"`{factory.name}` does more than to make the function.", factory)
    home = file.scope(factory)
    if any(len(file.bindings(home, name)) != 1 or file.bindings(home, name)[0].kind != "parameter" for name in names):
        raise file.refuse(f"What it takes from `{factory.name}` is not a parameter alone.", factory)
    if any(inner.name == other for scope in file.scopes() for other in _globals_read(file, scope)) or (
        inner.name in file.top.bindings
    ):
        raise file.refuse(f"There is another `{inner.name}` in the file.", inner)
    application = decorated_by(file, inner.decorator_list[0])
    if len(inner.decorator_list) != 1 or application is None or application.unclear is not None:
        raise file.refuse("It cannot be seen how it is compiled.", inner)
    if any(application.option(name) is not None for name in ("in_shardings", "abstracted_axes")):
        raise file.refuse("Its options follow the signature.", inner)
    if inner.args.kwarg is not None or any(name in (arg.arg for arg in _all(inner.args)) for name in names):
        raise file.refuse("It may take an argument of that name already.", inner)
    defaults = [*inner.args.defaults, *(one for one in inner.args.kw_defaults if one is not None)]
    if any(isinstance(one, ast.Name) for default in defaults for one in ast.walk(default)):
        raise file.refuse("Its defaults may be others each time.", inner)
    if any(_is_long_string(one) for one in ast.walk(inner)):
        raise file.refuse("It has a text of several lines.", inner)


def _globals_read(file: File, scope: Scope) -> list[str]:
    """Names that mean something outside of the file's functions, as far as the scope reads them."""
    return [read.name for read in scope.reads if file.lookup(scope, read.name) in (None, file.top)]


def _all(args: ast.arguments) -> list[ast.arg]:
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *([args.vararg] if args.vararg else [])]


def _is_long_string(node: ast.AST) -> bool:
    text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
    return text and isinstance(node, ast.expr) and node.lineno != node.end_lineno


def _moved(file: File, inner: ast.FunctionDef, factory: ast.FunctionDef, names: list[str]) -> list[Edit]:
    layout = file.layout
    first = layout.line_start(min(layout.start(one) for one in inner.decorator_list))
    last = layout.line_end(layout.end(inner))
    after = layout.line_start(layout.start(factory.body[-1]))
    inside = add_parameter(layout, inner, ", ".join(names), None)
    moved = [Edit(Span(edit.span.start - first, edit.span.end - first), edit.new) for edit in inside]
    text = TextEdit.of(moved).apply(layout.text[first:last])
    indent = layout.indent(first)
    lines = [line.removeprefix(indent) for line in text.splitlines(keepends=True)]
    top = layout.line_start(layout.start(factory))
    blank = layout.newline * 3
    returned = factory.body[-1]
    assert isinstance(returned, ast.Return) and returned.value is not None
    partial, imports = imported(file, returned.value, "functools.partial")
    bound = ", ".join(f"{name}={name}" for name in names)
    result = f"{partial}({inner.name}, {bound})"
    return [
        *imports,
        Edit(Span(top, top), "".join(lines) + blank),
        Edit(Span(first, after), ""),
        replace(layout, returned.value, result),
    ]
