"""Takes a compiled method with a static `self` out of its class: what it reads of the object becomes arguments.

Objects that are equal only to themselves make JAX trace the method for each; their numbers and arrays do not.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.compiled_at import compiled_at
from jaxscope.refactor.program.names import File, identifiers
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.repeated import compiled_place, varied_at
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import starts_own_line
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.names.scopes import Read, Scope
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.static_use import use_of_expression
from jaxscope.semantics.retracing.varied import Varied
from jaxscope.text.edit import Edit, SourceChange, TextEdit
from jaxscope.text.span import Range, Span

_OPTIONS = frozenset(("static_argnums", "static_argnames"))


def can_plan(one: Varied) -> bool:
    """Is it the object of a method that is compiled by its decorator?"""
    parent = one.call.function.parent
    decorators = getattr(one.call.function.node, "decorator_list", ())
    is_method = parent is not None and parent.kind == "class" and one.call.compiled_at in decorators
    return one.cause == "new object" and is_method and one.call.statics == (one.parameter,)


def plan(project: Project, path: str, place: Range, parameter: str) -> SourceChange | Refusal:
    """The method called at `place` calls a compiled function with what it reads of `parameter`."""
    try:
        model, one = varied_at(project, path, place, parameter)
        files = Files(project)
        where, compiled = compiled_place(model, one.call)
        file = files.get(where)
        method, cls = _method(file, compiled)
        _check(file, method, cls, compiled)
        attributes = _attributes(Evaluator(project, model), one.call.function, parameter)
        if attributes is None:
            raise file.refuse(f"It needs more of `{parameter}` than numbers and arrays.", method)
        name = f"_{method.name.lstrip('_')}"
        taken = identifiers(method)
        if name in identifiers(file.tree) or any(one in taken for one in attributes):
            raise file.refuse("A name that it needs is in use.", method)
        edits = Edits()
        edits.add(file, _moved(file, method, cls, name, list(attributes)))
        return edits.change()
    except Refused as refused:
        return refused.refusal


def _method(file: File, compiled: Range) -> tuple[ast.FunctionDef, ast.ClassDef]:
    start = file.module.lines.offset(compiled.start)
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef) and any(file.layout.start(one) == start for one in node.decorator_list):
            cls = file.parents.get(node)
            if isinstance(cls, ast.ClassDef) and file.parents.get(cls) is file.tree:
                return node, cls
    raise Refused("It is not a method of a class at the top of the file.", file.path, compiled.start.line)


def _check(file: File, method: ast.FunctionDef, cls: ast.ClassDef, compiled: Range) -> None:
    args = method.args
    application, _ = compiled_at(file, compiled)
    options = application.options
    if application.unclear or options is None or any(key.arg not in _OPTIONS for key in options.keywords):
        raise file.refuse("Its options would have to change too.", method)
    special = args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults
    if len(method.decorator_list) != 1 or special or method.returns or any(arg.annotation for arg in args.args):
        raise file.refuse("Only a plain signature can be written a second time.", method)
    start = file.layout.start(method.decorator_list[0])
    bare = file.layout.text[file.layout.line_start(start) : start].strip() == "@"
    if not starts_own_line(file.layout, method.body[0]) or cls.decorator_list or not bare:
        raise file.refuse(f"`{method.name}` cannot be taken out of `{cls.name}`.", method)
    for node in ast.walk(method):
        text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if text and isinstance(node, ast.expr) and node.lineno != node.end_lineno:
            raise file.refuse("It has a text of several lines.", node)
        if isinstance(node, ast.Name) and (node.id in ("super", "__class__") or node.id.startswith("__")):
            raise file.refuse(f"`{node.id}` means something in the class alone.", node)


def _attributes(ev: Evaluator, function: Scope, name: str) -> dict[str, None] | None:
    """What the function reads of a parameter, if that is only numbers and arrays that it computes with."""
    found: dict[str, None] = {}
    for scope in function.walk():
        for read in scope.reads:
            if read.name == name and ev.owner(name, scope) is function:
                attribute = _attribute(read)
                if attribute is None or use_of_expression(ev, read.links[0], scope, function) != "array":
                    return None
                found[attribute] = None
    return found or None


def _attribute(read: Read) -> str | None:
    link = read.links[0] if len(read.links) == 1 else None
    return link.attr if isinstance(link, ast.Attribute) and isinstance(link.ctx, ast.Load) else None


def _moved(file: File, method: ast.FunctionDef, cls: ast.ClassDef, name: str, attributes: list[str]) -> list[Edit]:
    layout = file.layout
    own, *others = [arg.arg for arg in method.args.args]
    decorator = method.decorator_list[0]
    first, last = layout.line_start(layout.start(method.body[0])), layout.line_end(layout.end(method))
    reads = [
        node
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own
    ]
    body = TextEdit.of(
        Edit(Span(layout.start(node) - first, layout.end(node) - first), node.attr) for node in reads
    ).apply(layout.text[first:last])
    outer = layout.indent(layout.start(method))
    lines = "".join(line.removeprefix(outer) for line in body.splitlines(keepends=True))
    bare = layout.source(_transform(file, decorator))
    end = layout.newline
    made = f"@{bare}{end}def {name}({', '.join([*attributes, *others])}):{end}{lines}{end * 3}"
    top = layout.line_start(min([layout.start(cls), *(layout.start(one) for one in cls.decorator_list)]))
    given = ", ".join([*(f"{own}.{one}" for one in attributes), *others])
    head = layout.line_start(layout.start(decorator))
    below = layout.lines.starts[layout.lines.position(layout.end(decorator)).line]
    return [
        Edit(Span(top, top), made),
        Edit(Span(head, below), ""),
        Edit(Span(first, last), f"{layout.indent(first)}return {name}({given})"),
    ]


def _transform(file: File, decorator: ast.expr) -> ast.expr:
    """`jax.jit` of `partial(jax.jit, …)` and of `jax.jit(…)`."""
    assert isinstance(decorator, ast.Call)
    return decorator.args[0] if decorator.args else decorator.func
