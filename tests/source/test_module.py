"""Parsing in chunks: the same as parsing the whole file, whatever was edited, and never an exception."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxscope.source.module import Module, parse
from jaxscope.text.span import LineIndex, Position

STATEMENTS = [
    "import jax\n",
    "x = 1\n",
    "x = 1; y = 2\n",
    "\n\n# a comment\n",
    "\f\ndef paged():\n    return 1\n",
    "@decorator\n@other(1,\n  2)\ndef f(a, b=2):\n    '''doc'''\n    return a\n",
    "class C:\n\n    def m(self):\n        return self.x\n\n",
    'text = """one\ndef not_a_def():\n  two"""\n',
    "text = '''a''' + \"\"\"b\n\"\"\"\n",
    "long = 1 + \\\n    2\n",
    "table = [\n1,\n2,\n]\n",
    "if x:\n    y = 1\nelif z:\n    y = 2\nelse:\n    y = 3\n",
    "try:\n    f()\nexcept ValueError:\n    pass\nfinally:\n    g()\n",
    "äöü = 'é😀'; größe = x\n",
    "for i in range(3):\n\tprint(i)\n",
    's = f\'{x!r:>{width}}\' # """ odd\n',
    "async def g():\n    await h()\n",
    "with a as b, c as d:\n    pass\n",
]
PIECES = ['"""', "'", "(", ")", "\\\n", "\n", "\r\n", "    ", "x", "else:\n    pass\n", "@d\n", "def f():\n", "# "]
PIECES += ["\f", "}", "\r"]


def shown(module: Module) -> list[tuple[str, int, int, int | None, int | None]]:
    """All statements with their places in the present text."""
    found = []
    for chunk in module.chunks:
        if chunk.broken:
            continue
        for statement in chunk.body:
            for node in ast.walk(statement):
                if isinstance(node, (ast.stmt, ast.expr)):
                    place = module.range(chunk, node)
                    start, end = place.start, place.end
                    found.append((ast.dump(node), start.line, start.column, end.line, end.column))
    return sorted(found, key=repr)


def whole(text: str) -> list[tuple[str, int, int, int | None, int | None]] | None:
    """The same by parsing the whole text at once."""
    module = parse("whole.py", text)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            start = module.lines.from_utf8(node.lineno, node.col_offset)
            end = module.lines.from_utf8(node.end_lineno or 0, node.end_col_offset or 0)
            found.append((ast.dump(node), start.line, start.column, end.line, end.column))
    return sorted(found, key=repr)


def check(module: Module, text: str) -> None:
    assert "".join(chunk.text for chunk in module.chunks) == text
    assert all(chunk.line_count == len(LineIndex(chunk.text).starts) - 1 for chunk in module.chunks)
    expected = whole(text)
    if expected is None:
        assert module.tree is None and module.problems
    else:
        assert not module.problems
        assert shown(module) == expected


texts = st.lists(st.sampled_from(STATEMENTS), max_size=8).map("".join)
edits = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.sampled_from([*PIECES, *STATEMENTS, ""])), min_size=1, max_size=6
)


@given(texts)
@settings(max_examples=150, deadline=None)
def test_first_parse(text: str) -> None:
    check(parse("a.py", text), text)


@given(texts, edits)
@settings(max_examples=400, deadline=None)
def test_edits_in_a_row(text: str, changes: list[tuple[float, float, str]]) -> None:
    module = parse("a.py", text)
    for at, length, new in changes:
        start = int(at * len(text))
        text = text[:start] + new + text[start + int(length * len(text)) :]
        module = parse("a.py", text, module)
        check(module, text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60), st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_at_all(first: str, second: str) -> None:
    check(parse("a.py", second, parse("a.py", first)), second.removeprefix("\ufeff"))


def test_crlf() -> None:
    text = "x = 1\r\n\r\ndef f():\r\n    return x\r\n"
    module = parse("a.py", text)
    check(module, text)
    again = parse("a.py", text.replace("x = 1", "x = 12"), module)
    assert again.chunks[1] is module.chunks[1]


def test_only_the_changed_statement_is_parsed_again() -> None:
    text = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(50))
    module = parse("a.py", text)
    again = parse("a.py", text.replace("return 25", "return 1 + 25"), module)
    kept = [chunk for chunk in again.chunks if chunk in module.chunks]
    assert len(kept) == 49 and len(again.chunks) == 50


def test_what_moves_is_kept() -> None:
    text = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(5))
    module = parse("a.py", text)
    again = parse("a.py", "import jax\n\n\n" + text, module)
    chunk = module.chunks[-1]
    assert again.chunks[-1] is chunk
    assert again.range(chunk, chunk.body[0]).start == Position(16, 1)
    assert module.range(chunk, chunk.body[0]).start == Position(13, 1)


BROKEN = [
    "def broken(x:\n    return x\n",
    "def broken(x)\n    return x\n",
    "x = (1 +\n",
    "text = '''never closed\n",
    "return = 3\n",
    "x = 'open\n",
    "if x:\n",
    "class\n",
    "x = f(1))\n",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_one_broken_statement_keeps_the_others(broken: str) -> None:
    before, after = "import jax\n\n\ndef first():\n    return 1\n\n\n", "def last():\n    return 2\n"
    module = parse("a.py", before + broken + after)
    good = [statement for chunk in module.chunks if not chunk.broken for statement in chunk.body]
    names = [statement.name for statement in good if isinstance(statement, ast.FunctionDef)]
    assert names == ["first", "last"]
    assert module.tree is None
    assert len(module.problems) == 1


def test_last_good_version_is_kept_while_typing() -> None:
    text = "A = 1\n\n\ndef f(x):\n    y = x\n    return y\n\n\nB = 2\n"
    module = parse("a.py", text)
    typing = parse("a.py", text.replace("return y", "return y +"), module)
    broken = next(chunk for chunk in typing.chunks if chunk.broken)
    assert isinstance(broken.body[0], ast.FunctionDef)
    assert [problem.range.start.line for problem in typing.problems] == [6]
    still = parse("a.py", text.replace("return y", "\n    return y + ("), typing)
    broken = next(chunk for chunk in still.chunks if chunk.broken)
    function = broken.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert still.range(broken, function.body[0]).start == Position(5, 5)
    whole_again = parse("a.py", text, still)
    assert not whole_again.problems
    assert whole_again.chunks[0] is module.chunks[0]


def test_string_opened_and_closed() -> None:
    text = "x = 1\ny = 2\nz = 3\n"
    module = parse("a.py", text)
    opened = parse("a.py", 'x = """1\ny = 2\nz = 3\n', module)
    assert opened.problems
    closed = parse("a.py", 'x = """1\ny = 2\nz = 3"""\n', opened)
    assert not closed.problems
    check(closed, closed.text)


def test_byte_order_mark_is_no_text() -> None:
    assert parse("a.py", "\ufeffx = 1\n").text == "x = 1\n"
