"""Imports the user's file by its module name, from the text that the editor holds.

A finder in front of Python's own serves unsaved texts; everything else is found as usual. The file asked for is loaded
from its path even when another module of the same name could be found first.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .sources import UserFiles
from .wire.messages import TraceRequest


class _TextLoader(importlib.machinery.SourceFileLoader):
    """Loads a module from a text instead of the file's content; writes no bytecode."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_source(self, fullname: str) -> str:
        return self._text

    def get_code(self, fullname: str) -> Any:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module: str, path: str, texts: dict[str, str]) -> None:
        self._module, self._path, self._texts = module, path, texts

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name == self._module:
            is_package = os.path.basename(self._path) == "__init__.py"
            return self._spec(name, self._path, [os.path.dirname(self._path)] if is_package else None)
        if not self._texts:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        origin = found.origin if found is not None else None
        if origin is None or os.path.realpath(origin) not in self._texts:
            return None
        return self._spec(name, origin, found.submodule_search_locations)

    def _spec(self, name: str, path: str, inside: Sequence[str] | None) -> Any:
        text = self._texts.get(os.path.realpath(path))
        loader = _TextLoader(name, path, text) if text is not None else importlib.machinery.SourceFileLoader(name, path)
        return importlib.util.spec_from_file_location(
            name, path, loader=loader, submodule_search_locations=list(inside) if inside is not None else None
        )


def import_file(request: TraceRequest) -> ModuleType:
    """Imports the file of `request`. Raises whatever the user's code raises, `SystemExit` included."""
    texts = {os.path.realpath(path): text for path, text in (request.overlay or {}).items()}
    if request.text is not None:
        texts[os.path.realpath(request.path)] = request.text
    for path, text in texts.items():
        _show_in_tracebacks(path, text)
    for folder in reversed([*request.paths, request.root]):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    sys.argv = [request.path]
    name = _free_name(request.module)
    finder = _Finder(name, request.path, texts)
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    # Modules may be imported later, while an entry runs: the finder stays.
    return importlib.import_module(name)


def _free_name(module: str) -> str:
    """`module`, or another name when the interpreter has one of that name already, `json` say, and needs it."""
    return f"{module} of the project" if module in sys.modules else module


def _show_in_tracebacks(path: str, text: str) -> None:
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)


def forget(files: UserFiles) -> None:
    """Drops the user's modules, our finders and what was read of the user's files: the next import runs anew."""
    for name, path in imported(files):
        sys.modules.pop(name, None)
        linecache.cache.pop(path, None)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for path in [path for path in linecache.cache if files.owns(path)]:
        linecache.cache.pop(path, None)


def imported(files: UserFiles) -> list[tuple[str, str]]:
    """Name and path of the user's modules that are imported."""
    found = []
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and files.owns(path):
            found.append((name, files.path(path)))
    return found
