"""What stands in the source where a frame is: the names in an expression, and which part of it made an array."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import Any

from . import jax_compat
from .wire.messages import Place

_NAME = re.compile(r"[^\W\d]\w*")
_KEY = re.compile(r"\['([^'\"\\]*)'\]")


def text_at(place: Place | None) -> str | None:
    """The source of an expression; None where Python does not know its columns (before 3.11)."""
    if place is None or place.column is None or place.end_column is None:
        return None
    last = place.end_line or place.line
    lines = [linecache.getline(place.path, number) for number in range(place.line, last + 1)]
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    return "".join(lines)


def names_in(place: Place | None) -> frozenset[str] | None:
    """All names in the expression at `place`."""
    text = text_at(place)
    return None if text is None else frozenset(_NAME.findall(text))


def looked_up(place: Place | None, name: str) -> str:
    """The part of the expression at `place` that looks `name` up by its text; `name` where none is seen to."""
    text = text_at(place)
    try:
        tree = ast.parse(f"({text})", mode="eval") if text else None
    except (SyntaxError, ValueError, RecursionError):
        return name
    for node in ast.walk(tree) if tree else ():
        given = [node.slice] if isinstance(node, ast.Subscript) else node.args if isinstance(node, ast.Call) else []
        if any(isinstance(each, ast.Constant) and each.value == name for each in given):
            return ast.get_source_segment(f"({text})", node) or name
    return name


def as_written(path: str, filename: str) -> str:
    """`params['w']` with the quotes that the file has around such keys; double ones where it has none."""

    def requoted(match: re.Match[str]) -> str:
        double = f'["{match[1]}"]'
        return match[0] if match[0] in text and double not in text else double

    text = "".join(linecache.getlines(filename)) if "['" in path else ""
    return _KEY.sub(requoted, path)


def made_at(place: Place, frame: FrameType) -> Place:
    """The operand of the running expression that an array without a name came from; all of it when that is unclear."""
    text = text_at(place)
    try:
        tree = ast.parse(f"({text})", mode="eval").body if text else None
    except (SyntaxError, ValueError, RecursionError):
        return place
    found = [operand for operand in _operands(tree) if _may_be_made(operand, frame)]
    if len(found) != 1 or text is None:
        return place
    operand = found[0]
    line, column = _moved(place, text, operand.lineno, operand.col_offset)
    end_line, end_column = _moved(place, text, operand.end_lineno or 1, operand.end_col_offset or 0)
    return replace(place, line=line, column=column, end_line=end_line, end_column=end_column)


def _operands(tree: ast.expr | None) -> Iterator[ast.expr]:
    if isinstance(tree, ast.BinOp):
        yield from (tree.left, tree.right)
    elif isinstance(tree, ast.Compare):
        yield from (tree.left, *tree.comparators)
    elif isinstance(tree, ast.UnaryOp):
        yield tree.operand
    elif isinstance(tree, ast.Subscript):
        yield tree.slice
    elif isinstance(tree, ast.Call):
        yield from tree.args
        yield from (keyword.value for keyword in tree.keywords)


def _may_be_made(operand: ast.expr, frame: FrameType) -> bool:
    """May NumPy have made it? Not of a traced value, nor without an array or a call."""
    makes = False
    for node in ast.walk(operand):
        if isinstance(node, ast.Name):
            value = frame.f_locals.get(node.id, frame.f_globals.get(node.id))
            if _holds_tracer(value):
                return False
            makes = makes or jax_compat.is_array(value)
        makes = makes or isinstance(node, ast.Call)
    return makes


def _holds_tracer(value: Any, depth: int = 2) -> bool:
    if jax_compat.is_tracer(value):
        return True
    if depth and isinstance(value, (list, tuple)):
        return any(_holds_tracer(item, depth - 1) for item in value)
    return depth > 0 and isinstance(value, dict) and any(_holds_tracer(item, depth - 1) for item in value.values())


def _moved(place: Place, text: str, line: int, offset: int) -> tuple[int, int]:
    """Line and column in the file of a place in the parenthesised text; `offset` is UTF-8, from 0."""
    bytes_before = text.split("\n")[line - 1].encode()[: offset - 1 if line == 1 else offset]
    characters = len(bytes_before.decode(errors="replace"))
    return place.line + line - 1, characters + ((place.column or 1) if line == 1 else 1)
