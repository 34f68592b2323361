"""Every place in the project that means a given function, name or attribute."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.names import File, file_of
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Binding, Scope
from jaxscope.semantics.project import Project, module_name
from jaxscope.text.edit import SourceChange


@dataclass(frozen=True, slots=True)
class Use:
    """An expression that means the thing looked for."""

    file: File
    node: ast.expr


class Files:
    """The project's files as a refactoring sees them, each looked at once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._attributes: dict[str, list[Use]] = {}
        self._mentioning: dict[str, list[File]] = {}
        self.doubts: list[Refusal] = []
        """What a change that is planned with these files takes for granted, and only a run can show."""

    def get(self, path: str) -> File:
        """The file at `path`. Raises Refused when there is none or it does not parse."""
        module = self.project.module(path)
        if module is None:
            raise Refused("The file cannot be read.", path, 1)
        return file_of(module)

    def doubt(self, file: File, node: ast.AST, reason: str) -> None:
        """Notes what cannot be seen in the source."""
        refusal = Refusal(reason, file.path, getattr(node, "lineno", 1))
        if refusal not in self.doubts:
            self.doubts.append(refusal)

    def first(self, *attempts: Callable[[], SourceChange]) -> SourceChange:
        """The change of the first attempt that is not refused; else the first one's refusal is raised."""
        refusals: list[Refused] = []
        before = list(self.doubts)
        for attempt in attempts:
            try:
                return attempt()
            except Refused as refused:
                refusals.append(refused)
                self.doubts[:] = before
        raise refusals[0] from None

    def readable(self, path: str) -> File | None:
        """The file at `path`; None when it cannot be read or does not parse."""
        try:
            return self.get(path)
        except Refused:
            return None

    def mentioning(self, word: str) -> list[File]:
        """The project's files in which the word occurs. Raises Refused for one that does not parse."""
        if word not in self._mentioning:
            pattern = _word(word)
            found = [path for path, text in self._texts.items() if word in text and pattern.search(text)]
            self._mentioning[word] = [self.get(path) for path in found]
        return self._mentioning[word]

    @cached_property
    def _texts(self) -> dict[str, str]:
        texts = ((path, self.project.text(path)) for path in self.project.python_files())
        return {path: text for path, text in texts if text is not None}

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
            homes = [file.path]
            for other, names, imported in self._importers(file, name):
                uses += imported
                homes += [other.path] if names else []
            self._check_handed_on(homes, name, {id(use.node) for use in uses})
        return list({id(use.node): use for use in uses}.values())

    def handed_on(self, file: File, name: str) -> list[tuple[File, str]]:
        """The modules that have the global `name` of `file`, by whatever name: itself, and those that import it."""
        names = [(other, local) for other, names, _ in self._importers(file, name) for local in names]
        return list(dict.fromkeys([(file, name), *names]))

    def _importers(self, file: File, name: str) -> Iterator[tuple[File, list[str], list[Use]]]:
        """Files that import the global: its names in them, and reads of it."""
        waiting = [(file.path, name)]
        for path, known in waiting:  # it grows by the modules that hand the name on
            for other in self.mentioning(known):
                if other.path != path:
                    names, uses = self._imported(other, path, known)
                    waiting += [(other.path, local) for local in names if (other.path, local) not in waiting]
                    yield other, names, uses

    def of_attribute(self, name: str) -> list[Use]:
        """Every `….name` that is read anywhere in the project, whatever the object."""
        if name not in self._attributes:
            self._attributes[name] = [
                Use(file, node)
                for file in self.mentioning(name)
                for node in file.nodes
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
            ]
        return self._attributes[name]

    def attribute_stores(self, name: str) -> Iterator[tuple[File, ast.Attribute]]:
        """Every `….name` that is assigned or deleted anywhere in the project."""
        for file in self.mentioning(name):
            for node in file.nodes:
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
        inner = self._inner(file, binding)
        path = resolve(file.path, binding.module, binding.level)
        if inner and not (path and self._binds_other(path, binding.attribute, inner)):
            return inner, None
        return (path, binding.attribute) if path else None

    def _inner(self, file: File, binding: Binding) -> str | None:
        """The module that `from package import name` means where `name` is no more than a module."""
        dotted = f"{binding.module}.{binding.attribute}" if binding.module else binding.attribute
        return self.project.resolve(file.path, dotted, binding.level)

    def _binds_other(self, package: str, name: str, module: str) -> bool:
        """Does the package give the name of its module to something else, as `from .f import f` does?"""
        file = self.readable(package)
        bound = file.top.bindings.get(name, []) if file else []
        return any(b.kind != "import" or (b.attribute and self._inner(file, b) != module) for b in bound if file)

    def module_prefixes(self, file: File, path: str) -> list[tuple[Scope, str]]:
        """Dotted names by which `file` calls the module at `path`: (scope of the first name, dotted name)."""
        found: list[tuple[Scope, str]] = []
        for scope in file.scopes():
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if self.target(file, binding) == (path, None):
                        found.append((scope, name))
        found += ((scope, name) for scope, name, where in self._dotted_imports(file) if where == path)
        return list(dict.fromkeys(found))

    def _imported(self, file: File, path: str, name: str) -> tuple[list[str], list[Use]]:
        """Globals of `file` that are `name` of the module at `path`, and all reads of that in `file`."""
        for node in (found for found in file.nodes if isinstance(found, ast.ImportFrom)):
            everything = any(alias.name == "*" for alias in node.names)
            if everything and self.project.resolve(file.path, node.module or "", node.level) == path:
                raise file.refuse(f"`{name}` may be used here through `import *`.", node)
        names: list[str] = []
        uses: list[Use] = []
        for scope in file.scopes():
            for local, bindings in scope.bindings.items():
                means = [self.target(file, binding) == (path, name) for binding in bindings]
                if any(means):
                    if not all(means):
                        other = bindings[means.index(False)].node
                        raise file.refuse(f"`{local}` is bound to `{name}` and to something else here.", other)
                    names += [local] if scope is file.top else []
                    uses += (Use(file, read.node) for read in file.reads(scope, local))
            for read in scope.reads:
                attributes = [link for link in read.links if isinstance(link, ast.Attribute) and link.attr == name]
                loaded = [link for link in attributes if isinstance(link.ctx, ast.Load)]
                uses += (Use(file, link) for link in loaded if path in self._modules(file, scope, link.value))
        return names, uses

    def _check_handed_on(self, homes: list[str], name: str, known: set[int]) -> None:
        """Raises Refused where one of the modules that have the name goes to another name, or is imported by a string,
        and `name` is taken from some object, which may be it."""
        if all(id(use.node) in known for use in self.of_attribute(name)):
            return
        for path in homes:
            word = module_name(path)
            for file in chain.from_iterable(map(self.mentioning, (word, "import_module", "__import__"))):
                bare = ((scope, read.node) for scope in file.scopes() for read in scope.reads if not read.links)
                nodes = (node for scope, node in bare if path in self._modules(file, scope, node))
                found = next(chain(nodes, _by_string(file, word)), None)
                if found is not None:
                    raise file.refuse(f"The module is handed on here, and `{name}` may be taken from it.", found)

    def _modules(self, file: File, scope: Scope, node: ast.expr) -> set[str]:
        """Paths of the project's modules that an expression in `scope` may mean: `a`, `a.b`."""
        if isinstance(node, ast.Name):
            home = file.lookup(scope, node.id)
            return self._bound_modules(file, file.bindings(home, node.id)) if home is not None else set()
        if not isinstance(node, ast.Attribute):
            return set()
        found: set[str] = set()
        for package in self._modules(file, scope, node.value):
            other = self.readable(package)
            found |= self._bound_modules(other, other.top.bindings.get(node.attr, [])) if other else set()
            if os.path.basename(package) == "__init__.py":
                found |= {path for path in [self.project.resolve(package, node.attr, 1)] if path}
        dotted = ast.unparse(node)  # `import a.b`, where `a` is a folder without a module of its own
        found |= {path for _, prefix, path in self._dotted_imports(file) if prefix == dotted}
        return found

    def _bound_modules(self, file: File, bindings: list[Binding]) -> set[str]:
        targets = (self.target(file, binding) for binding in bindings)
        return {target[0] for target in targets if target and target[1] is None}

    def _dotted_imports(self, file: File) -> Iterator[tuple[Scope, str, str]]:
        """`import a.b` of the project's own: the scope, `a.b`, and the path of that module."""
        for node in (found for found in file.nodes if isinstance(found, ast.Import)):
            for alias in node.names:
                path = self.project.resolve(file.path, alias.name, 0)
                if path and not alias.asname and "." in alias.name:
                    yield file.scope_of(node), alias.name, path


@cache
def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")


def _by_string(file: File, module: str) -> Iterator[ast.expr]:
    """Where a file may import the module by a string, or look it up by one."""
    for node in file.nodes:
        key: ast.expr | None = None
        if isinstance(node, ast.Call) and node.args and last_name(node.func) in ("import_module", "__import__"):
            key = node.args[0]
        elif isinstance(node, ast.Subscript) and last_name(node.value) == "modules":
            key = node.slice
        if key is not None and not (isinstance(key, ast.Constant) and str(key.value).rpartition(".")[2] != module):
            yield key
