"""Reading and writing Python files: PEP 263 encodings, byte order marks, line ends kept as they are."""

from __future__ import annotations

import io
import os
import symtable
import tempfile
import tokenize
import warnings

_BOM = "\ufeff"


def _encoding(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except (SyntaxError, LookupError):
        return "utf-8"


def read_source(path: str) -> str:
    """Text of the file, without a byte order mark. Bytes that its encoding does not know become U+FFFD.

    Raises OSError.
    """
    with open(path, "rb") as stream:
        data = stream.read()
    return data.decode(_encoding(data), "replace").removeprefix(_BOM)


def not_python(path: str) -> str | None:
    """Why Python itself would not take the file's bytes for source, in words; None when it would. Raises OSError."""
    if path.endswith(".ipynb"):
        return "a notebook, not a Python file: convert it with `jupyter nbconvert --to script` and check the result"
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        data.decode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    except (SyntaxError, LookupError) as error:
        return str(error)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"line {line} is not {error.encoding}: {error.reason}"
    return None


def is_test(path: str) -> bool:
    """Is it a file of tests, by its name, as pytest and absltest have it?"""
    name = os.path.basename(path).removesuffix(".py")
    return name.startswith("test_") or name.endswith("_test") or name == "conftest"


def parses(path: str) -> bool:
    """Does Python itself take the file? Told without making its tree, which is three times as fast. Raises OSError."""
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(data, path, "exec")  # type: ignore[arg-type]  # bytes, for their declared encoding
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def write_source(path: str, text: str) -> None:
    """Replaces the file's text, in the encoding that the file has (byte order mark included), at once or not at all.

    Raises OSError, and UnicodeError for a character that the encoding lacks and for a file with bytes that it does
    not know, which could not be kept: the file is untouched then.
    """
    try:
        with open(path, "rb") as stream:
            old = stream.read()
        encoding = _encoding(old)
        old.decode(encoding)
        mode = os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        encoding, mode = "utf-8", 0o644
    data = text.encode(encoding)
    target = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target) or ".", prefix=".jaxscope-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
