"""The user's files: which they are, what the functions in them are called, and where a running code object stands.

Names come from the source, not from `__qualname__`: `functools.wraps` overwrites that, and before Python 3.11 a code
object does not know it.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType

from .wire.messages import Place

_APART = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
BUNDLED = os.path.dirname(os.path.realpath(__file__)) + os.sep
"""Where our own files lie; never the user's."""


@dataclass(frozen=True)
class Definition:
    """A def or lambda of a file."""

    qualname: str
    name: str
    first: int
    """First line, decorators included, as `co_firstlineno` has it."""
    line: int
    """Line of the `def` or `lambda`."""
    end: int
    column: int
    """Of the word; like the end's, in UTF-8 from 0."""
    end_column: int


class UserFiles:
    """The files under `root` that are the user's own: not installed packages, not the interpreter's library."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root) + os.sep
        interpreter = {sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)}
        apart = (os.path.realpath(p) + os.sep for p in interpreter)
        # A project whose interpreter lies in the project is normal; one that lies in the interpreter is not.
        self._apart = tuple(p for p in apart if not self.root.startswith(p))
        self._owned: dict[str, str | None] = {}
        self._folders: dict[str, bool] = {}
        self._definitions: dict[str, tuple[Definition, ...]] = {}

    def owns(self, filename: str) -> bool:
        """Is it one of the user's own files?"""
        return self._real(filename) is not None

    def path(self, filename: str) -> str:
        """The one spelling of a file's path that replies use."""
        return self._real(filename) or os.path.realpath(filename)

    def _real(self, filename: str) -> str | None:
        if filename not in self._owned:
            real = None
            # Most files that are asked for are those of installed packages, whose folders tell it.
            if not filename.startswith("<") and not self._is_apart(os.path.dirname(filename)):
                real = os.path.realpath(filename)
                if not real.startswith(self.root) or real.startswith(BUNDLED) or self._is_apart(os.path.dirname(real)):
                    real = None
            self._owned[filename] = real
        return self._owned[filename]

    def _is_apart(self, folder: str) -> bool:
        """Does it belong to installed packages, or to the interpreter?"""
        if folder not in self._folders:
            real = os.path.realpath(folder) + os.sep
            inside = real[len(self.root) - 1 :] if real.startswith(self.root) else real
            self._folders[folder] = any(part in inside for part in _APART) or real.startswith(self._apart)
        return self._folders[folder]

    def line(self, path: str, number: int) -> str:
        """Text of a line, without blanks around it."""
        return linecache.getline(path, number).strip()

    def definition(self, code: CodeType) -> Definition | None:
        """The def or lambda that `code` was compiled from; of a comprehension the one around it; None for a module."""
        if exact := self._exact(code):
            return exact[0]
        around = [d for d in self._of_file(code.co_filename) if d.first <= code.co_firstlineno <= d.end]
        return max(around, key=lambda d: d.first, default=None)

    def _exact(self, code: CodeType) -> list[Definition]:
        """What `code` was compiled from. Several where Python, before 3.11, cannot tell lambdas of one line apart."""
        known = self._of_file(code.co_filename)
        exact = [d for d in known if d.first == code.co_firstlineno and d.name == code.co_name]
        if len(exact) > 1 and (stretch := _stretch(code)) is not None:
            start, end = stretch
            holding = [d for d in exact if (d.line, d.column) <= start and end <= (d.end, d.end_column)]
            # Of one inside another, the inner one begins later.
            exact = [max(holding, key=lambda d: (d.line, d.column))] if holding else exact
        return exact

    def column(self, code: CodeType) -> int | None:
        """Of the word `lambda`, in characters from 1; 0 for a def; None where it cannot be told which lambda it is."""
        if code.co_name != "<lambda>":
            return 0
        exact = self._exact(code)
        return _characters(code.co_filename, exact[0].line, exact[0].column) if len(exact) == 1 else None

    def qualname(self, code: CodeType) -> str:
        """Qualified name of the function that `code` belongs to; empty for a module."""
        if code.co_name == "<module>":
            return ""
        found = self.definition(code)
        if found is not None:
            return found.qualname
        return getattr(code, "co_qualname", code.co_name)

    def _of_file(self, filename: str) -> tuple[Definition, ...]:
        if filename not in self._definitions:
            text = "".join(linecache.getlines(filename))
            try:
                self._definitions[filename] = tuple(_definitions(ast.parse(text), ""))
            except (SyntaxError, ValueError, RecursionError):
                self._definitions[filename] = ()
        return self._definitions[filename]

    def place(self, code: CodeType, lasti: int, line: int | None = None) -> Place:
        """Where `code` stands at the instruction `lasti`."""
        at, column, end_line, end_column = position(code, lasti)
        path = self.path(code.co_filename)
        if column is not None and end_column is not None:
            column = _characters(path, at or line or 0, column)
            end_column = _characters(path, end_line or 0, end_column)
        return Place(path, at or line or code.co_firstlineno, column, end_line, end_column, self.qualname(code))

    def place_at(self, filename: str, span: tuple[int, int, int, int], function: str) -> Place:
        """A place that JAX wrote into a program: line, column (UTF-8, from 0), end line, end column; 0: unknown.

        `function` is the code's name there, qualified or not by the version of Python.
        """
        line, column, end_line, end_column = span
        path, name = self.path(filename), function.rpartition(".")[2]
        around = [d for d in self._of_file(filename) if d.first <= line <= d.end]
        same = [d for d in around if d.name == name] or around
        qualname = max(same, key=lambda d: d.first).qualname if same and name != "<module>" else ""
        if not end_column:
            return Place(path, line, function=qualname)
        start, end = _characters(path, line, column), _characters(path, end_line, end_column)
        return Place(path, line, start, end_line, end, qualname)

    def frame_place(self, frame: FrameType) -> Place:
        """Where a running frame stands."""
        return self.place(frame.f_code, frame.f_lasti, frame.f_lineno)

    def first_of(self, frame: FrameType | None) -> FrameType | None:
        """`frame`, or the nearest caller of it, that is the user's."""
        while frame is not None and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        return frame


