"""Texts that an expression writes out: what stands in them, and which values are shown where, in which form.

`f"loss {x:.3f}"`, `"loss %.3f" % x` and `"loss {:.3f}".format(x)` say the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter

_PERCENT = re.compile(
    r"%(?P<name>\(.*?\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?P<precision>\.(?:\*|\d*))?(?P<kind>.)"
)
_NUMBERS = "fFeEgG"


class Unclear(Exception):
    """Raised with the reason, a sentence without its full stop, where a text cannot be said as a format string."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A value in a text."""

    node: ast.expr
    how: str = ""
    """As a format string says it: `.3f`."""
    literally: bool = False
    """Is it in an f-string, where nodes do not know their places on each Python?"""


def parts(node: ast.expr) -> list[str | Shown] | None:
    """The parts of a text; None where the expression is none that is written out. Raises Unclear."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return list(_joined(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and (text := _text(node.left)) is not None:
        return list(_percent(text, node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        template = _text(node.func.value)
        return list(_formatted(template, node)) if template is not None else None
    return None


def values(node: ast.expr) -> list[ast.expr] | None:
    """The values in a text, whatever their form; None where the expression is no text that is written out."""
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    try:
        found = parts(node)
    except Unclear:
        return None
    return None if found is None else [part.node for part in found if isinstance(part, Shown)]


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _joined(node: ast.JoinedStr) -> Iterator[str | Shown]:
    before = ""
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            spec = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
            if any(not isinstance(one, ast.Constant) for one in spec):
                raise Unclear("It works out how to format a value")
            how = "".join(str(one.value) for one in spec if isinstance(one, ast.Constant))
            named = "".join(before.split()).endswith("".join(ast.unparse(part.value).split()) + "=")
            if (part.conversion not in (-1, ord("s")) and not named) or (part.conversion == ord("s") and how):
                raise Unclear("It converts a value with `!`")
            yield Shown(part.value, how, literally=True)
        elif isinstance(part, ast.Constant):
            before = str(part.value)
            yield before


def _percent(text: str, given: ast.expr) -> Iterator[str | Shown]:
    left = list(given.elts) if isinstance(given, ast.Tuple) else [given]
    if isinstance(given, ast.Dict) or any(isinstance(one, ast.Starred) for one in left):
        raise Unclear("It is not known which values are shown where")
    at = 0
    for match in _PERCENT.finditer(text):
        yield text[at : match.start()]
        at = match.end()
        if match["kind"] == "%":
            yield "%"
            continue
        how = _how(match)
        if not left:
            raise Unclear("It is not known which values are shown where")
        yield Shown(left.pop(0), how)
    if left:
        raise Unclear("It is not known which values are shown where")
    yield text[at:]


def _how(match: re.Match[str]) -> str:
    """What a format string writes for `%5.2f`."""
    flags, width, precision, kind = match["flags"], match["width"] or "", match["precision"] or "", match["kind"]
    if match["name"] or "*" in width + precision or "#" in flags:
        raise Unclear("It works out how to format a value")
    if kind == "s" and not flags + width + precision:
        return ""
    if kind not in _NUMBERS:
        raise Unclear(f"A format string has nothing that does what `{match.group()}` does")
    sign = "+" if "+" in flags else " " if " " in flags else ""
    fill = "0" if "0" in flags and "-" not in flags else ""
    return (
        ("<" if "-" in flags else "") + sign + fill + width + ("." + (precision[1:] or "0") if precision else "") + kind
    )


def _formatted(template: str, call: ast.Call) -> Iterator[str | Shown]:
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        raise Unclear("It is not known which values are shown where")
    given: dict[str, ast.expr] = {str(number): one for number, one in enumerate(call.args)}
    given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
    count = 0
    try:
        fields = list(Formatter().parse(template))
    except ValueError as error:
        raise Unclear("Its format string is wrong") from error
    for before, name, how, conversion in fields:
        yield before
        if name is None:
            continue
        if conversion not in (None, "s") or (conversion and how):
            raise Unclear("It converts a value with `!`")
        name, count = name or str(count), count + (not name)
        if "{" in (how or "") or name not in given:
            raise Unclear("It works out how to format a value")
        yield Shown(given[name], how or "")
