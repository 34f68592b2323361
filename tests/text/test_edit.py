"""Edits change what they name and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxscope.text.edit import Edit, TextEdit
from jaxscope.text.span import Span


@given(st.text(max_size=30), st.data())
def test_untouched_text_stays(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    spans = [Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    edit = TextEdit.of([Edit(span, f"<{i}>") for i, span in enumerate(spans)])
    kept, at = [], 0
    for i, span in enumerate(spans):
        kept += [text[at : span.start], f"<{i}>"]
        at = span.end
    assert edit.apply(text) == "".join(kept) + text[at:]


def test_overlap_is_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        TextEdit.of([Edit(Span(0, 3), "a"), Edit(Span(2, 4), "b")])


def test_same_edit_twice_counts_once() -> None:
    edit = Edit(Span(1, 1), ", W")
    assert TextEdit.of([edit, edit]).apply("fx") == "f, Wx"


def test_insertions_at_one_place_keep_their_order() -> None:
    edits = [Edit(Span(1, 1), "a"), Edit(Span(1, 1), "b")]
    assert TextEdit.of(edits).apply("xy") == "xaby"
