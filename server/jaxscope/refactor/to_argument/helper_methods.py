"""Methods that a compiled method calls on `self`, and that read the value: they take it as an argument too."""

from __future__ import annotations

import ast

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File, identifiers, unused
from jaxscope.refactor.program.receivers import method_around, own_name, uses_of_method
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import decorated_by
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.sites import Form, Site, handed_over
from jaxscope.refactor.to_argument.value import Value, inside, known_of
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import add_parameter, positional, replace, required


class HelperMethods:
    """Threads `self.links` through methods of one class up to the compiled method `target`."""

    def __init__(self, files: Files, compiled: Compiled, file: File, target: ast.FunctionDef, edits: Edits) -> None:
        self.files = files
        self.compiled = compiled
        self.file = file
        self.target = target
        self.edits = edits
        self.calls: list[Site] = []
        """Calls in `target`, which hand on its own parameter."""
        self._names: dict[ast.FunctionDef, str] = {}

    def run(self, reader: ast.FunctionDef, links: tuple[str, ...], title: str) -> None:
        """Begins with the method that reads the value. Raises Refused."""
        waiting = [reader]
        while waiting:
            node = waiting.pop()
            if node in self._names:
                continue
            form = self._take(node, links, title)
            for use in uses_of_method(self.files, self.file, node):
                caller = self._caller(use)
                site = self._site(use, form)
                if caller is self.target:
                    self.calls.append(site)
                elif self._compiles(caller):
                    waiting.append(caller)
                    self.edits.add(self.file, handed_over(site, unused(title, identifiers(caller))))
                else:
                    text = f"{own_name(self.file.scope(caller))}{''.join(links)}"
                    self.edits.add(self.file, handed_over(site, text))
        if not self.calls:
            raise self.file.refuse(f"It cannot be seen how `{self.target.name}` comes to read the value.", reader)

    def _take(self, node: ast.FunctionDef, links: tuple[str, ...], title: str) -> Form:
        """Adds the parameter, and reads it instead of the attribute."""
        scope, own = self.file.scope(node), own_name(self.file.scope(node))
        if node.decorator_list or own is None or required(node) == 0:
            raise self.file.refuse(f"`{node.name}` is no plain method.", node)
        name = self._names[node] = unused(title, identifiers(node))
        value = Value(self.file, scope, own, links)
        for read in value.reads():
            if inside(read.scope, scope):
                Concreteness(self.files, self.file, value.text, known_of(self.files, value)).check(value.node(read))
                self.edits.add(self.file, [replace(self.file.layout, value.node(read), name)])
        index = required(node)
        self.edits.add(self.file, add_parameter(self.file.layout, node, name, index))
        args = node.args
        plain = not (args.defaults or args.vararg or args.kwarg or args.kwonlyargs)
        named = index >= len(args.posonlyargs)
        return Form(index - 1, name if named else None, tuple(arg.arg for arg in positional(node)[1:]), plain)

    def _caller(self, use: Use) -> ast.FunctionDef:
        around = method_around(use.file, use.node)
        assert isinstance(use.node, ast.Attribute)
        same = around is not None and around.parent is not None and use.file is self.file
        receiver = use.node.value
        if not same or around is None or around.parent is not self.file.scope(self.target).parent:
            raise use.file.refuse("The method is used outside of its class here.", use.node)
        home = self.file.lookup(self.file.scope_of(receiver), receiver.id) if isinstance(receiver, ast.Name) else None
        if home is not around or not isinstance(around.node, ast.FunctionDef):
            raise use.file.refuse("The method is used on another object here.", use.node)
        return around.node

    def _site(self, use: Use, form: Form) -> Site:
        call = use.file.parents[use.node]
        if not isinstance(call, ast.Call) or call.func is not use.node:
            raise use.file.refuse("The method is not called here, but used as a value.", use.node)
        return Site(use.file, call, form)

    def _compiles(self, node: ast.FunctionDef) -> bool:
        """Is the caller compiled by what calls it? One that is compiled by itself cannot take part."""
        if not self.compiled.compiled(self.file, node):
            return False
        for decorator in node.decorator_list:
            application = decorated_by(self.file, decorator)
            if application is not None and application.transform.is_jit:
                raise self.file.refuse(f"`{node.name}`, itself compiled, calls the same method.", node)
        return True
