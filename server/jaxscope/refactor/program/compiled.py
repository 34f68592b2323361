"""Which functions run while JAX compiles: those given to `jit` and its kin, and all that these call.

An answer of False may be wrong for a function that is stored where it cannot be followed; what is built on this is
checked again by tracing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import applied_by, decorated_by, is_partial
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.semantics.names.scopes import Binding, Read, Scope
from jaxscope.semantics.vocabulary import DERIVATIVE_RULES

_DEPTH = 8
_HOLDING = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.IfExp)


class Compiled:
    """Answers for one project, each worked out once."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._known: dict[FunctionNode, bool] = {}
        self._visited: set[ast.AST] = set()

    def compiled(self, file: File, node: FunctionNode) -> bool:
        """May the function's body run while a program is being traced for compilation?"""
        if node not in self._known:
            self._known[node] = False  # while it is worked out: recursion adds nothing
            self._known[node] = self._decorated(file, node) or any(
                self._in_compiled(use) or self.becomes_compiled(use) for use in self._uses(file, node)
            )
        return self._known[node]

    def outermost(self, file: File, scope: Scope, below: Scope) -> FunctionNode | None:
        """The outermost compiled function around code in `scope`, of those inside `below`."""
        found = None
        for around in scope.around():
            if around is below:
                break
            if around.is_function and self.compiled(file, around.function_node):
                found = around.function_node
        return found

    def reached(self, file: File, node: FunctionNode) -> set[FunctionNode]:
        """`node` and every function of the project that its code mentions by name, and so on."""
        found: set[FunctionNode] = {node}
        waiting = [(file, node)]
        while waiting:
            at, function = waiting.pop()
            for other, mentioned in self._mentioned(at, function):
                if mentioned not in found:
                    found.add(mentioned)
                    waiting.append((other, mentioned))
        return found

    def definition(self, file: File, node: ast.expr, depth: int = 0) -> Iterator[tuple[File, FunctionNode]]:
        """The functions that an expression means: by name, through imports, aliases, transforms and `partial`."""
        if depth > _DEPTH:
            return
        if isinstance(node, ast.Lambda):
            yield file, node
        elif isinstance(node, ast.Call):
            for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
                if applied_by(file, node, arg) or (is_partial(file, node) and arg is node.args[0]):
                    yield from self.definition(file, arg, depth + 1)
        elif isinstance(node, ast.Name):
            home = file.lookup(file.scope_of(node), node.id)
            for binding in home.bindings.get(node.id, []) if home else []:
                yield from self._bound_to(file, binding, depth)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = file.lookup(file.scope_of(node), node.value.id)
            for binding in home.bindings.get(node.value.id, []) if home else []:
                target = self.files.target(file, binding)
                if target and target[1] is None:
                    yield from self._defined_in(target[0], node.attr, depth)

    # ------------------------------------------------------------ inside

    def _bound_to(self, file: File, binding: Binding, depth: int) -> Iterator[tuple[File, FunctionNode]]:
        if isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield file, binding.node
        elif binding.kind == "import":
            target = self.files.target(file, binding)
            if target and target[1]:
                yield from self._defined_in(target[0], target[1], depth)
        elif binding.kind == "assign" and binding.value is not None and not binding.path:
            yield from self.definition(file, binding.value, depth + 1)

    def _defined_in(self, path: str, name: str, depth: int) -> Iterator[tuple[File, FunctionNode]]:
        file = self.files.get(path)
        for binding in file.top.bindings.get(name, []):
            yield from self._bound_to(file, binding, depth + 1)

    def _mentioned(self, file: File, node: FunctionNode) -> Iterator[tuple[File, FunctionNode]]:
        for scope in file.scope(node).walk():
            for read in scope.reads:
                yield from self.definition(file, read.node)
                yield from self._held(file, read)
                if read.links and isinstance(read.links[0], ast.Attribute):
                    yield from self.definition(file, read.links[0])

    def _held(self, file: File, read: Read) -> Iterator[tuple[File, FunctionNode]]:
        """Functions in a container that the name is bound to."""
        home = file.lookup(read.scope, read.name)
        for binding in home.bindings.get(read.name, []) if home else []:
            if isinstance(binding.value, ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.DictComp):
                for node in ast.walk(binding.value):
                    if isinstance(node, ast.Name | ast.Lambda):
                        yield from self.definition(file, node)

    def _uses(self, file: File, node: FunctionNode) -> Iterator[Use]:
        for use in self.files.of_function(file, node):
            if not self._inside(use.file, use.node, node):
                yield use

    def _inside(self, file: File, node: ast.AST, function: FunctionNode) -> bool:
        return node is not function and any(around is function for around in file.around(node))

    def _decorated(self, file: File, node: FunctionNode) -> bool:
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        if any(self._gives_rule(file, decorator) for decorator in decorators):
            return True
        found = (decorated_by(file, decorator) for decorator in decorators)
        return any(application is not None and application.transform.is_jit for application in found)

    def _gives_rule(self, file: File, node: ast.expr) -> bool:
        """Is it `f.defvjp`, where `f` is compiled, and so are its derivative rules?"""
        if not isinstance(node, ast.Attribute) or node.attr not in DERIVATIVE_RULES:
            return False
        return any(self.compiled(other, function) for other, function in self.definition(file, node.value))

    def _in_compiled(self, use: Use) -> bool:
        scopes = [scope for scope in use.file.scope_of(use.node).around() if scope.is_function]
        return any(self.compiled(use.file, scope.function_node) for scope in scopes)

    def becomes_compiled(self, use: Use) -> bool:
        """Does the value of the expression get compiled, followed through aliases and transforms?"""
        file, node = use.file, use.node
        parent = file.parents.get(node)
        if isinstance(parent, ast.keyword):
            parent = file.parents[parent]
        if node in self._visited:
            return False
        self._visited.add(node)
        try:
            if isinstance(parent, ast.Call) and parent.func is not node:
                application = applied_by(file, parent, node)
                if self._gives_rule(file, parent.func):
                    return True
                if application is not None and application.transform.is_jit:
                    return True
                passes = application is not None and not application.transform.loop
                return (passes or is_partial(file, parent)) and self.becomes_compiled(Use(file, parent))
            return any(
                self._in_compiled(other) or self.becomes_compiled(other) for other in self._moved(file, node, parent)
            )
        finally:
            self._visited.discard(node)

    def _moved(self, file: File, node: ast.expr, parent: ast.AST | None) -> Iterator[Use]:
        """Other expressions with the value of `node`, or with it in them: reads of the name it is assigned to, what
        holds it, calls that return it."""
        if isinstance(parent, _HOLDING) or (isinstance(parent, ast.Subscript) and parent.value is node):
            yield Use(file, parent)
        elif isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
            yield from self._reads(file, parent.target)
        elif isinstance(parent, ast.Assign) and parent.value is node:
            for target in parent.targets:
                yield from self._reads(file, target)
        elif isinstance(parent, ast.Return):
            scope = file.scope_of(parent)
            if scope.is_function:
                for use in self.files.of_function(file, scope.function_node):
                    call = use.file.parents.get(use.node)
                    if isinstance(call, ast.Call) and call.func is use.node:
                        yield Use(use.file, call)

    def _reads(self, file: File, target: ast.expr) -> Iterator[Use]:
        names = [target] if isinstance(target, ast.Name) else getattr(target, "elts", [])
        for name in (each for each in names if isinstance(each, ast.Name)):
            home = file.lookup(file.scope_of(name), name.id)
            yield from self.files.of_name(file, home, name.id) if home else ()
