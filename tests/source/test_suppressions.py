"""`# jaxscope: ignore[...]`."""

from __future__ import annotations

import pytest

from jaxscope.source.module import parse
from jaxscope.source.suppressions import suppressed


@pytest.mark.parametrize(
    ("text", "line", "answer"),
    [
        ("x = 1  # jaxscope: ignore[captured-array]\n", 1, True),
        ("x = 1  # jaxscope: ignore[retrace]\n", 1, False),
        ("x = 1  # jaxscope: ignore[retrace, captured-array]\n", 1, True),
        ("x = 1  # jaxscope: ignore\n", 1, True),
        ("x = 1  # noqa  # jaxscope:ignore[captured-array]\n", 1, True),
        ("x = 1\n# jaxscope: ignore[captured-array]\n", 1, False),
        ("x = '# jaxscope: ignore[captured-array]'\n", 1, False),
        ("\n\nx = 1\n# jaxscope: ignore-file[captured-array]\n", 3, True),
        ("# jaxscope: ignore-file[retrace]\nx = 1\n", 2, False),
        ("x = (\n    1,  # jaxscope: ignore[captured-array]\n)\n", 2, True),
        ("x = (\n    1,  # jaxscope: ignore[captured-array]\n)\n", 1, False),
        ("def f(:  # jaxscope: ignore[captured-array]\n", 1, True),
    ],
)
def test_suppressed(text: str, line: int, answer: bool) -> None:
    assert suppressed(parse("a.py", text), "captured-array", line) is answer


def test_moves_with_its_line() -> None:
    before = parse("a.py", "x = 1\n\n\ndef f():\n    return x  # jaxscope: ignore[captured-array]\n")
    after = parse("a.py", "\n\n" + before.text, before)
    assert suppressed(after, "captured-array", 7)
    assert not suppressed(after, "captured-array", 5)
