"""Where a function goes that is stored or returned: is it only ever called, outside of compiled code?

Then a `partial` in its place, which gives the new argument, is as good as the function was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import applied_by
from jaxscope.refactor.program.uses import given_to

_HARMLESS = frozenset(["__name__", "__qualname__", "__doc__", "__module__"])
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)


class Escapes:
    """Follows the value of an expression. `only_called` answers for everything it may reach."""

    def __init__(self, files: Files, compiled: Compiled) -> None:
        self.files = files
        self.compiled = compiled
        self._seen: set[tuple[int, bool]] = set()

    def only_called(self, use: Use) -> bool:
        """Is the function at `use`, wherever it is found again, called and nothing else, and not while compiling?"""
        return self._function(use)

    def _function(self, use: Use) -> bool:
        file, node = use.file, use.node
        if (id(node), False) in self._seen:
            return True
        self._seen.add((id(node), False))
        parent = file.parents[node]
        if isinstance(parent, ast.keyword):
            parent = file.parents[parent]
        if isinstance(parent, ast.Call):
            return self._eager(use) and (parent.func is node or self._given(use, parent))
        if isinstance(parent, ast.Attribute):
            return parent.attr in _HARMLESS
        if isinstance(parent, _DISPLAYS):
            return self._container(Use(file, parent))
        if isinstance(parent, ast.IfExp) and parent.test is not node:
            return self._function(Use(file, parent))
        if isinstance(parent, ast.For | ast.comprehension | ast.Expr):
            return isinstance(parent, ast.Expr)
        found = list(self._moved(use, parent))
        return None not in found and all(self._function(other) for other in found if other is not None)

    def _container(self, use: Use) -> bool:
        """The same for a list, tuple or mapping that holds the function."""
        file, node = use.file, use.node
        if (id(node), True) in self._seen:
            return True
        self._seen.add((id(node), True))
        parent = file.parents[node]
        if isinstance(parent, _DISPLAYS):
            return self._container(Use(file, parent))
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            return self._function(Use(file, parent))
        if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
            target = parent.target
            return isinstance(target, ast.Name) and all(map(self._function, self._reads(file, target)))
        if isinstance(parent, ast.Assign) and all(isinstance(target, ast.Tuple) for target in parent.targets):
            names = [name for target in parent.targets for name in ast.walk(target) if isinstance(name, ast.expr)]
            flat = all(isinstance(name, ast.Name | ast.Tuple) for name in names)
            reads = (read for name in names if isinstance(name, ast.Name) for read in self._reads(file, name))
            return flat and all(map(self._function, reads))
        found = list(self._moved(use, parent))
        return None not in found and all(self._container(other) for other in found if other is not None)

    def _eager(self, use: Use) -> bool:
        scope = use.file.scope_of(use.node)
        return self.compiled.outermost(use.file, scope, use.file.top) is None

    def _given(self, use: Use, call: ast.Call) -> bool:
        given = given_to(use.file, call, use.node)
        if given is None or given.kind == "body":
            return given is not None
        if given.kind == "call":
            return True
        application = applied_by(use.file, call, use.node)
        if application is not None and application.transform.is_jit:
            return False
        return self._function(Use(use.file, call))

    def _reads(self, file: File, target: ast.Name) -> list[Use]:
        home = file.lookup(file.scope_of(target), target.id)
        return self.files.of_name(file, home, target.id) if home is not None else []

    def _of_instance(self, file: File, target: ast.Attribute) -> bool:
        """Is it `self.name`? What a class holds becomes a method of its instances, which a `partial` does not."""
        scope = file.scope_of(target).owner()
        arguments = scope.function_node.args if scope.is_function else None
        first = [*arguments.posonlyargs, *arguments.args][:1] if arguments else []
        method = scope.parent is not None and scope.parent.kind == "class"
        decorated = bool(getattr(scope.node, "decorator_list", []))
        own = isinstance(target.value, ast.Name) and [arg.arg for arg in first] == [target.value.id]
        return method and own and not decorated

    def _moved(self, use: Use, parent: ast.AST) -> Iterator[Use | None]:
        """Other expressions with this value; None for a place that cannot be followed."""
        file, node = use.file, use.node
        if isinstance(parent, ast.Assign | ast.AnnAssign) and parent.value is node:
            for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                if isinstance(target, ast.Name) and file.scope_of(target).kind != "class":
                    yield from self._reads(file, target)
                elif isinstance(target, ast.Attribute) and self._of_instance(file, target):
                    stores = list(self.files.attribute_stores(target.attr))
                    yield from self.files.of_attribute(target.attr) if len(stores) == 1 else [None]
                else:
                    yield None
        elif isinstance(parent, ast.Return):
            scope = file.scope_of(parent)
            for other in self.files.of_function(file, scope.function_node):
                call = other.file.parents[other.node]
                yield Use(other.file, call) if isinstance(call, ast.Call) and call.func is other.node else None
        else:
            yield None
