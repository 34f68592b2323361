"""Where a file belongs: its project's root, and the name that the rest of the project imports it by."""

from __future__ import annotations

import os
import re

_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_NOT_NAME = re.compile(r"\W")
_RELATIVE = re.compile(r"^[ \t]*from[ \t]+(\.+)[ \t\w.]*\bimport\b", re.MULTILINE)


def project_root(path: str, default: str | None = None) -> str:
    """Nearest folder above `path` with a project's mark; else `default` where the file is under it, else its folder."""
    folder = os.path.dirname(os.path.abspath(path))
    nearest = folder
    while True:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    if default is not None and is_under(nearest, default):
        return os.path.abspath(default)
    return nearest


def import_name(path: str) -> tuple[str, str]:
    """(folder to put on `sys.path`, dotted module name) by which `path` is imported.

    A file in a package is imported through the package's topmost `__init__.py`; any other by its own name. A folder
    without `__init__.py` is a package too if the file's relative imports start above it. What is no identifier in a
    file's name is replaced, since the worker gives the module this name and loads it by path.
    """
    folder, name = os.path.split(os.path.abspath(path))
    stem = _NOT_NAME.sub("_", os.path.splitext(name)[0])
    parts = [] if stem == "__init__" else ["main_module" if stem == "__main__" else stem]
    above = 0 if _is_package(folder) else _relative_levels(path)
    while (_is_package(folder) or above > 0) and os.path.basename(folder).isidentifier():
        folder, package = os.path.split(folder)
        parts.insert(0, package)
        above -= 1
    return folder, ".".join(parts)


def _is_package(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))


def _relative_levels(path: str) -> int:
    """How many packages the file must be in for its relative imports."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return max((len(dots) for dots in _RELATIVE.findall(stream.read())), default=0)
    except OSError:
        return 0


def is_under(folder: str, top: str) -> bool:
    """Is `folder` the folder `top`, or anywhere below it?"""
    top = os.path.abspath(top)
    return folder == top or folder.startswith(top.rstrip(os.sep) + os.sep)
