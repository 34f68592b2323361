"""The files of one project: open documents first, then what is on disk; import resolution within the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.model import FileModel
from jaxscope.source.files import read_source
from jaxscope.source.module import Module, parse

_SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages", "build", "dist", "venv", "env"))
_LARGEST_FILE = 4 << 20
_MOST_FILES = 500
_ASSIGNED = re.compile(r"""\.(\w+)[ \t]*(?::[^=\n]*)?=(?!=)|setattr\([^,\n]+,\s*["'](\w+)""")


class Project:
    """Modules and models of the files under `root`, kept until they change."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._open: dict[str, Module] = {}
        self._disk: dict[str, tuple[tuple[int, int], Module]] = {}
        self._models: dict[str, FileModel] = {}
        self._resolved: dict[tuple[str, str, int], str | None] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._mentions: dict[str, bool] = {}
        self._assigned: dict[str, frozenset[str]] = {}
        """Names of the attributes that each file assigns, as far as it has not changed since."""
        self._assigning: dict[str, list[str]] | None = None
        """The files that assign an attribute, by its name; None: not known yet, or not any more."""
        self.evaluator = Evaluator(self)
        self.fixed = False
        """Do the files stay as they are from now on? Then what is worked out serves all of them, instead of being kept
        apart for each part of a file with what it rests on."""

    @property
    def size(self) -> int:
        """Characters of source whose trees are kept."""
        return sum(len(module.text) for _, module in self._disk.values())

    # -- texts

    def module(self, path: str) -> Module | None:
        """The parsed file; None when it cannot be read."""
        path = os.path.abspath(path)
        if path in self._open:
            return self._open[path]
        try:
            status = os.stat(path)
            stamp = (status.st_mtime_ns, status.st_size)
            kept = self._disk.get(path)
            if kept is not None and kept[0] == stamp:
                return kept[1]
            if status.st_size > _LARGEST_FILE:
                return None
            module = parse(path, read_source(path), kept[1] if kept is not None else None)
        except OSError:
            return None
        self._disk[path] = (stamp, module)
        if kept is not None or self._assigns_anew(module):
            self._changed(path)
        return module

    def text(self, path: str) -> str | None:
        """The file's text, without parsing it; None when it cannot be read."""
        path = os.path.abspath(path)
        if path in self._open:
            return self._open[path].text
        try:
            status = os.stat(path)
            kept = self._disk.get(path)
            if kept is not None and kept[0] == (status.st_mtime_ns, status.st_size):
                return kept[1].text
            return read_source(path) if status.st_size <= _LARGEST_FILE else None
        except OSError:
            return None

    def set_text(self, path: str, text: str) -> None:
        """`path` is open in an editor with this text."""
        path = os.path.abspath(path)
        old = self._open.get(path) or self.module(path)
        self._open[path] = module = parse(path, text, old)
        if module is not old:
            self._changed(None if old is None else path)

    def changed(self, texts: Mapping[str, str]) -> Project:
        """The same project in which some files have other texts, to look at what a change would make of it."""
        other = Project(self.root)
        for path, module in self._open.items():
            other.set_text(path, module.text)
        for path, text in texts.items():
            other.set_text(path, text)
        return other

    def forget(self, path: str) -> None:
        """`path` is no longer open: what is on disk counts again."""
        path = os.path.abspath(path)
        if self._open.pop(path, None) is not None:
            self._changed(path if os.path.exists(path) else None)

    def _changed(self, path: str | None) -> None:
        """Drops what was worked out with the help of a file's old text; None: a file came or went."""
        self.evaluator = Evaluator(self)
        if path is None:
            self._resolved.clear()
            self._names.clear()
            self._mentions.clear()
            self._assigning = None
        elif self._assigned.pop(path, None) is not None:
            self._assigning = None
        for model in self._models.values():
            if model.path != path:
                model.other_file_changed(path)

    # -- models

    def model(self, path: str) -> FileModel | None:
        """Facts of the file as it is now; None when it cannot be read."""
        if self.fixed and path in self._models:
            return self._models[path]
        path = os.path.abspath(path)
        module = self.module(path)
        if module is None:
            self._models.pop(path, None)
            return None
        kept = self._models.get(path)
        if kept is not None and kept.module is module:
            return kept
        self._models[path] = model = FileModel(module, self, kept)
        return model

    # -- imports

    def resolve(self, from_path: str, module_name: str, level: int = 0) -> str | None:
        """File of an imported module if the project has it: a path, else None."""
        key = (os.path.dirname(from_path), module_name, level)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(*key)
        return self._resolved[key]

    def _resolve(self, folder: str, module_name: str, level: int) -> str | None:
        parts = [part for part in module_name.split(".") if part]
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._file(folder, parts)
        if not parts:
            return None
        for base in self._bases(folder):
            if self._has(base, parts[0]) and (found := self._file(base, parts)) is not None:
                return found
        return None

    def _has(self, folder: str, module: str) -> bool:
        """May there be a module of that name in the folder? Most imports are of nothing in the project."""
        names = self._names.get(folder)
        if names is None:
            try:
                names = frozenset(os.listdir(folder))
            except OSError:
                names = frozenset()
            self._names[folder] = names
        start = os.path.join(folder, module)
        return module in names or f"{module}.py" in names or any(path.startswith(start) for path in self._open)

    def _bases(self, folder: str) -> list[str]:
        """Folders that may be on `sys.path`: the file's own and those above it up to the root, and `src`."""
        found = [folder]
        while folder.startswith(self.root) and folder != self.root and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
            found.append(folder)
        return [*found, self.root, os.path.join(self.root, "src")]

    def _file(self, base: str, parts: list[str]) -> str | None:
        path = os.path.join(base, *parts)
        for candidate in (os.path.join(path, "__init__.py"), path + ".py"):
            if candidate in self._open or os.path.isfile(candidate):
                return candidate
        return path if parts and os.path.isdir(path) and _has_python(path) else None

    def submodule(self, path: str, name: str) -> str | None:
        """File of `package.name`, where `path` is the package's file or folder."""
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        if os.path.isdir(path) or os.path.basename(path) == "__init__.py":
            return self._file(folder, [name])
        return None

    # -- files

    def mentions(self, word: str) -> bool:
        """Does the word stand in any file of the project, as the files were when that was asked first?"""
        if word not in self._mentions:
            texts = (self.text(path) for path in self.python_files())
            self._mentions[word] = any(text is not None and word in text for text in texts)
        return self._mentions[word] or any(word in module.text for module in self._open.values())

    def is_imported(self, path: str) -> bool:
        """May another file of the project import this one, by what their imports say?"""
        name = re.escape(module_name(path))
        imports = re.compile(rf"^\s*(from|import)\b(.*|[^(\n]*\([^)]*)\b{name}\b", re.MULTILINE)
        texts = (self.text(other) for other in self.python_files() if other != path)
        return any(text is not None and imports.search(text) for text in texts)

    def _assigns_anew(self, module: Module) -> bool:
        """Does a file that is read for the first time assign other attributes than was found when all were searched?"""
        return module.path in self._assigned and self._assigned[module.path] != _assigned_in(module.text)

    def assigning(self, attribute: str) -> list[str]:
        """Files that assign an attribute of that name to some object or module, as their text tells; of a project with
        more files than can be looked through while somebody types, the open ones."""
        if self._assigning is None:
            found = set(islice(self.python_files(), _MOST_FILES + 1))
            paths = sorted((found if len(found) <= _MOST_FILES else set()) | self._open.keys())
            self._assigning = {}
            for path in paths:
                if path not in self._assigned:
                    self._assigned[path] = _assigned_in(self.text(path) or "")
                for name in self._assigned[path]:
                    self._assigning.setdefault(name, []).append(path)
        return self._assigning.get(attribute, [])

    def python_files(self) -> Iterator[str]:
        """Paths of the project's Python files, without environments, hidden folders and builds."""
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not _skipped(folder, name))
            paths = (os.path.join(folder, name) for name in sorted(files) if name.endswith((".py", ".pyi")))
            # A pipe or a device of that name would never end.
            yield from filter(os.path.isfile, paths)


def module_name(path: str) -> str:
    """The last part of the name by which a file is imported."""
    folder, file = os.path.split(path)
    return os.path.basename(folder) if file == "__init__.py" else file.rpartition(".")[0]


def _assigned_in(text: str) -> frozenset[str]:
    return frozenset(found[1] or found[2] for found in _ASSIGNED.finditer(text))


def _skipped(folder: str, name: str) -> bool:
    if name.startswith(".") or name in _SKIPPED or name.endswith(".egg-info"):
        return True
    return os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))


def _has_python(folder: str) -> bool:
    try:
        return any(name.endswith(".py") for name in os.listdir(folder))
    except OSError:
        return False
