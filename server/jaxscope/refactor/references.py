"""Every place in the project that means a given function, name or attribute."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.layout import FunctionNode
from jaxscope.refactor.names import File
from jaxscope.semantics.scopes import Binding, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.project import Project


@dataclass(frozen=True, slots=True)
class Use:
    """An expression that means the thing looked for."""

    file: File
    node: ast.expr


class Files:
    """The project's files as a refactoring sees them, each looked at once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._files: dict[str, File | None] = {}
        self._attributes: dict[str, list[Use]] = {}
        self.doubts: list[Refusal] = []
        """What a change that is planned with these files takes for granted, and only a run can show."""

    def get(self, path: str) -> File:
        """The file at `path`. Raises Refused when there is none or it does not parse."""
        module = self.project.module(path)
        if module is None:
            raise Refused("The file cannot be read.", path, 1)
        found = self._files.get(path)
        if found is None or found.module is not module:
            found = self._files[path] = File(module)
        return found

    def doubt(self, file: File, node: ast.AST, reason: str) -> None:
        """Notes what cannot be seen in the source."""
        refusal = Refusal(reason, file.path, getattr(node, "lineno", 1))
        if refusal not in self.doubts:
            self.doubts.append(refusal)

    def readable(self, path: str) -> File | None:
        """The file at `path`; None when it cannot be read or does not parse."""
        try:
            return self.get(path)
        except Refused:
            return None

    def mentioning(self, word: str) -> Iterator[File]:
        """The project's files in which the word occurs. Raises Refused for one that does not parse."""
        pattern = _word(word)
        for path in self.project.python_files():
            text = self.project.text(path)
            if text is not None and word in text and pattern.search(text):
                yield self.get(path)

    # ------------------------------------------------------------ references

    def of_function(self, file: File, node: FunctionNode) -> list[Use]:
        """Every expression that means the function; a lambda means itself. Methods are found by attribute name."""
        if isinstance(node, ast.Lambda):
            return [Use(file, node)]
        scope = file.scope(node)
        home = scope.parent
        assert home is not None
        if home.kind == "class":
            return self.of_attribute(node.name) + self.of_name(file, home, node.name)
        return self.of_name(file, home, node.name)

    def of_name(self, file: File, home: Scope, name: str) -> list[Use]:
        """Every read of `name` of `home`, in other files too where `home` is a module."""
        uses = [Use(file, read.node) for read in file.reads(home, name)]
        if home is file.top:
            for other in self.mentioning(name):
                if other.path != file.path:
                    uses += self._imported(other, file.path, name)
        return uses

    def of_attribute(self, name: str) -> list[Use]:
        """Every `….name` that is read anywhere in the project, whatever the object."""
        if name not in self._attributes:
            self._attributes[name] = [
                Use(file, node)
                for file in self.mentioning(name)
                for node in ast.walk(file.tree)
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
            ]
        return self._attributes[name]

    def attribute_stores(self, name: str) -> Iterator[tuple[File, ast.Attribute]]:
        """Every `….name` that is assigned or deleted anywhere in the project."""
        for file in self.mentioning(name):
            for node in ast.walk(file.tree):
                if isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load):
                    yield file, node

    # ------------------------------------------------------------ imports

    def target(self, file: File, binding: Binding) -> tuple[str, str | None] | None:
        """What an import binds: (path of a project file, name in it), or (path, None) for the module itself."""
        if binding.kind != "import":
            return None
        resolve = self.project.resolve
        if not binding.attribute:
            path = resolve(file.path, binding.module, binding.level)
            return (path, None) if path else None
        inner = f"{binding.module}.{binding.attribute}" if binding.module else binding.attribute
        path = resolve(file.path, inner, binding.level)
        if path:
            return path, None
        path = resolve(file.path, binding.module, binding.level)
        return (path, binding.attribute) if path else None

    def module_prefixes(self, file: File, path: str) -> list[tuple[Scope, str]]:
        """Dotted names by which `file` calls the module at `path`: (scope of the first name, dotted name)."""
        found: list[tuple[Scope, str]] = []
        for scope in file.scopes():
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if self.target(file, binding) == (path, None):
                        found.append((scope, name))
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Import):
                scope = file.scope_of(node)
                for alias in node.names:
                    if (
                        not alias.asname
                        and "." in alias.name
                        and self.project.resolve(file.path, alias.name, 0) == path
                    ):
                        found.append((scope, alias.name))
        return list(dict.fromkeys(found))

    def _imported(self, file: File, path: str, name: str) -> Iterator[Use]:
        """Reads in `file` of `name` of the module at `path`."""
        for node in (found for found in ast.walk(file.tree) if isinstance(found, ast.ImportFrom)):
            everything = any(alias.name == "*" for alias in node.names)
            if everything and self.project.resolve(file.path, node.module or "", node.level) == path:
                raise file.refuse(f"`{name}` may be used here through `import *`.", node)
        for scope in file.scopes():
            for local, bindings in scope.bindings.items():
                if any(self.target(file, binding) == (path, name) for binding in bindings):
                    yield from (Use(file, read.node) for read in file.reads(scope, local))
        for scope, prefix in self.module_prefixes(file, path):
            parts = [*prefix.split(".")[1:], name]
            for read in file.reads(scope, prefix.partition(".")[0]):
                links = read.links[: len(parts)]
                if [getattr(link, "attr", None) for link in links] == parts and isinstance(links[-1].ctx, ast.Load):
                    yield Use(file, links[-1])


@cache
def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
