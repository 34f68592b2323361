"""A method whose compiled code reads `self.basis` (or a global): a private method with its body takes the value.

The public method stays for all its callers, seen or not, and passes the value. It must pass what it was given and
nothing more, for a default that becomes an argument would no longer be known while tracing.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File, identifiers, unused
from jaxscope.refactor.program.receivers import methods_reading
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import Application, decorated_by
from jaxscope.refactor.to_argument.as_array import as_array
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.helper_methods import HelperMethods
from jaxscope.refactor.to_argument.sites import handed_over
from jaxscope.refactor.to_argument.value import Value, inside, known_of
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.layout import FunctionNode, Layout
from jaxscope.refactor.writing.options import OptionShift
from jaxscope.refactor.writing.syntax import (
    add_parameter,
    insert_before,
    positional,
    replace,
    required,
    starts_own_line,
)
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Span

_HARMLESS = frozenset(["__name__", "__qualname__", "__doc__", "clear_cache", "_cache_size"])
_OF_CLASS = ("builtins.staticmethod", "builtins.classmethod")


def hoist_from_method(files: Files, compiled: Compiled, value: Value, file: File, node: FunctionNode) -> SourceChange:
    """The change for a value that the method `node`, or one that it calls on `self`, reads. Raises Refused."""
    if not isinstance(node, ast.FunctionDef):
        raise file.refuse("Only a plain method can be split.", node)
    return _Method(files, compiled, value, file, node).change()


class _Method:
    def __init__(self, files: Files, compiled: Compiled, value: Value, file: File, node: ast.FunctionDef) -> None:
        self.files = files
        self.compiled = compiled
        self.value = value
        self.file = file
        self.node = node
        self.layout: Layout = file.layout
        self.edits = Edits()
        first = file.dotted(node.decorator_list[0]) if node.decorator_list else None
        self.of_class = first if first in _OF_CLASS else None
        """The decorator of a method that no object is needed for."""
        self.by_name: set[str] = set()
        """Parameters that are static only when they are given by name: JAX infers nothing where both are written."""

    def change(self) -> SourceChange:
        """The split method."""
        applications = self._decorators()
        self._check_defaults(applications)
        self._check_uses()
        parameter = self._parameter()
        self._read_parameter(parameter)
        index = required(self.node)
        self.edits.add(self.file, add_parameter(self.layout, self.node, parameter, index))
        for application in applications:
            count = len(positional(self.node)) if self.node.args.vararg is None else None
            self.edits.add(self.file, OptionShift(self.files, self.file, application, index, count=count).edits())
        self._split(index, self._given(applications))
        return self.edits.change()

    def _parameter(self) -> str:
        title = self.value.title
        if not self.value.links and self._unbound(title):
            return title
        return unused(title, identifiers(self.node))

    def _read_parameter(self, parameter: str) -> None:
        """Reads of the value become reads of the parameter, here and in the methods that this one calls."""
        scope = self.file.scope(self.node)
        around = self.value.home
        if around is not scope and around.parent is scope.parent:  # the finding is in a method that this one calls
            self.value = Value(
                self.file, scope, positional(self.node)[0].arg, self.value.links, changes=self.value.changes
            )
        readers = methods_reading(self.file, self.node, self.value.links) if self.value.home is scope else []
        helpers = HelperMethods(self.files, self.compiled, self.file, self.node, self.edits)
        for reader in readers:
            helpers.run(reader, self.value.links, self.value.title)
        for site in helpers.calls:
            self.edits.add(self.file, handed_over(site, parameter))
        reads = [read for read in self.value.reads() if inside(read.scope, scope)]
        if not reads and not helpers.calls:
            raise self.file.refuse(f"`{self.value.text}` is read outside of the method itself.", self.node)
        concrete = Concreteness(self.files, self.file, self.value.text, known_of(self.files, self.value))
        for read in reads:
            concrete.check(self.value.node(read))
            if parameter != self.value.text:
                self.edits.add(self.file, [replace(self.layout, self.value.node(read), parameter)])

    def _unbound(self, name: str) -> bool:
        return all(
            name not in scope.bindings and name not in scope.globals for scope in self.file.scope(self.node).walk()
        )

    # ------------------------------------------------------------ conditions

    def _decorators(self) -> list[Application]:
        found = []
        for decorator in self.node.decorator_list[bool(self.of_class) :]:
            application = decorated_by(self.file, decorator)
            if application is None:
                raise self.file.refuse(
                    f"The decorator `{ast.unparse(decorator)}` may depend on the signature.", decorator
                )
            found.append(application)
        if not any(application.transform.is_jit for application in found):
            raise self.file.refuse(
                f"The method `{self.node.name}` is compiled where its calls cannot be seen.", self.node
            )
        if not positional(self.node):
            raise self.file.refuse("The method has no `self`.", self.node)
        return found

    def _check_defaults(self, applications: list[Application]) -> None:
        """A parameter with a default must be static: the public method passes all of them."""
        names = [arg.arg for arg in positional(self.node)]
        static: set[str] = set()
        both = False
        for application in applications:
            given = [option for option in application.transform.static if application.option(option) is not None]
            both = both or len(given) > 1
            for option in application.transform.static:
                value = application.option(option)
                for part in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        static.add(part.value)
                        self.by_name.add(part.value)
                    elif isinstance(part, ast.Constant) and isinstance(part.value, int) and part.value < len(names):
                        static.add(names[part.value])
        args = self.node.args
        self.by_name &= set(names) if both else set()
        if self.by_name and (args.vararg or self.by_name & {arg.arg for arg in args.posonlyargs}):
            raise self.file.refuse("Static positions and names are mixed here.", self.node)
        pairs = [*zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True)]
        pairs += [(a.arg, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
        for name, default in pairs:
            if name not in static:
                reason = f"The default of `{name}` would become an argument, which is no longer known while tracing."
                raise self.file.refuse(reason, default)
            if not isinstance(default, ast.Constant | ast.UnaryOp):
                raise self.file.refuse(f"The default of `{name}` would be evaluated twice.", default)

    def _check_uses(self) -> None:
        for use in self.files.of_function(self.file, self.node):
            parent = use.file.parents.get(use.node)
            if isinstance(parent, ast.Attribute) and parent.attr not in _HARMLESS:
                raise use.file.refuse(f"`.{parent.attr}` of the method is used here.", use.node)
            through = isinstance(use.node, ast.Attribute) and ast.unparse(use.node.value) == self._class_name()
            if through and not self.of_class:
                raise use.file.refuse(
                    "The method is used through its class here, perhaps with another object.", use.node
                )
            if self._compiles(use):
                reason = (
                    f"`{ast.unparse(use.node)}` is compiled into another function here, which would capture it again."
                )
                raise use.file.refuse(reason, use.node)

    def _class_name(self) -> str:
        around = self.file.scope(self.node).parent
        return around.name if around is not None else ""

    def _compiles(self, use: Use) -> bool:
        scope = use.file.scope_of(use.node)
        around = self.compiled.outermost(use.file, scope, use.file.top)
        return around is not None or self.compiled.becomes_compiled(use)

    # ------------------------------------------------------------ the two methods

    def _given(self, applications: list[Application]) -> str:
        """The value as the public method passes it."""
        text, at = self.value.text, (self.file, self.node.body[0])
        anew = next((one.transform for one in applications if one.transform.static_numbers), None)
        return as_array(self.files, self.value, at, text, anew, self.edits) if anew else text

    def _split(self, index: int, value: str) -> None:
        node, layout = self.node, self.layout
        private = self._private_name()
        items = layout.parameters(node)
        at = next(
            place
            for place, char in layout.marks(
                layout.end(node.returns) if node.returns else items.end + 1, len(layout.text)
            )
            if char == ":"
        )
        header = layout.text[layout.start(node) : at + 1]
        name = header.index(node.name, len("def"))
        start = layout.start(node) + name
        self.edits.add(self.file, [Edit(Span(start, start + len(node.name)), private)])
        indent = layout.indent(layout.start(node))
        unit = (
            layout.indent(layout.start(node.body[0])).removeprefix(indent) if self._own_line(node.body[0]) else "    "
        )
        decorators = [f"@{layout.source(node.decorator_list[0])}"] if self.of_class else []
        lines = [*decorators, header, *self._docstring(unit), f"{unit}return {self._call(private, index, value)}"]
        self.edits.add(self.file, insert_before(layout, node, lines, blank=1))

    def _own_line(self, statement: ast.stmt) -> bool:
        return starts_own_line(self.layout, statement)

    def _docstring(self, unit: str) -> list[str]:
        """Takes the docstring over to the public method."""
        node, layout = self.node, self.layout
        first = node.body[0]
        text = (
            isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        )
        if not text or len(node.body) < 2 or not self._own_line(first) or not self._own_line(node.body[1]):
            return []
        start = layout.line_start(layout.start(first))
        end = layout.line_start(layout.start(node.body[1]))
        if layout.text[layout.end(first) : end].strip():
            return []
        self.edits.add(self.file, [Edit(Span(start, end), "")])
        return [unit + layout.source(first)]

    def _call(self, private: str, index: int, value: str) -> str:
        args = self.node.args
        given = [arg.arg for arg in positional(self.node)]
        given.insert(index, value)
        own = self._own_class() if self.of_class == _OF_CLASS[0] else given.pop(0)
        first = next((n for n, name in enumerate(given) if name in self.by_name), len(given))
        if any(name not in self.by_name for name in given[first:]):
            raise self.file.refuse("Static positions and names are mixed here.", self.node)
        given[first:] = [f"{name}={name}" for name in given[first:]]
        if args.vararg:
            given.append(f"*{args.vararg.arg}")
        given += [f"{arg.arg}={arg.arg}" for arg in args.kwonlyargs]
        if args.kwarg:
            given.append(f"**{args.kwarg.arg}")
        return f"{own}.{private}({', '.join(given)})"

    def _own_class(self) -> str:
        """How the method's class is called in the method."""
        scope = self.file.scope(self.node)
        cls = scope.parent
        assert cls is not None and cls.parent is not None
        home = self.file.lookup(scope, cls.name)
        if home is not cls.parent or len(self.file.bindings(home, cls.name)) != 1:
            raise self.file.refuse(f"`{cls.name}` may mean another class in the method.", self.node)
        return cls.name

    def _private_name(self) -> str:
        base = f"_{self.node.name.lstrip('_')}"
        names = [base, f"{base}_compiled", *(f"{base}_compiled{n}" for n in range(2, 99))]
        return next(name for name in names if not any(True for _ in self.files.mentioning(name)))
