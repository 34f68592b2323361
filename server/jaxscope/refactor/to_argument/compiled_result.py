"""A function that a factory returns, and that is compiled where the factory is called: `jit(make(n))`.

The array has no name there. So the factory compiles the function itself, and returns it with the array as an argument.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import applied_by
from jaxscope.refactor.to_argument.carried import Carried
from jaxscope.refactor.to_argument.escapes import Escapes
from jaxscope.refactor.to_argument.value import Value
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.options import OptionShift
from jaxscope.refactor.writing.syntax import replace
from jaxscope.semantics.names.scopes import Binding, Read
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Span

_WRITTEN = (ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Constant, ast.Tuple, ast.List, ast.expr_context)


def hoist_compiled_result(files: Files, compiled: Compiled, value: Value, read: Read) -> SourceChange:
    """The change for a value that a function reads which is compiled after it was returned. Raises Refused."""
    return _CompiledResult(files, compiled, value, read).change()


class _CompiledResult(Carried):
    def change(self) -> SourceChange:
        """The factory compiles, its callers do no longer."""
        file, node = self.file, self.reader()
        uses = self.files.of_function(file, node)
        at = uses[0].node if len(uses) == 1 else node
        if len(uses) != 1 or not isinstance(file.parents[at], ast.Return) or file.scope_of(at) is not self.value.home:
            raise file.refuse(f"`{node.name}` is not only returned.", at)
        self.parameter(node)
        texts = {self._taken_off(use, node.name) for use in self.files.of_function(file, self.value.home.function_node)}
        if len(texts) != 1:
            raise file.refuse("What the factory returns is compiled in different ways.", at)
        assert isinstance(at, ast.expr)
        (partial, imports), name = imported(file, at, "functools.partial"), self.value.root
        self.edits.add(file, imports)
        text = f"{partial}({texts.pop()}, {name}={name})"
        self.edits.add(file, [replace(file.layout, at, text)])
        return self.edits.change()

    def _taken_off(self, use: Use, name: str) -> str:
        """Takes off what compiles the result of a call of the factory; answers it as written for `name`."""
        file, call = use.file, use.file.parents[use.node]
        if not isinstance(call, ast.Call) or call.func is not use.node:
            raise file.refuse("It cannot be seen who calls what the factory returns here.", use.node)
        inner = self._only_read(file, call)
        whole = self._compiling(file, inner)
        if not Escapes(self.files, self.compiled).only_called(Use(file, whole)):
            raise file.refuse("It cannot be seen where the compiled function is called.", whole)
        layout, outer, own = file.layout, file.layout.span(whole), file.layout.span(inner)
        gaps = [Span(outer.start, own.start), Span(own.end, outer.end)]
        if any("#" in layout.text[gap.start : gap.end] for gap in gaps):
            raise file.refuse("There is a comment in what would be moved.", whole)
        self.edits.add(file, [Edit(gap, "") for gap in gaps])
        moved = copy.deepcopy(whole)
        place = next(n for n, found in enumerate(ast.walk(whole)) if found is inner)
        stands_in = list(ast.walk(moved))[place]
        return ast.unparse(_Named(stands_in, name).visit(moved))

    def _only_read(self, file: File, call: ast.Call) -> ast.expr:
        """The only read of the name that the call's result is given, or the call itself."""
        made = file.parents[call]
        target = made.targets[0] if isinstance(made, ast.Assign) and len(made.targets) == 1 else None
        if not isinstance(target, ast.Name):
            return call
        home = file.lookup(file.scope_of(target), target.id)
        uses = self.files.of_name(file, home, target.id) if home is not None and home.kind != "class" else []
        if home is None or len(uses) != 1 or len(file.bindings(home, target.id)) != 1 or uses[0].file is not file:
            raise file.refuse(f"`{target.id}` is not only compiled.", target)
        if file.scope_of(uses[0].node) is not file.scope_of(target):
            raise file.refuse(f"`{target.id}` is compiled elsewhere.", uses[0].node)
        return uses[0].node

    def _compiling(self, file: File, inner: ast.expr) -> ast.expr:
        """The transforms around an expression, of which one compiles. Raises Refused where they cannot be moved."""
        at, compiles = inner, False
        while isinstance(parent := file.parents[at], ast.Call):
            application = applied_by(file, parent, at)
            if application is None or application.transform.takes_self:
                break
            OptionShift(self.files, file, application, None, count=None).edits()
            at, compiles = parent, compiles or application.transform.is_jit
        if not compiles:
            raise file.refuse("What the factory returns is not compiled here.", inner)
        for node in self._around(at, inner):
            if not isinstance(node, _WRITTEN):
                raise file.refuse("How it is compiled cannot be written in the factory.", node)
            if isinstance(node, ast.Name) and not self._same(file, node):
                raise file.refuse(f"`{node.id}` may mean something else in the factory.", node)
        return at

    def _around(self, at: ast.AST, inner: ast.AST) -> Iterator[ast.AST]:
        if at is not inner:
            yield at
            for child in ast.iter_child_nodes(at):
                yield from self._around(child, inner)

    def _same(self, file: File, node: ast.Name) -> bool:
        """Is it an import that the factory has, too?"""
        name, top = node.id, self.file.top
        there = file.bindings(file.top, name) if file.lookup(file.scope_of(node), name) is file.top else []
        here = self.file.bindings(top, name) if self.file.lookup(self.value.home, name) is top else []
        return len(there) == len(here) == 1 and _imported(there[0]) == _imported(here[0]) is not None


def _imported(binding: Binding) -> tuple[str, str] | None:
    absolute = binding.kind == "import" and not binding.level and -1 not in binding.block
    return (binding.module, binding.attribute) if absolute else None


class _Named(ast.NodeTransformer):
    """Writes a name where one expression stands."""

    def __init__(self, node: ast.AST, name: str) -> None:
        self.node = node
        self.name = name

    def visit(self, node: ast.AST) -> ast.AST:
        """The expression, or the name."""
        if node is self.node:
            return ast.Name(self.name, ast.Load())
        return super().generic_visit(node)
