"""Edits of single syntax nodes: a parameter, an argument, an element, a statement, an import.

Each answers edits that touch only what is inserted; the layout around decides how the new text is laid out.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxscope.refactor.writing.layout import FunctionNode, Items, Layout, written_arguments
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span


def insert_item(layout: Layout, items: Items, index: int, new: str) -> list[Edit]:
    """Puts `new` before item `index` of a list, or at its end."""
    elements = items.items
    if not elements:
        return [Edit(Span(items.start, items.start), new)]
    if index < len(elements):
        return [_before(layout, items, index, new)]
    last = elements[-1]
    after = last.comma + 1 if last.comma is not None else last.span.end
    if not _starts_line(layout, last.span.start, items.start) or not _ends_line(layout, after, items.end):
        return [Edit(Span(last.span.end, last.span.end), f", {new}")]
    at = layout.line_end(after)
    line = layout.newline + layout.indent(last.span.start) + new
    if last.comma is not None:
        return [Edit(Span(at, at), line + ",")]
    return [Edit(Span(last.span.end, last.span.end), ","), Edit(Span(at, at), line)]


def _before(layout: Layout, items: Items, index: int, new: str) -> Edit:
    at = items.items[index].span.start
    alone = _starts_line(layout, at, items.start)
    return Edit(Span(at, at), f"{new},{layout.newline}{layout.indent(at)}" if alone else f"{new}, ")


def _starts_line(layout: Layout, at: int, opening: int) -> bool:
    start = layout.line_start(at)
    return start > opening and not layout.text[start:at].strip(" \t\f")


def _ends_line(layout: Layout, at: int, end: int) -> bool:
    stop = layout.line_end(at)
    rest = layout.text[at:stop].strip(" \t\f")
    return stop < end and (not rest or rest.startswith("#"))


# ---------------------------------------------------------------- parameters


def positional(node: FunctionNode) -> list[ast.arg]:
    """Parameters that can be given by position, in order, without `*args`."""
    return [*node.args.posonlyargs, *node.args.args]


def required(node: FunctionNode) -> int:
    """How many of them have no default: the last index where a parameter without one is legal."""
    return len(positional(node)) - len(node.args.defaults)


def add_parameter(layout: Layout, node: FunctionNode, name: str, index: int | None) -> list[Edit]:
    """Adds parameter `name` by position at `index`, or keyword-only at the end where `index` is None.

    `index` must not exceed `required(node)`.
    """
    items = layout.parameters(node)
    if isinstance(node, ast.Lambda) and not items.items:
        return [Edit(Span(items.start, items.start), f" {name if index is not None else f'*, {name}'}")]
    if index is None:
        return _add_keyword_only(layout, node, items, name)
    return insert_item(layout, items, _item_number(layout, node, items, index), name)


def _item_number(layout: Layout, node: FunctionNode, items: Items, index: int) -> int:
    """The item before which the parameter at position `index` stands."""
    parameters = positional(node)
    if index < len(parameters):
        start = layout.start(parameters[index])
        return next(n for n, item in enumerate(items.items) if item.span.start <= start < item.span.end)
    number = 0
    for count, item in enumerate(items.items, 1):
        text = layout.text[item.span.start]
        if text == "/" or text != "*":
            number = count
        if text == "*":
            return count - 1
    return number


def _add_keyword_only(layout: Layout, node: FunctionNode, items: Items, name: str) -> list[Edit]:
    marker = node.args.vararg is not None or bool(node.args.kwonlyargs)
    new = name if marker else f"*, {name}"
    number = len(items.items) - (node.args.kwarg is not None)
    return insert_item(layout, items, number, new)


# ---------------------------------------------------------------- arguments


def add_argument(layout: Layout, call: ast.Call, index: int, new: str) -> list[Edit]:
    """Adds `new` as positional argument `index` of a call (as `ast` counts them)."""
    items = layout.arguments(call)
    edits = _wrap_generator(layout, call, items)
    if index < len(call.args):
        number = _written_number(layout, call, call.args[index])
        return edits + insert_item(layout, items, number, new)
    first_keyword = min((_written_number(layout, call, keyword) for keyword in call.keywords), default=len(items.items))
    last_positional = max((_written_number(layout, call, arg) for arg in call.args), default=-1)
    return edits + insert_item(layout, items, max(first_keyword, last_positional + 1), new)


def add_keyword(layout: Layout, call: ast.Call, new: str) -> list[Edit]:
    """Adds `new` (`name=value`) after the call's other arguments, but before a last `**mapping`."""
    items = layout.arguments(call)
    number = len(items.items)
    while number and layout.text.startswith("**", items.items[number - 1].span.start):
        number -= 1
    return _wrap_generator(layout, call, items) + insert_item(layout, items, number, new)


