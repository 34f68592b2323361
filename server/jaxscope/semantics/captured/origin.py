"""Where a captured value was given: an attribute's assignment, another file's global, a name's binding."""

from __future__ import annotations

import ast

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.compiled.givers import giver
from jaxscope.semantics.evaluation import assigned, objects
from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    ClassValue,
    Instance,
    ModuleValue,
)
from jaxscope.semantics.names.methods import is_self
from jaxscope.semantics.names.scopes import Read, Scope

_LONGEST_CHAIN = 8
"""Imports of imports that are followed."""


class Origin:
    """Finds the places that `bound here` points at."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev

    def of_read(self, read: Read, node: ast.expr, scope: Scope, frame: Frame) -> Mark | None:
        """Where the value was given: the attribute's assignment, the other module's global, or the name's binding."""
        if isinstance(node, ast.Attribute):
            owner = self.ev.evaluate(node.value, scope, frame)
            if isinstance(owner, ModuleValue):
                return self._of_module(owner.path, node.attr)
            if isinstance(owner, (Instance, ClassValue)) and (isinstance(owner, ClassValue) or owner.given is None):
                written = objects.written_at(self.ev, owner, node.attr)
                if written:
                    return Mark(written[0][0].chunk, written[0][1]) if len(written) == 1 else None
        return self.of_name(read.name, scope, frame)

    def _of_module(self, path: str, name: str) -> Mark | None:
        """Where a module's global gets its value: by the module itself or, where that gives None, by another file."""
        if self.ev.module_attribute(path, name) in assigned.NOTHING:
            written = assigned.assigned_to_module(self.ev, path, name)
            if written:
                return Mark(written[0].scope.chunk, written[0].node) if len(written) == 1 else None
        return self._global_mark(path, name)

    def _global_mark(self, path: str, name: str, depth: int = 0) -> Mark | None:
        """Where a file binds a global; where it is imported from, that file."""
        other = self.ev.project.model(path)
        bindings = other.global_bindings(name) if other is not None else []
        if not bindings:
            return None
        last = giver(other, name, bindings[-1].scope, bindings[-1].scope) if other is not None else None
        if last is None:
            return None
        if last.kind == "import" and last.attribute and depth < _LONGEST_CHAIN:
            source = self.ev.project.resolve(path, last.module, last.level)
            found = self._global_mark(source, last.attribute, depth + 1) if source is not None else None
            if found is not None:
                return found
        return Mark(last.scope.chunk, last.node)

    def of_name(self, name: str, scope: Scope, frame: Frame) -> Mark | None:
        owner = self.ev.owner(name, scope)
        if owner is None:
            return None
        model = frame.model
        last = giver(model, name, owner, scope)
        if last is None:
            return None
        if last.kind == "import":
            path = self.ev.project.resolve(model.path, last.module, last.level)
            return None if path is None else self._global_mark(path, last.attribute)
        if last.kind == "parameter" and is_self(owner, name):
            return None
        argument = self._argument_mark(owner, name, frame) if last.kind == "parameter" else None
        return argument or Mark(last.scope.chunk, last.node)

    def _argument_mark(self, owner: Scope, name: str, frame: Frame) -> Mark | None:
        """Where the argument that becomes this parameter was bound by the only caller in sight."""
        sites = objects.calls_of(self.ev, owner, self.ev.generic_frame(owner, frame.model))
        if len(sites) != 1 or not owner.is_function:
            return None
        call, where = sites[0]
        names = parameters(owner.function_node)
        at = names.index(name) if name in names else -1
        node = call.args[at] if 0 <= at < len(call.args) else None
        node = next((keyword.value for keyword in call.keywords if keyword.arg == name), node)
        home = self.ev.owner(node.id, where) if isinstance(node, ast.Name) else None
        if home is None or not isinstance(node, ast.Name) or home.kind == "module" or home is owner:
            return None
        found = frame.model.reaching(home.bindings.get(node.id, []), home, None)
        return Mark(found[-1].scope.chunk, found[-1].node) if found else None
