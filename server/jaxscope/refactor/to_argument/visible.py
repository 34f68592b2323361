"""How the value is written at a place outside the compiled functions: by the name that is visible there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from jaxscope.refactor.program.names import File, identifiers, unused
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.to_argument.value import Value
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import insert_after, starts_own_line
from jaxscope.semantics.names.scopes import Scope
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span

_Import = ast.Import | ast.ImportFrom
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Visible:
    """Writes the value at call sites, and adds imports where a file needs one."""

    def __init__(self, files: Files, value: Value, edits: Edits) -> None:
        self.files = files
        self.value = value
        self.edits = edits
        self._imported: dict[ast.AST, str] = {}

    def text(self, file: File, scope: Scope, node: ast.expr) -> str:
        """The value as written in `scope`. Raises Refused where its name means something else there."""
        value = self.value
        if file is value.file:
            if file.lookup(scope, value.root) is not (None if value.new else value.home):
                raise file.refuse(f"`{value.root}` means something else at this call.", node)
            return value.text
        links = "".join(value.links)
        for path, root in self._homes:
            for home, prefix in self.files.module_prefixes(file, path):
                first = prefix.partition(".")[0]
                if file.lookup(scope, first) is home and file.has_run(home.bindings[first][0], node):
                    return f"{prefix}.{root}{links}"
        held = next(file.imported(node, lambda one: self.files.target(file, one) in self._homes), None)
        return (held or self._import(file, scope, node)) + links

    @cached_property
    def _homes(self) -> list[tuple[str, str]]:
        """The modules that have the value, and its names there: from the one that makes it to that of its readers."""
        file: File | None = self.value.file
        found = [(self.value.file.path, self.value.root)]
        while file is not None:
            bindings = file.top.bindings.get(found[-1][1], [])
            target = self.files.target(file, bindings[0]) if len(bindings) == 1 and not bindings[0].block else None
            if target is None or target[1] is None or (target[0], target[1]) in found:
                break
            found.append((target[0], target[1]))
            file = self.files.readable(target[0])
        return found[::-1]

    def check_made(self, file: File, node: ast.expr) -> None:
        """Raises Refused unless the value certainly exists when the code at `node` runs, rather than later."""
        value = self.value
        bindings = value.file.bindings(value.home, value.root)
        reason = f"`{value.text}` may not exist yet where the function is stored."
        loops = {each for each in file.around(node) if isinstance(each, _LOOPS)}
        if any(loops & set(value.file.around(each.node)) for each in bindings):
            raise file.refuse(f"`{value.text}` may be another one in the next round, when this is called.", node)
        scope = at = file.scope_of(node).owner()
        start = (node.lineno, node.col_offset)
        if file is value.file and any(each is value.home for each in scope.around()):
            while at is not value.home and at.parent is not None and isinstance(at.node, ast.stmt | ast.expr):
                start = (at.node.lineno, at.node.col_offset)  # what is defined there runs later
                at = at.parent.owner()
            later = [each.order > start for each in bindings]
            if scope is value.home and any(later):
                raise file.refuse(reason, node)
            if scope is not value.home and all(later):
                self.files.doubt(file, node, reason)
        links = [link[1:] for link in value.links if link.startswith(".")]
        stores = [store for name in links for store in self.files.attribute_stores(name)]
        for other, store in stores:
            here = other is file and other.scope_of(store) is file.scope_of(node)
            if here and (store.lineno, store.col_offset) > (node.lineno, node.col_offset):
                raise file.refuse(reason, node)

    def _import(self, file: File, scope: Scope, node: ast.expr) -> str:
        """Imports the value where the file imports from its module, or from one that hands the function on."""
        imports = list(self._imports(file, scope, node))
        ways = (self._way(file, imports, path) for path, _ in self._homes)
        (statement, beside), root = next(
            ((way, root) for way, (_, root) in zip(ways, self._homes, strict=True) if any(way)), ((None, None), "")
        )
        if statement is None and beside is None:
            raise file.refuse(f"`{self.value.text}` cannot be seen from this call.", node)
        at = statement or (beside[0] if beside else file.tree)
        if at not in self._imported:
            name = unused(root, identifiers(file.tree))
            alias = root if name == root else f"{root} as {name}"
            if isinstance(statement, ast.ImportFrom):
                end = file.layout.end(statement.names[-1])
                self.edits.add(file, [Edit(Span(end, end), f", {alias}")])
            elif beside is not None:
                self.edits.add(file, insert_after(file.layout, beside[0], f"from {beside[1]} import {alias}"))
            self._imported[at] = name
        return self._imported[at]

    def _way(self, file: File, imports: list[_Import], path: str) -> tuple[_Import | None, tuple[_Import, str] | None]:
        """A statement that imports from a module, or one beside which its name can be said, and that name."""
        statement = next((found for found in imports if self._from(file, found) == path), None)
        return statement, next(filter(None, (self._beside(file, found, path) for found in reversed(imports))), None)

    def _imports(self, file: File, scope: Scope, node: ast.expr) -> Iterator[_Import]:
        """Imports that have certainly run when the code at `node` runs, from the outermost on."""
        bodies = [around.node for around in scope.around() if around.kind != "class"]
        for body in [file.tree, *reversed(bodies)]:
            for statement in getattr(body, "body", None) or [] if not isinstance(body, ast.Lambda) else []:
                earlier = (body is file.tree and file.runs_later(node)) or statement.lineno < node.lineno
                if isinstance(statement, ast.Import | ast.ImportFrom) and earlier:
                    yield statement

    def _from(self, file: File, statement: _Import) -> str | None:
        if isinstance(statement, ast.Import):
            return None
        return self.files.project.resolve(file.path, statement.module or "", statement.level)

    def _beside(self, file: File, statement: _Import, path: str) -> tuple[_Import, str] | None:
        """The statement, and how the module at `path` is called where that of the statement is called so."""
        resolve, level = self.files.project.resolve, getattr(statement, "level", 0)
        name = statement.names[0].name if isinstance(statement, ast.Import) else statement.module or ""
        found = resolve(file.path, name, level)
        if found is None or not starts_own_line(file.layout, statement):
            return None
        folder = Path(found).parent if not name or Path(found).name == "__init__.py" else Path(found)
        base = folder.parents[name.count(".")] if name else folder
        target = Path(path).with_suffix("")
        target = target.parent if target.name == "__init__" else target
        if base not in target.parents:
            return None
        module = "." * level + ".".join(target.relative_to(base).parts)
        return (statement, module) if resolve(file.path, module[level:], level) == path else None
