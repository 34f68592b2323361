"""Where things stand in a text: spans of syntax nodes, and the items of comma-separated lists with what stands between.

`ast` says where nodes are, not where commas, parentheses and comments are. Those are found by scanning only the gaps
between nodes, which hold nothing but blanks, comments, backslashes and punctuation, so that no string is ever scanned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from jaxscope.text.span import LineIndex, Span

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f\r\n"


class Located(Protocol):
    """A syntax node that knows its place."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a comma-separated list, its own parentheses included."""

    span: Span
    comma: int | None
    """Offset of the comma that follows."""


@dataclass(frozen=True, slots=True)
class Items:
    """A comma-separated list between `start` and `end` (the brackets excluded)."""

    start: int
    end: int
    items: tuple[Item, ...]


class Layout:
    """The places of nodes in one text."""

    def __init__(self, text: str, lines: LineIndex | None = None) -> None:
        self.text = text
        self.lines = lines or LineIndex(text)

    def offset(self, line: int, column: int) -> int:
        """Character offset of the place that `ast` calls (`lineno`, `col_offset`)."""
        return self.lines.offset(self.lines.from_utf8(line, column))

    def start(self, node: Located) -> int:
        """Offset of the node's first character."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Located) -> int:
        """Offset after the node's last character."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def span(self, node: Located) -> Span:
        """The node's characters."""
        return Span(self.start(node), self.end(node))

    def source(self, node: Located) -> str:
        """The node as written."""
        return self.text[self.start(node) : self.end(node)]

    def marks(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The punctuation between two nodes: (offset, character), without blanks, comments and backslashes."""
        at = start
        while at < end:
            char = self.text[at]
            if char == "#":
                match = _LINE_END.search(self.text, at)
                at = match.start() if match else end
                continue
            if char not in _BLANK and char != "\\":
                yield at, char
            at += 1

    @cached_property
    def newline(self) -> str:
        """The line end that the text uses first."""
        match = _LINE_END.search(self.text)
        return match.group() if match else "\n"

    def line_start(self, offset: int) -> int:
        """Offset of the first character of the line that holds `offset`."""
        return self.lines.starts[self.lines.position(offset).line - 1]

    def line_end(self, offset: int) -> int:
        """Offset of the line end (or the end of the text) at or after `offset`."""
        match = _LINE_END.search(self.text, offset)
        return match.start() if match else len(self.text)

    def indent(self, offset: int) -> str:
        """The blanks that begin the line of `offset`."""
        start = self.line_start(offset)
        return self.text[start : start + len(self.text[start:]) - len(self.text[start:].lstrip(" \t\f"))]

    # ------------------------------------------------------------ lists

    def split(self, start: int, end: int, spans: Sequence[Span]) -> Items:
        """The list between `start` and `end` whose elements lie at `spans` (without their own parentheses)."""
        items: list[Item] = []
        for number, span in enumerate(spans):
            following = spans[number + 1].start if number + 1 < len(spans) else end
            last, comma = span.end, None
            for at, char in self.marks(span.end, following):
                if char == ",":
                    comma = at
                    break
                if char == ")":
                    last = at + 1
            first = span.start
            before = items[-1].comma if items else None
            since = before + 1 if before is not None else start
            for at, char in self.marks(since, span.start):
                if char == "(":
                    first = at
                    break
            items.append(Item(Span(first, last), comma))
        return Items(start, end, tuple(items))

    def arguments(self, call: ast.Call) -> Items:
        """The arguments of a call, positional and keyword, in the order written."""
        nodes = written_arguments(call)
        close = self.end(call) - 1
        first = self.start(nodes[0]) if nodes else close
        opening = next(at for at, char in self.marks(self.end(call.func), first + 1) if char == "(")
        if len(nodes) == 1 and first == opening:  # f(x for x in y): the generator owns the call's parentheses
            return Items(opening + 1, close, (Item(Span(opening + 1, close), None),))
        return self.split(opening + 1, close, [self.span(node) for node in nodes])

    def bare_generator(self, call: ast.Call) -> bool:
        """Is the only argument a generator expression that shares the call's parentheses?"""
        if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], ast.GeneratorExp):
            return False
        first = self.start(call.args[0])
        return not any(char == "(" for _, char in self.marks(self.end(call.func), first))

    def elements(self, node: ast.Tuple | ast.List) -> Items:
        """The elements of a tuple or list display. For a tuple without brackets, start and end are its own."""
        start, end = self.start(node), self.end(node)
        if self.bracketed(node):
            start, end = start + 1, end - 1
        return self.split(start, end, [self.span(element) for element in node.elts])

    def bracketed(self, node: ast.Tuple | ast.List) -> bool:
        """Does the display own a pair of brackets?"""
        if isinstance(node, ast.List):
            return True
        start = self.start(node)
        if self.text[start] != "(":
            return False
        if not node.elts or self.start(node.elts[0]) > start:
            # `(a), b` also begins with a bracket: then the first element's own one closes before the first comma.
            depth = 0
            inner = self.end(node.elts[0]) if node.elts else start + 1
            opened = sum(char == "(" for _, char in self.marks(start, self.start(node.elts[0]))) if node.elts else 1
            for _, char in self.marks(inner, self.end(node)):
                depth += char == ")"
                if char == ",":
                    break
            return opened > depth
        return False

    # ------------------------------------------------------------ functions

    def parameters(self, node: FunctionNode) -> Items:
        """The parameters of a def or lambda as written, `/` and a bare `*` included as items."""
        known = sorted(self._parameter_spans(node), key=lambda span: span.start)
        start = self._parameters_start(node, known)
        end = self._parameters_end(node, start, known)
        spans: list[Span] = []
        at = start
        for span in [*known, None]:
            star: int | None = None
            for place, char in self.marks(at, span.start if span else end):
                if char == "*":
                    star = place if star is None else star
                elif char == "/":
                    spans.append(Span(place, place + 1))
                elif char == "," and star is not None:
                    spans.append(Span(star, star + 1))
                    star = None
            if span:
                spans.append(Span(span.start if star is None else star, span.end))
                at = span.end
        return self.split(start, end, spans)

    def _parameter_spans(self, node: FunctionNode) -> Iterator[Span]:
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        pairs = [*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        pairs += [(arg, None) for arg in (args.vararg, args.kwarg) if arg]
        for arg, default in pairs:
            yield Span(self.start(arg), self.end(default) if default else self.end(arg))

    def _parameters_start(self, node: FunctionNode, known: list[Span]) -> int:
        if isinstance(node, ast.Lambda):
            return self.start(node) + len("lambda")
        match = re.compile(r"(?:async[\s\\]+)?def[\s\\]+" + re.escape(node.name)).match(self.text, self.start(node))
        assert match is not None
        at = match.end()
        type_params: list[Located] = getattr(node, "type_params", [])
        if type_params:
            at = self.end(type_params[-1])
        return next(place for place, char in self.marks(at, len(self.text)) if char == "(") + 1

    def _parameters_end(self, node: FunctionNode, start: int, known: list[Span]) -> int:
        close = ":" if isinstance(node, ast.Lambda) else ")"
        at = known[-1].end if known else start
        # a last default in parentheses: its own ones were opened after its `=`
        depth = self._open_before(node, known) if known else 0
        for place, char in self.marks(at, len(self.text)):
            if char == close and depth == 0:
                return place
            depth -= char == ")"
        raise AssertionError("a parameter list without an end")

    def _open_before(self, node: FunctionNode, known: list[Span]) -> int:
        args = node.args
        last = known[-1]
        defaults = [d for d in (*args.defaults, *args.kw_defaults) if d is not None and self.end(d) == last.end]
        if not defaults:
            return 0
        names = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        name = next(arg for arg in names if self.start(arg) == last.start)
        return sum(char == "(" for _, char in self.marks(self.end(name), self.start(defaults[0])))


def written_arguments(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """Positional and keyword arguments in the order written (`f(a=1, *b)` mixes them)."""
    nodes: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))
