"""A value bound to the function before it is compiled: `jit(partial(apply, params))`, `jit(layer)`.

What is compiled then is the function itself, and every call passes the value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.contents import Contents
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import is_partial
from jaxscope.refactor.program.uses import given_to
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.sites import Form
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Stability, Value, known_of, split_expression
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import positional, remove_argument, replace
from jaxscope.text.edit import SourceChange

Expression = tuple[str, tuple[str, ...]]


def hoist_bound(
    files: Files, compiled: Compiled, file: File, function: str, name: Expression, *, line: int | None
) -> SourceChange | None:
    """The change for a bound value; None when `name` is not bound to `function` here. Raises Refused."""
    hoist = _Bound(files, compiled, file, function)
    partials = list(hoist.partials(name))
    on_line = [found for found in partials if found[0].lineno <= (line or 0) <= (found[0].end_lineno or 0)]
    if on_line or len(partials) == 1 or (partials and line is None):
        call, argument = (on_line or partials)[0]
        return hoist.partial(call, argument, name)
    for node in hoist.objects(name[0], line):
        return hoist.object(node, name[0])
    return None


class _Bound:
    def __init__(self, files: Files, compiled: Compiled, file: File, function: str) -> None:
        self.files = files
        self.compiled = compiled
        self.file = file
        self.function = function

    # ------------------------------------------------------------ partial

    def partials(self, name: Expression) -> Iterator[tuple[ast.Call, ast.expr | ast.keyword]]:
        """Calls of `partial` that bind `name` to the function, with the argument that does."""
        for node in self.file.nodes:
            if not isinstance(node, ast.Call) or not node.args or not is_partial(self.file, node):
                continue
            functions = [found for _, found in self.compiled.definition(self.file, node.args[0])]
            if not any(self._called(found) for found in functions):
                continue
            arguments: list[ast.expr | ast.keyword] = [*node.args[1:], *node.keywords]
            for argument in arguments:
                given = argument.value if isinstance(argument, ast.keyword) else argument
                if split_expression(ast.unparse(given)) == name and self._is_compiled(node):
                    yield node, argument

    def _called(self, node: FunctionNode) -> bool:
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        return self.function.rpartition(".")[2] == name

    def _is_compiled(self, call: ast.Call) -> bool:
        """Does the result get compiled? Within compiled code it holds what that code holds already."""
        scope = self.file.scope_of(call)
        inner = self.compiled.outermost(self.file, scope, self.file.top)
        return inner is None and self.compiled.becomes_compiled(Use(self.file, call))

    def partial(self, call: ast.Call, argument: ast.expr | ast.keyword, name: Expression) -> SourceChange:
        """Takes the argument out of a `partial` and passes it at the calls."""
        file = self.file
        definitions = list(self.compiled.definition(file, call.args[0]))
        if len(definitions) != 1:
            raise file.refuse("It cannot be seen which function `partial` binds the value to.", call)
        other, node = definitions[0]
        around = other.scope(node).parent
        if around is not None and around.kind == "class":
            raise file.refuse("`partial` binds the value to a method.", call)
        given = argument.value if isinstance(argument, ast.keyword) else argument
        value = self._value(given, name, call)
        threading = Threading(self.files, self.compiled, value, by_keyword=False)
        form = self._form(call, argument, node)
        parameter = argument.arg if isinstance(argument, ast.keyword) else positional(node)[0].arg
        self._check_parameter(other, node, str(parameter), value)
        if len(call.args) + len(call.keywords) == 2:
            threading.edits.add(file, [replace(file.layout, call, file.layout.source(call.args[0]))])
        else:
            threading.edits.add(file, remove_argument(file.layout, call, argument))
        threading.follow(Use(file, call), form)
        threading.run(file)
        return threading.edits.change()

    def _form(self, call: ast.Call, argument: ast.expr | ast.keyword, node: FunctionNode) -> Form:
        names = [arg.arg for arg in positional(node)]
        bound = call.args[1:]
        named = {keyword.arg for keyword in call.keywords}
        if None in named or any(isinstance(arg, ast.Starred) for arg in bound):
            raise self.file.refuse("`partial` binds arguments that cannot be counted.", call)
        others = node.args.vararg or node.args.kwarg or node.args.kwonlyargs
        exact = not node.args.defaults and not others
        if isinstance(argument, ast.keyword):
            left = tuple(name for name in names[len(bound) :] if name not in named)
            return Form(None, argument.arg, left, exact)
        if len(bound) != 1 or not names:
            raise self.file.refuse("`partial` binds other arguments by position too.", call)
        left = tuple(name for name in names[1:] if name not in named)
        return Form(0, names[0], left, exact)

    def _value(self, given: ast.expr, name: Expression, before: ast.AST) -> Value:
        scope = self.file.scope_of(given)
        home = self.file.lookup(scope, name[0])
        if home is None:
            raise self.file.refuse(f"It cannot be seen where `{name[0]}` is bound.", given)
        value = Value(self.file, home, *name)
        Stability(self.files, value, before).check()
        Contents(self.files).check(self.file, home, value.root, value.links)
        return value

    def _check_parameter(self, file: File, node: FunctionNode, parameter: str, value: Value) -> None:
        concrete = Concreteness(self.files, file, parameter, known_of(self.files, value))
        for read in file.reads(file.scope(node), parameter):
            concrete.check(read.node)

    # ------------------------------------------------------------ callable objects

    def objects(self, root: str, line: int | None) -> Iterator[ast.Name]:
        """Reads of `root` on the line that give the object itself to a transform."""
        for scope in self.file.scopes():
            for read in scope.reads:
                if read.name != root or read.links or (line is not None and read.node.lineno != line):
                    continue
                parent = self.file.parents[read.node]
                given = given_to(self.file, parent, read.node)
                if given is not None and given.kind == "transform" and self.function.endswith("__call__"):
                    yield read.node

    def object(self, node: ast.Name, root: str) -> SourceChange:
        """`jit(layer)` becomes `jit(Layer.__call__)`, and calls pass `layer`."""
        file = self.file
        value = self._value(node, (root, ()), node)
        bindings = file.bindings(value.home, root)
        made = bindings[0].value if len(bindings) == 1 else None
        found = Contents(self.files).class_of(file, made) if made is not None else None
        if found is None:
            raise file.refuse(f"It cannot be seen which class `{root}` is of.", node)
        other, cls = found
        call = next((item for item in cls.body if isinstance(item, ast.FunctionDef) and item.name == "__call__"), None)
        assert isinstance(made, ast.Call) and isinstance(made.func, ast.Name)
        visible = file.lookup(file.scope_of(node), made.func.id) is file.lookup(file.scope_of(made), made.func.id)
        if call is None or call.decorator_list or not visible or not Contents(self.files).pytree(other, cls):
            raise file.refuse(f"`{root}` is an object that JAX cannot take as an argument.", node)
        names = tuple(arg.arg for arg in positional(call)[1:])
        exact = not (call.args.defaults or call.args.vararg or call.args.kwarg or call.args.kwonlyargs)
        threading = Threading(self.files, self.compiled, value, by_keyword=False)
        threading.edits.add(file, [replace(file.layout, node, f"{made.func.id}.__call__")])
        threading.follow(Use(file, node), Form(0, None, names, exact))
        threading.run(file)
        return threading.edits.change()