def _characters(path: str, line: int, offset: int) -> int:
    """Column counted in characters from 1, of a UTF-8 offset from 0."""
    text = linecache.getline(path, line)
    if text.isascii():
        return offset + 1
    return len(text.encode()[:offset].decode(errors="replace")) + 1


@functools.lru_cache(maxsize=4096)
def _positions(code: CodeType) -> tuple[tuple[int | None, int | None, int | None, int | None], ...] | None:
    return tuple(code.co_positions()) if hasattr(code, "co_positions") else None


def _stretch(code: CodeType) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """From where to where the body of a function goes; None where Python does not know."""
    found = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in _positions(code) or ()
        if line is not None and column is not None and end_line is not None and end_column  # what enters it has no end
    ]
    return (min(start for start, _ in found), max(end for _, end in found)) if found else None


def position(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Line, column (UTF-8, from 0), end line and end column of an instruction; None for what Python does not know."""
    known = _positions(code)
    if known is not None:
        index = lasti // 2
        if 0 <= index < len(known):
            line, end_line, column, end_column = known[index]
            return line, column, end_line, end_column
        return None, None, None, None
    for start, end, line in code.co_lines():
        if start <= lasti < end:
            return line, None, None, None
    return None, None, None, None


def _definitions(node: ast.AST, prefix: str) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            name = "<lambda>" if isinstance(child, ast.Lambda) else child.name
            decorators = [] if isinstance(child, ast.Lambda) else child.decorator_list
            first = min([child.lineno, *(d.lineno for d in decorators)])
            end, end_column = child.end_lineno or child.lineno, child.end_col_offset or 0
            yield Definition(prefix + name, name, first, child.lineno, end, child.col_offset, end_column)
            yield from _definitions(child, f"{prefix}{name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _definitions(child, f"{prefix}{child.name}.")
        else:
            yield from _definitions(child, prefix)
