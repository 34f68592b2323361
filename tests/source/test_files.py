"""Encodings and line ends survive reading and writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.source.files import not_python, read_source, write_source

FILES = [
    b"x = 1\r\ny = '\xc3\xa9'\r\n",
    b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
    b"\xef\xbb\xbfx = '\xc3\xa9'\n",
    b"x = 1\ry = 2\r",
    b"",
]


@pytest.mark.parametrize("data", FILES)
def test_write_gives_back_what_was_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    path.chmod(0o640)
    write_source(str(path), read_source(str(path)))
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.py"]


def test_unknown_encoding_and_bad_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: nonsense\nx = 1\n")
    assert read_source(str(path)) == "# coding: nonsense\nx = 1\n"
    path.write_bytes(b"x = '\xff'\n")
    assert read_source(str(path)) == "x = '\ufffd'\n"
    with pytest.raises(UnicodeDecodeError):
        write_source(str(path), "x = '\ufffd' + y\n")
    assert path.read_bytes() == b"x = '\xff'\n"


def test_character_that_the_encoding_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\n")
    with pytest.raises(UnicodeEncodeError):
        write_source(str(path), "# coding: latin-1\nx = '\u20ac'\n")
    assert path.read_bytes() == b"# coding: latin-1\n"


def test_new_file(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    write_source(str(path), "x = '\u20ac'\n")
    assert path.read_bytes() == "x = '\u20ac'\n".encode()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.py", b"x = '\xc3\xa9'\n", None),
        ("a.py", b"# coding: latin-1\nx = '\xe9'\n", None),
        ("a.py", b"\xef\xbb\xbfx = 1\n", None),
        ("a.py", b"", None),
        ("a.py", b"# coding: nonsense\n", "unknown encoding: nonsense"),
        ("a.py", b"x = 1\n\ny = '\xff'\n", "line 3 is not utf-8"),
        ("a.ipynb", b"{}", "notebook"),
    ],
)
def test_what_python_would_not_read(tmp_path: Path, name: str, data: bytes, said: str | None) -> None:
    (tmp_path / name).write_bytes(data)
    why = not_python(str(tmp_path / name))
    assert why is None if said is None else said in (why or "")
