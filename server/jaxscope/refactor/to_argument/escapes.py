"""Where a function goes that is stored or returned: is it only ever called, and never in another trace?

Then a `partial` in its place, which gives the new argument, is as good as the function was.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.flow import Flow, Path
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import applied_by
from jaxscope.refactor.program.uses import given_to, is_own_method
from jaxscope.refactor.writing.layout import FunctionNode


class Escapes:
    """Follows the value of an expression. `only_called` answers for everything it may reach."""

    def __init__(self, files: Files, compiled: Compiled) -> None:
        self.files = files
        self.compiled = compiled
        self.flow = Flow(files, compiled)
        self._seen: set[tuple[ast.AST, Path]] = set()
        self._trace: FunctionNode | None = None
        """The compiled function in which it is stored."""

    def only_called(self, use: Use) -> bool:
        """Is the function at `use`, wherever it is found again, called and nothing else, and by the same trace?"""
        self._trace = self._outermost(use)
        return self._follow(use, ())

    def _follow(self, use: Use, path: Path) -> bool:
        file, node = use.file, use.node
        if (node, path) in self._seen:
            return True
        self._seen.add((node, path))
        parent = file.parents[node]
        if self._trace is not None and self._outermost(use) is not self._trace:
            return False
        if isinstance(parent, ast.keyword):
            parent = file.parents[parent]
        if isinstance(parent, ast.Call):
            called = self._called(use, parent, path)
            if called is not None:
                return called
        if not path and isinstance(parent, ast.Compare) and _with_none(parent):
            return True
        moves = self.flow.onward(use, path)
        return moves is not None and all(self._kept(other) and self._follow(other, rest) for other, rest in moves)

    def _kept(self, use: Use) -> bool:
        """Does what is stored in a compiled function stay in its calls?"""
        if self._trace is None or not isinstance(use.node, ast.Name | ast.Attribute):
            return True
        home = use.file.lookup(use.file.scope_of(use.node), use.node.id) if isinstance(use.node, ast.Name) else None
        return home is not None and any(around.node is self._trace for around in home.around())

    def _called(self, use: Use, call: ast.Call, path: Path) -> bool | None:
        """Is it well that the call calls it, or hands it to something that does? None when the call only moves it."""
        given = None if call.func is use.node else given_to(use.file, call, use.node)
        if path:
            return self._outermost(use) is self._trace if given is not None and given.kind == "body" else None
        if call.func is not use.node and given is None:
            return None
        if self._outermost(use) is not self._trace:
            return False
        if given is None or given.kind in ("call", "body"):
            return given is None or not is_own_method(self.files, use.file, call)
        application = applied_by(use.file, call, use.node)
        if application is not None and application.transform.is_jit:
            return False
        return self._follow(Use(use.file, call), ())

    def _outermost(self, use: Use) -> FunctionNode | None:
        return self.compiled.outermost(use.file, use.file.scope_of(use.node), use.file.top)


def _with_none(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    known = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return known and all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
