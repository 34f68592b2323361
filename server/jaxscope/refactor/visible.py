"""How the value is written at a place outside the compiled functions: by the name that is visible there."""

from __future__ import annotations

import ast

from jaxscope.refactor.edits import Edits
from jaxscope.refactor.names import File, identifiers
from jaxscope.refactor.references import Files
from jaxscope.refactor.value import Value
from jaxscope.semantics.scopes import Scope
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span


class Visible:
    """Writes the value at call sites, and adds imports where a file needs one."""

    def __init__(self, files: Files, value: Value, edits: Edits) -> None:
        self.files = files
        self.value = value
        self.edits = edits
        self._imported: dict[str, str] = {}

    def text(self, file: File, scope: Scope, node: ast.expr) -> str:
        """The value as written in `scope`. Raises Refused where its name means something else there."""
        value = self.value
        if file is value.file:
            if file.lookup(scope, value.root) is not (None if value.new else value.home):
                raise file.refuse(f"`{value.root}` means something else at this call.", node)
            return value.text
        for home, prefix in self.files.module_prefixes(file, value.file.path):
            if file.lookup(scope, prefix.partition(".")[0]) is home:
                return f"{prefix}.{value.text}"
        name = self._existing(file, scope) or self._import(file, scope, node)
        return name + "".join(value.links)

    def check_made(self, file: File, node: ast.expr) -> None:
        """Raises Refused unless the value certainly exists when the code at `node` runs, rather than later."""
        value = self.value
        bindings = value.file.bindings(value.home, value.root)
        same = file is value.file and file.scope_of(node).owner() is value.home
        if same and any((b.order > (node.lineno, node.col_offset)) for b in bindings):
            raise file.refuse(f"`{value.text}` may not exist yet where the function is stored.", node)
        links = [link[1:] for link in value.links if link.startswith(".")]
        stores = [store for name in links for store in self.files.attribute_stores(name)]
        for other, store in stores:
            here = other is file and other.scope_of(store) is file.scope_of(node)
            if here and (store.lineno, store.col_offset) > (node.lineno, node.col_offset):
                raise file.refuse(f"`{value.text}` may not exist yet where the function is stored.", node)

    def _existing(self, file: File, scope: Scope) -> str | None:
        for name, bindings in file.top.bindings.items():
            if len(bindings) == 1 and self.files.target(file, bindings[0]) == (self.value.file.path, self.value.root):
                return name if file.lookup(scope, name) is file.top else None
        return None

    def _import(self, file: File, scope: Scope, node: ast.expr) -> str:
        if file.path in self._imported:
            return self._imported[file.path]
        taken = identifiers(file.tree)
        root = self.value.root
        name = next(n for n in (root + "_" * number for number in range(99)) if n not in taken)
        alias = root if name == root else f"{root} as {name}"
        path = self.value.file.path
        for statement in file.tree.body:
            if not isinstance(statement, ast.ImportFrom):
                continue
            if self.files.project.resolve(file.path, statement.module or "", statement.level) == path:
                at = file.layout.end(statement.names[-1])
                self.edits.add(file, [Edit(Span(at, at), f", {alias}")])
                self._imported[file.path] = name
                return name
        raise file.refuse(f"`{self.value.text}` cannot be seen from this call.", node)
