"""Columns in four units agree on every kind of line."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from jaxscope.text.span import LineIndex, Position, Range, Span

LINES = st.lists(st.text(alphabet="aé𝒲\t \x0c\u2028", max_size=6), min_size=1, max_size=5)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_offsets_and_positions_are_inverse(lines: list[str], end: str) -> None:
    text = end.join(lines)
    index = LineIndex(text)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # inside a line end there is no position
        assert index.offset(index.position(offset)) == offset


@given(LINES)
def test_utf16_round_trip(lines: list[str]) -> None:
    index = LineIndex("\n".join(lines))
    for number, line in enumerate(lines, 1):
        for column in range(1, len(line) + 2):
            position = Position(number, column)
            assert index.from_utf16(*index.to_utf16(position)) == position


def test_ast_columns_are_bytes() -> None:
    text = "π = 'é'; größe = W\n"
    node = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and n.id == "W")
    assert LineIndex(text).from_utf8(node.lineno, node.col_offset) == Position(1, text.index("W") + 1)


def test_form_feed_and_line_separator_end_no_line() -> None:
    index = LineIndex("a\x0cb\u2028c\nd")
    assert index.position(6) == Position(2, 1)
    assert index.line(1) == "a\x0cb\u2028c\n"


def test_places_outside_are_held_inside() -> None:
    index = LineIndex("ab\ncd")
    assert index.offset(Position(1, 99)) == 3
    assert index.offset(Position(9, 1)) == 5
    assert index.line(9) == ""


def test_range_of_span() -> None:
    assert LineIndex("ab\ncd").range(Span(1, 4)) == Range(Position(1, 2), Position(2, 2))