def _wrap_generator(layout: Layout, call: ast.Call, items: Items) -> list[Edit]:
    if not layout.bare_generator(call):
        return []
    return [Edit(Span(items.start, items.start), "("), Edit(Span(items.end, items.end), ")")]


def _written_number(layout: Layout, call: ast.Call, node: ast.expr | ast.keyword) -> int:
    return next(number for number, other in enumerate(written_arguments(call)) if other is node)


def remove_argument(layout: Layout, call: ast.Call, node: ast.expr | ast.keyword) -> list[Edit]:
    """Takes one argument of a call away, with the comma that belongs to it."""
    items = layout.arguments(call).items
    number = _written_number(layout, call, node)
    if number + 1 < len(items):
        return [Edit(Span(items[number].span.start, items[number + 1].span.start), "")]
    start = items[number - 1].span.end if number else items[number].span.start
    comma = items[number].comma
    end = comma + 1 if comma is not None and not number else items[number].span.end
    return [Edit(Span(start, end), "")]


def replace(layout: Layout, node: ast.expr, new: str) -> Edit:
    """Writes `new` where the expression stands."""
    return Edit(layout.span(node), new)


# ---------------------------------------------------------------- statements and imports


def insert_before(layout: Layout, node: ast.stmt, lines: Sequence[str], blank: int = 0) -> list[Edit]:
    """Inserts statements on their own lines before a statement (its decorators included), indented as it is."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([layout.start(node), *(layout.start(d) for d in decorators)])
    at = layout.line_start(first)
    indent = layout.indent(first)
    newline = layout.newline
    text = "".join(indent + line + newline if line else newline for line in lines)
    return [Edit(Span(at, at), text + newline * blank)]


def insert_after(layout: Layout, node: ast.stmt, line: str) -> list[Edit]:
    """Inserts a statement on its own line after one that ends its line, indented as it is."""
    end = layout.line_end(layout.end(node))
    return [Edit(Span(end, end), layout.newline + layout.indent(layout.start(node)) + line)]


def starts_own_line(layout: Layout, node: ast.stmt) -> bool:
    """Is there nothing but blanks before the statement on its line (no `;`, no `if x:` before it)?"""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    if decorators:
        return True
    start = layout.start(node)
    return not layout.text[layout.line_start(start) : start].strip(" \t\f\ufeff")


def ensure_import(layout: Layout, tree: ast.Module, statement: str) -> list[Edit]:
    """Adds an import after the file's last top-level import (else after docstring and `__future__`); none if there."""
    wanted = ast.dump(ast.parse(statement).body[0])
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    if any(ast.dump(node) == wanted for node in imports):
        return []
    after: ast.stmt | None = imports[-1] if imports else None
    if after is None and tree.body and _is_docstring(tree.body[0]):
        after = tree.body[0]
    if after is not None:
        return insert_after(layout, after, statement)
    if not tree.body:
        return [Edit(Span(len(layout.text), len(layout.text)), statement + layout.newline)]
    return insert_before(layout, tree.body[0], [statement])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
