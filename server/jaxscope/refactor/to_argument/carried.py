"""A function that a factory returns, and that reads an array of the factory.

Nobody outside of the factory can name the array. So the function carries it, as JAX's own `Partial`, which JAX takes
apart like a list; and the compiled functions that call what the factory returned take that as an argument.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import PARTIALS
from jaxscope.refactor.program.uses import given_to
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Stability, Value, inside, known_of
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import add_keyword, add_parameter, positional, replace, required
from jaxscope.semantics.names.scopes import Read
from jaxscope.text.edit import SourceChange

_TREE_PARTIAL = PARTIALS[1]


def hoist_carried(files: Files, compiled: Compiled, value: Value, read: Read) -> SourceChange:
    """The change for a value that a returned function reads. Raises Refused."""
    return Carried(files, compiled, value, read).change()


class Carried:
    """One change under construction."""

    def __init__(self, files: Files, compiled: Compiled, value: Value, read: Read) -> None:
        self.files = files
        self.compiled = compiled
        self.value = value
        self.file = value.file
        self.read = read
        self.edits = Edits()
        self._known = False
        """The function is a `Partial` already, which others may hand on."""

    def change(self) -> SourceChange:
        """The function with its parameter, what is returned, and who calls that."""
        node = self.reader()
        self.parameter(node)
        for use in self.files.of_function(self.file, node):
            self._use(use)
        return self.edits.change()

    def reader(self) -> ast.FunctionDef:
        """The function of the factory that reads the value."""
        file, value = self.file, self.value
        around = [scope for scope in self.read.scope.around() if scope.is_function and scope.parent is value.home]
        node = around[0].node if around else None
        factory = value.home.node
        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list and not value.links
        if not plain or not isinstance(node, ast.FunctionDef) or not isinstance(factory, ast.FunctionDef):
            raise file.refuse(f"`{value.text}` cannot be carried by the function that reads it.", self.read.node)
        returns = [found for found in ast.walk(factory) if isinstance(found, ast.Return | ast.Yield | ast.YieldFrom)]
        own = [found for found in returns if file.scope_of(found) is value.home]
        if factory.decorator_list or len(file.bindings(value.home, node.name)) != 1 or len(own) != 1:
            raise file.refuse(f"It cannot be seen what becomes of `{node.name}`.", node)
        for other in value.reads():
            if other.scope is not value.home and not inside(other.scope, file.scope(node)):
                raise file.refuse(f"Another function reads `{value.text}` here, too.", other.node)
        Stability(self.files, value, node).check()
        return node

    def parameter(self, node: ast.FunctionDef) -> None:
        """Gives the function the parameter, which it can be given by name."""
        file, name, scope, args = self.file, self.value.root, self.file.scope(node), node.args
        if any(name in around.bindings for around in scope.walk()):
            raise file.refuse(f"`{name}` means something else here.", node)
        concrete = Concreteness(self.files, file, name, known_of(self.files, self.value))
        for read in self.value.reads():
            if inside(read.scope, scope):
                concrete.check(read.node)
        index = None if args.defaults or args.vararg else required(node)
        if args.posonlyargs and index == len(positional(node)) == len(args.posonlyargs):
            index = None
        self.edits.add(file, add_parameter(file.layout, node, name, index))

    # ------------------------------------------------------------ what becomes of the function

    def _use(self, use: Use) -> None:
        file, node, name = use.file, use.node, self.value.root
        parent: ast.AST = file.parents[node]
        if isinstance(parent, ast.Call) and file.dotted(parent.func) == _TREE_PARTIAL and parent.args[0] is node:
            self._known = True
            self.edits.add(file, add_keyword(file.layout, parent, f"{name}={name}"))
            node, parent = parent, file.parents[parent]
        else:
            partial = file.name_of(_TREE_PARTIAL, node)
            if partial is None:
                raise file.refuse("`jax` is not imported under a name of this module.", node)
            text = f"{partial}({file.layout.source(node)}, {name}={name})"
            self.edits.add(file, [replace(file.layout, node, text)])
        item: int | None = None
        if isinstance(parent, ast.Tuple):
            item, parent = parent.elts.index(node), file.parents[parent]
        if file.scope_of(node) is not self.value.home or not isinstance(parent, ast.Return):
            raise file.refuse(f"`{ast.unparse(node)}` is not only returned, so that it cannot carry the value.", node)
        for call in self.files.of_function(file, self.value.home.function_node):
            self._made(call, item)

    def _made(self, use: Use, item: int | None) -> None:
        """Follows what a call of the factory returns, or item `item` of it: a name, which is called."""
        file, call = use.file, use.file.parents[use.node]
        made = file.parents[call]
        target = made.targets[0] if isinstance(made, ast.Assign) and len(made.targets) == 1 else None
        if item is not None and isinstance(target, ast.Tuple) and not any(map(_starred, target.elts)):
            target = target.elts[item]
        elif item is not None:
            target = None
        if not isinstance(call, ast.Call) or call.func is not use.node or not isinstance(target, ast.Name):
            raise file.refuse("It cannot be seen who calls what the factory returns here.", use.node)
        home = file.lookup(file.scope_of(target), target.id)
        if home is None or home.kind == "class":
            raise file.refuse("The function is kept in a class, so that its calls cannot be seen.", target)
        result = Value(file, home, target.id, ())
        threading = _Argument(self.files, self.compiled, result, by_keyword=False, edits=self.edits)
        starts = [found for other in self.files.of_name(file, home, target.id) if (found := self._start(other, result))]
        for start in starts:
            Stability(self.files, result, start).check()
        threading.run(file, *starts)

    def _start(self, use: Use, result: Value) -> FunctionNode | None:
        """The outermost compiled function around a call of the result."""
        file, node = use.file, use.node
        if not self._known:
            _check_called(file, node)
        if self.compiled.becomes_compiled(use):
            raise file.refuse(f"`{ast.unparse(node)}` is compiled itself here, and would hold the array again.", node)
        below = result.home if file is result.file else file.top
        start = self.compiled.outermost(file, file.scope_of(node), below)
        if start is not None and file is not result.file:
            raise file.refuse(f"`{ast.unparse(node)}` is called by compiled code of another file here.", node)
        return start


def _starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


class _Argument(Threading):
    """Threads the function itself: it is called, which an array is not."""

    def _check_reads(self, file: File, reads: list[Read]) -> None:
        for read in reads:
            _check_called(file, read.node)


def _check_called(file: File, node: ast.expr) -> None:
    parent = file.parents[node]
    if isinstance(parent, ast.keyword):
        parent = file.parents[parent]
    called = isinstance(parent, ast.Call) and (parent.func is node or given_to(file, parent, node) is not None)
    if not called:
        raise file.refuse(f"`{ast.unparse(node)}` is not only called here.", node)
