"""What a preview says of each edit of a fix."""

from __future__ import annotations

import pytest

from jaxscope.ide.edit_notes import EditNote, edit_notes
from jaxscope.text.edit import Edit, FileChange, TextEdit
from jaxscope.text.span import Span

TEXT = """\
from functools import partial
from library import project
import jax


# jaxscope: f32[3]
@partial(jax.jit, static_argnums=(1,))
def é(x, n):
    return jax.vmap(project, in_axes=(0,))(x)[n] + W


step = jax.jit(lambda x: x + W)
out = é(jax.numpy.ones(3), 0)
@jax.jit
def bare(x): return W
"""


@pytest.mark.parametrize(
    ("before", "new", "label", "said"),
    [
        ("from library import project", ", W", "Import", "m.py:2"),
        ("", "import numpy\n", "Import", "m.py:1"),
        ("# jaxscope: f32[3]", ", f32[4]", "Declared shapes", "m.py:6"),
        ("static_argnums=(1", ", 2", "Option", "`static_argnums`, m.py:7"),
        ("partial(jax.jit", ", inline=True", "Option", "`partial`, m.py:7"),
        ("def é(x, n", ", W", "Signature", "`é`, m.py:8"),
        ("in_axes=(0,", " None", "Option", "`in_axes`, m.py:9"),
        ("(0,))(x", ", W", "Call", "`jax.vmap(project, in_axes=(0,))`, m.py:9"),
        (")(x)[n", "]", "Body", "`é`, m.py:9"),
        ("lambda x", ", W", "Signature", "lambda, m.py:12"),
        ("jax.jit(lambda x: x + W", ", inline=True", "Option", "`jax.jit`, m.py:12"),
        ("jax.numpy.ones(3)", ", W", "Call", "`é`, m.py:13"),
        ("jax.numpy.ones(3), 0", ", W", "Call", "`é`, m.py:13"),
        ("def bare(", "y, ", "Signature", "`bare`, m.py:15"),
        ("@jax.jit", "(inline=True)", "Option", "decorator of `bare`, m.py:14"),
    ],
)
def test_each_edit_has_a_word_for_it(before: str, new: str, label: str, said: str) -> None:
    at = TEXT.rindex(before) + len(before) if before else 0
    change = FileChange("/p/m.py", TEXT, TextEdit.of([Edit(Span(at, at), new)]))
    assert edit_notes(change) == (EditNote(label, said),)


def test_a_text_that_does_not_parse_still_has_notes() -> None:
    change = FileChange("/p/m.py", "def f(:\n", TextEdit.of([Edit(Span(6, 6), "x")]))
    assert edit_notes(change) == (EditNote("Body", "m.py:1"),)
