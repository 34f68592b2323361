"""Where an option's value is written: in its place, or in the one assignment of the name that stands there."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.semantics.names.scopes import Scope
from jaxscope.text.edit import Edit, TextEdit
from jaxscope.text.span import Span


class Written:
    """`value` as written. `node` is what it means: itself, or what its name was given."""

    def __init__(self, files: Files, file: File, value: ast.expr) -> None:
        self.file = file
        self.value = value
        self.node = value
        self.shared = False
        """Others read it too, so that it is written anew here rather than changed."""
        scope = file.scope_of(value)
        home = file.lookup(scope, value.id) if isinstance(value, ast.Name) else None
        if home is None or not isinstance(value, ast.Name):
            return
        bound = file.bindings(home, value.id)
        given = bound[0].value if len(bound) == 1 else None
        if given is None or bound[0].kind != "assign" or bound[0].path or bound[0].block:
            return
        shared = len(files.of_name(file, home, value.id)) > 1
        if not shared or (self._fixed(given) and self._same_names(given, scope)):
            self.node, self.shared = given, shared

    def edits(self, edits: Sequence[Edit]) -> list[Edit]:
        """`edits` of `node`, made where they concern nobody else."""
        layout = self.file.layout
        if not self.shared or not edits:
            return list(edits)
        start = layout.start(self.node)
        moved = [Edit(Span(edit.span.start - start, edit.span.end - start), edit.new) for edit in edits]
        return [Edit(layout.span(self.value), TextEdit.of(moved).apply(layout.source(self.node)))]

    def _fixed(self, node: ast.expr) -> bool:
        """May it be written a second time? A list may have changed meanwhile, an object may be meant itself."""
        if isinstance(node, ast.Tuple):
            return all(map(self._fixed, node.elts)) and self.file.layout.bracketed(node)
        if isinstance(node, ast.Call):
            return (self.file.dotted(node.func) or "").startswith("jax.sharding.")
        return isinstance(node, ast.Constant | ast.UnaryOp | ast.Name)

    def _same_names(self, node: ast.expr, scope: Scope) -> bool:
        """Do the names in it mean the same, bound once, where the option stands?"""
        for name in (found for found in ast.walk(node) if isinstance(found, ast.Name)):
            home = self.file.lookup(scope, name.id)
            there = self.file.lookup(self.file.scope_of(name), name.id)
            if home is not there or (home is not None and len(self.file.bindings(home, name.id)) != 1):
                return False
        return True
