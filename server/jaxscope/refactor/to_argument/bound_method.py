"""A method that is compiled as it is bound to its object: `jit(model.apply)`, `self.step = jit(self._step)`.

The method takes the value as an argument; whoever calls it, or its compiled form, passes that part of the object.
"""

from __future__ import annotations

import ast
from functools import partial

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File, identifiers, unused
from jaxscope.refactor.program.receivers import methods_reading, uses_of_method
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.exists import private
from jaxscope.refactor.to_argument.sites import Form, Site
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Stability, Value, inside, known_of, split_expression
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import add_parameter, positional, replace, required
from jaxscope.text.edit import SourceChange


def hoist_from_bound_method(
    files: Files, compiled: Compiled, value: Value, file: File, node: FunctionNode
) -> SourceChange:
    """The change for a value that the method `node`, compiled through its objects, reads. Raises Refused."""
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or not positional(node):
        raise file.refuse("Only a plain method can take another argument.", node)
    if private(value.links):
        raise file.refuse(f"`{value.text}` cannot be named outside of its class.", node)
    change = _BoundMethod(files, compiled, value, file, node).change
    return files.first(partial(change, by_keyword=False), partial(change, by_keyword=True))


class _OfObject(Threading):
    """Follows the method of one object, whose part is passed."""

    def __init__(self, method: _BoundMethod, value: Value, edits: Edits, *, by_keyword: bool) -> None:
        super().__init__(method.files, method.compiled, value, by_keyword, edits)
        self.method = method

    def start(self, use: Use, form: Form) -> list[Site]:
        """Follows a use of the method, or of what it is kept as."""
        sites = self.follow(use, form)
        self.run(use.file)
        return sites

    def follow_kept(self, use: Use, form: Form) -> list[Site]:
        """The object may have another name there."""
        return self.method.threading(use, form).start(use, form)


class _BoundMethod:
    def __init__(self, files: Files, compiled: Compiled, value: Value, file: File, node: ast.FunctionDef) -> None:
        self.files = files
        self.compiled = compiled
        self.value = value
        self.file = file
        self.node = node
        self.edits = Edits()

    def change(self, by_keyword: bool) -> SourceChange:
        """The method with its parameter, and everything that calls it."""
        file, node, self.edits = self.file, self.node, Edits()
        reads = [read for read in self.value.reads() if inside(read.scope, file.scope(node))]
        if not reads:
            raise file.refuse(f"`{self.value.text}` is read outside of the method itself.", node)
        if self.value.home is file.scope(node):
            for other in methods_reading(file, node, self.value.links):
                raise file.refuse(f"`{other.name}`, which the method calls, reads `{self.value.text}` too.", other)
        if required(node) == 0:
            raise file.refuse("`self` has a default.", node)
        name = unused(self.value.title, identifiers(node))
        concrete = Concreteness(self.files, file, self.value.text, known_of(self.files, self.value))
        for read in reads:
            whole = self.value.node(read)
            concrete.check(whole)
            self.edits.add(file, [replace(file.layout, whole, name)])
        index = None if by_keyword else required(node)
        self.edits.add(file, add_parameter(file.layout, node, name, index))
        args = node.args
        plain = not (args.defaults or args.vararg or args.kwarg or args.kwonlyargs)
        names = tuple(arg.arg for arg in positional(node)[1:])
        named = index is None or index >= len(args.posonlyargs)
        form = Form(None if index is None else index - 1, name if named else None, names, plain)
        found = False
        for use in uses_of_method(self.files, file, node):
            found = found or self.compiled.becomes_compiled(use)
            self._follow(use, form)
        if not found:
            raise file.refuse(f"It cannot be seen where `{node.name}` is compiled.", node)
        return self.edits.change()

    def _follow(self, use: Use, form: Form) -> None:
        if any(around is self.node for around in use.file.around(use.node)):
            raise use.file.refuse("The method calls itself.", use.node)
        scope = use.file.scope_of(use.node)
        if self.compiled.outermost(use.file, scope, use.file.top) is not None:
            raise use.file.refuse("The method is called by other compiled code here.", use.node)
        self.threading(use, form).start(use, form)

    def threading(self, use: Use, form: Form) -> _OfObject:
        """What follows the method, or what it is kept as, from one of its uses on."""
        return _OfObject(self, self.value_of(use), self.edits, by_keyword=form.index is None)

    def value_of(self, use: Use) -> Value:
        """The value as this user of the method calls it."""
        if self.value.home is not self.file.scope(self.node):
            return self.value
        assert isinstance(use.node, ast.Attribute)
        expression = split_expression(ast.unparse(use.node.value))
        home = use.file.lookup(use.file.scope_of(use.node), expression[0]) if expression else None
        if expression is None or home is None:
            raise use.file.refuse("The object has no name here.", use.node)
        value = Value(use.file, home, expression[0], (*expression[1], *self.value.links), changes=self.value.changes)
        if not value.changes:
            Stability(self.files, value, use.node).check()
        else:  # each call reads it anew, of the same object
            Stability(self.files, Value(use.file, home, *expression), use.node).check_bound_once()
        return value
