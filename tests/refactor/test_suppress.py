"""The comment that ignores a rule, where a Markdown block cannot show it: no last line end, CRLF, broken text."""

from __future__ import annotations

import pytest

from jaxscope.refactor.change import Refusal
from jaxscope.refactor.suppress import ignore_on_line
from jaxscope.source.module import parse
from jaxscope.source.suppressions import suppressed


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("y = W", 1),
        ("x = 1\n\ny = f(\n    W)", 4),
        ("x = 1\ns = '''\na'''; y = W", 3),
        ("a = 1\r\nb = (\r\n\tW +\r\n\t2)\r\nc = 1\r\n", 3),
        ("\f\ny = x @ \\\n    W\n", 3),
        ("def f(:\n    W", 2),
    ],
)
def test_the_comment_quietens_its_line_and_leaves_the_rest(text: str, line: int) -> None:
    change = ignore_on_line(parse("/p.py", text), "retrace", line)
    assert not isinstance(change, Refusal)
    (file,) = change.files
    assert file.changed.replace("  # jaxscope: ignore[retrace]", "") == text
    assert suppressed(parse("/p.py", file.changed), "retrace", line)
