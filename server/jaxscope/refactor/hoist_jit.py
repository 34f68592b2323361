"""Compiles a function once before a loop instead of anew in each iteration."""

from __future__ import annotations

import ast

from jaxscope.refactor import jit_in_init
from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.repeated import check_stale, rebuilt_at
from jaxscope.semantics.compiled.varying import bindings_in, loops_around, names_in
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.rebuilt import Rebuilt
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit
from jaxscope.text.span import Position, Range, Span

_MAKING = frozenset(("partial", "Partial", "jit", "vmap", "grad", "value_and_grad", "checkpoint", "jacfwd", "jacrev"))
"""What only makes a function of a function."""


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """Moves the call of `jit` at a place out of the loop around it, or into `__init__`."""
    try:
        model, one = rebuilt_at(project, path, place)
        change = (
            jit_in_init.change(Files(project), path, place) if jit_in_init.is_of_self(one) else _before_loop(model, one)
        )
        check_stale(project, change, path, place.start.line)
        return change
    except Refused as refused:
        return refused.refusal


def _before_loop(model: FileModel, one: Rebuilt) -> SourceChange:
    whole = model.module.range(one.scope.chunk, one.node)
    reason = _unsure(one)
    if reason is not None:
        raise Refused(reason, model.path, whole.start.line)
    loop = loops_around(one.scope, one.fresh.block)[0]
    start = model.module.range(one.scope.chunk, loop.node).start
    text = model.module.lines.line(start.line)
    inside = Span(model.module.lines.offset(whole.start), model.module.lines.offset(whole.end))
    name = _unused(model)
    before = model.module.lines.offset(Position(start.line, 1))
    indent = text[: len(text) - len(text.lstrip())]
    ending = "\r\n" if "\r\n" in model.module.text else "\n"
    made = f"{indent}{name} = {model.module.text[inside.start : inside.end]}{ending}"
    edits = TextEdit.of([Edit(Span(before, before), made), Edit(inside, name)])
    return SourceChange((FileChange(model.path, model.module.text, edits),))


def can_plan(one: Rebuilt) -> bool:
    """Is this the kind of place that can be moved?"""
    return jit_in_init.is_of_self(one) or _unsure(one) is None


def _unsure(one: Rebuilt) -> str | None:
    """Why the call may mean something else before the loop."""
    loops = loops_around(one.scope, one.fresh.block)
    if one.again.why != "loop" or not loops or not loops[0].number or one.fresh.scope is not one.scope:
        return "It is not compiled anew by a loop in the same function."
    if not isinstance(one.node, ast.Call) or one.transform != "jit":
        return "Only a call of `jit` can be moved."
    if one.node.lineno != one.node.end_lineno:
        return "The call of `jit` is on several lines."
    bound = bindings_in(loops[0])
    taken = sorted(set(names_in(one.node)) & bound.keys() - _own(one.node))
    if taken or one.varies != "nothing":
        return f"It takes `{(taken or one.names)[0]}` from the loop."
    if one.fresh.kind == "bound method" or any(_reads_attributes(scope) for scope in one.fresh.code):
        return "The object that it belongs to may change in the loop."
    return None if _only_makes(one.node) else "It does more than to make a function."


def _own(node: ast.expr) -> set[str]:
    """Parameters of lambdas in an expression."""
    return {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}


def _reads_attributes(code: Scope) -> bool:
    """Does it read an attribute or item of a variable around it, which may be set meanwhile?"""
    reads = (read for inner in code.walk() for read in inner.reads)
    return any(read.links and _is_outer_variable(read.name, code) for read in reads)


def _is_outer_variable(name: str, code: Scope) -> bool:
    if any(name in inner.bindings for inner in code.walk()):
        return False
    outer = code.parent
    while outer is not None and outer.kind != "module":
        if name in outer.bindings:
            return True
        outer = outer.parent
    return False


def _only_makes(node: ast.expr) -> bool:
    """Is it made of names, constants, lambdas and transforms alone, so that it does not matter when it runs?"""
    if isinstance(node, ast.Lambda):
        return not node.args.defaults and not any(node.args.kw_defaults)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        parts = [*node.args, *(key.value for key in node.keywords)]
        return name in _MAKING and all(_only_makes(part) for part in parts)
    if isinstance(node, ast.Tuple | ast.List):
        return all(_only_makes(part) for part in node.elts)
    return isinstance(node, ast.Name | ast.Constant)


def _unused(model: FileModel) -> str:
    number, name = 1, "compiled"
    while name in model.module.text:
        number += 1
        name = f"compiled_{number}"
    return name
