"""Evaluates expressions to abstract values, lazily and within a budget.

Code is followed where that is certain: local functions and classes are called with abstract arguments, names are
resolved by Python's rules, and a name that is bound several times is what all its bindings that can reach have in
common.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxscope.semantics.dependencies import ANY_FILE, Dependencies
from jaxscope.semantics.evaluation import calls, filled, objects
from jaxscope.semantics.evaluation.arguments import Given
from jaxscope.semantics.evaluation.arrays import Call
from jaxscope.semantics.evaluation.expressions import HANDLERS, attribute, outside, subscript
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.operations import element, unpacked
from jaxscope.semantics.evaluation.values import (
    UNKNOWN,
    Array,
    Const,
    External,
    Mapping,
    ModuleValue,
    Scalar,
    Sequence,
    Tracer,
    Value,
    join,
)
from jaxscope.semantics.names.changes import InPlace, in_place_of
from jaxscope.semantics.names.scopes import AttributeWrite, Binding, Block, Scope
from jaxscope.semantics.vocabulary import canonical

if TYPE_CHECKING:
    from jaxscope.semantics.captured.visits import Clean
    from jaxscope.semantics.model import FileModel
    from jaxscope.semantics.project import Project

_BUDGET = 20_000
"""Expressions evaluated for one part of a file."""
_DEEPEST = 60
"""Expressions evaluated within one another; each takes up to eleven calls of Python's own stack."""
_MOST_FILES = 16
"""Files that are searched for assignments of one attribute."""
At = tuple[tuple[int, int], Block]


class Evaluator:
    """Evaluates the code of one project.

    One that is made for `home` records in `seen` what it looks at in that file, so that its results can be kept as
    long as none of it changes. It must not be used for anything that is not recorded there.
    """

    def __init__(self, project: Project, home: FileModel | None = None) -> None:
        self.project = project
        self.home = home
        self.seen = Dependencies()
        self.steps = 0
        self.level = 0
        self.generic: dict[Scope, Frame] = {}
        self.modules: dict[FileModel, Frame] = {}
        self.results: dict[object, Value] = {}
        self.clean: dict[object, Clean] = {}
        """Functions that were gone into and capture nothing, with their arguments."""

    # -- what was looked at

    def look_at(self, scope: Scope) -> None:
        """Records that a scope's trees are used."""
        chunk = scope.chunk
        if chunk.facts.get("model") is self.home:
            self.seen.chunks.add(chunk)
        else:
            self.seen.paths.add(chunk.facts["model"].path)

    def calls_named(self, model: FileModel, name: str) -> list[tuple[ast.Call, Scope]]:
        """Calls in a file of something whose last component is `name`."""
        self._looks_for(model, name)
        return model.calls_named(name)

    def changes_of(self, model: FileModel, mark: str) -> list[InPlace]:
        """Where a file changes in place what is known by a name."""
        if model is self.home:
            self.seen.names.add(mark)
        else:
            self.seen.paths.add(model.path)
        return in_place_of(model, mark)

    def other_names(self, model: FileModel, name: str) -> set[str]:
        """Names given to what wraps `name`."""
        self._looks_for(model, name)
        return model.other_names(name)

    def writes_from_outside(self, model: FileModel, name: str) -> list[AttributeWrite]:
        """Where a file assigns attributes of that name, other than in methods to their own object."""
        if model is self.home:
            self.seen.outside.add(name)
        else:
            self.seen.paths.add(model.path)
        return model.writes_from_outside(name)

    def writes_in_other_files(self, path: str, name: str) -> Iterator[AttributeWrite]:
        """Where files other than `path` assign attributes of that name; nothing where too many do."""
        self.seen.paths.add(ANY_FILE)
        others = [other for other in self.project.assigning(name) if other != path]
        for other in others if len(others) <= _MOST_FILES else ():
            model = self.project.model(other)
            if model is not None:
                yield from self.writes_from_outside(model, name)

    def _looks_for(self, model: FileModel, name: str) -> None:
        if model is self.home:
            self.seen.calls.add(name)
        else:
            self.seen.paths.add(model.path)

    def begin(self) -> Evaluator:
        """Itself, with the whole budget."""
        self.steps = self.level = 0
        return self

    @property
    def spent(self) -> bool:
        """Is the budget used up?"""
        return self.steps > _BUDGET

    # -- frames

    def module_frame(self, model: FileModel) -> Frame:
        """The frame of a file's globals."""
        found = self.modules.get(model)
        if found is None:
            found = self.modules[model] = Frame(model.top, model, None, {})
        return found

    def frame_of(self, scope: Scope, frame: Frame) -> Frame:
        """The frame in which `scope`'s names live, seen from `frame`."""
        function: Scope | None = scope if scope.is_function else scope.enclosing_function()
        if function is None:
            while frame.parent is not None:
                frame = frame.parent
            return frame if frame.scope is frame.model.top else self.module_frame(frame.model)
        return frame.holding(function) or self.generic_frame(function, frame.model)

    def generic_frame(self, scope: Scope, model: FileModel) -> Frame:
        """The frame that stands for every run of a scope."""
        function = scope if scope.is_function else scope.enclosing_function()
        if function is None:
            return self.module_frame(model)
        found = self.generic.get(function)
        if found is None:
            self.look_at(function)
            outer = function.enclosing_function()
            parent = self.module_frame(model) if outer is None else self.generic_frame(outer, model)
            found = self.generic[function] = Frame(function, model, parent)
        return found

    # -- names

    def lookup(self, name: str, scope: Scope, frame: Frame, node: ast.expr | None = None) -> Value:
        """What `name` means in `scope`; where it is read there (`node`), bindings that cannot reach do not count."""
        owner = self.owner(name, scope)
        if owner is None:
            return External(f"builtins.{name}")
        if owner.kind == "module":
            bindings, home = frame.model.global_bindings(name), self.frame_of(owner, frame)
            here = scope.owner().kind == "module"
        else:
            bindings, home, here = owner.bindings[name], self.frame_of(owner, frame), owner is scope.owner()
        at = None
        if here and node is not None and len(bindings) > 1:
            at = frame.model.place_key(scope, node), frame.model.block_of(scope, node)
        return self.bound(bindings, owner, home, at)

    def owner(self, name: str, scope: Scope) -> Scope | None:
        """The scope whose name it is; None for a builtin or an unknown name."""
        at: Scope | None = scope
        while at is not None and at.kind != "module":
            if name in at.globals:
                break
            visible = at.kind != "class" or at is scope or scope.owner() is at
            if visible and name in at.bindings and name not in at.nonlocals:
                return at
            at = at.parent
        part = scope.module_part()
        model = self.model_of(part)
        if model is self.home:
            self.seen.names.add(name)
        else:
            self.seen.paths.add(model.path)
        if name in model.module_bindings:
            return part
        starred = model.global_bindings(name)
        for binding in starred:
            self.seen.paths.add(self.project.resolve(model.path, binding.module, binding.level) or "")
        return part if starred else None

    def model_of(self, part: Scope) -> FileModel:
        """The model to which a module's part belongs."""
        model: FileModel = part.chunk.facts["model"]
        return model

    def bound(self, bindings: list[Binding], owner: Scope, frame: Frame, at: At | None) -> Value:
        """What the bindings that can reach have in common."""
        if len(bindings) == 1 and bindings[0].kind != "augmented":
            return self.binding_value(bindings[0], frame)
        reaching = frame.model.reaching(bindings, owner, at)
        values = [self.binding_value(binding, frame) for binding in reaching if binding.kind != "augmented"]
        value = join(values)
        if len(values) < len(reaching) and not isinstance(value, (Array, Sequence, Mapping, Tracer)):
            return Scalar("float") if isinstance(value, (Const, Scalar)) else UNKNOWN
        return value

    def binding_value(self, binding: Binding, frame: Frame) -> Value:
        """The value that one binding gives."""
        kept = frame.cache.get(binding)
        if kept is None:
            self.look_at(binding.scope)
            frame.cache[binding] = UNKNOWN
            kept = frame.cache[binding] = self._binding_value(binding, frame)
        return kept

    def _binding_value(self, binding: Binding, frame: Frame) -> Value:
        if binding.kind == "parameter":
            return self.parameter(binding.name, frame)
        if binding.kind == "def":
            return objects.decorated(self, binding, frame)
        if binding.kind == "class":
            return objects.class_value(self, binding, frame)
        if binding.kind == "import":
            return self.imported(binding, frame)
        if binding.value is None or binding.kind == "with":
            return UNKNOWN
        value = self.evaluate(binding.value, binding.scope, frame)
        if binding.kind == "iteration":
            value = element(value)
        for step in binding.path:
            value = unpacked(value, step)
        if binding.kind == "assign" and not frame.traced and filled.can_change(value):
            return filled.filled(self, binding, value, frame)
        return value

    def parameter(self, name: str, frame: Frame) -> Value:
        """Value of a parameter: as given, else what all calls of the function that are in sight pass."""
        if frame.parameters is not None:
            return frame.parameters.get(name, UNKNOWN)
        return calls.passed(self, frame, name)

    def imported(self, binding: Binding, frame: Frame) -> Value:
        """What an import binds."""
        path = self.project.resolve(frame.model.path, binding.module, binding.level)
        if not binding.attribute:
            return ModuleValue(path) if path is not None else External(canonical(binding.module))
        sub = f"{binding.module}.{binding.attribute}" if binding.module else binding.attribute
        inner = self.project.resolve(frame.model.path, sub, binding.level)
        if path is not None:
            value = self.module_attribute(path, binding.attribute)
            if value != UNKNOWN or inner is None:
                return value
        if inner is not None:
            return ModuleValue(inner)
        return UNKNOWN if binding.level else outside(sub)

    def module_attribute(self, path: str, name: str) -> Value:
        """A global of another file of the project."""
        model = self.project.model(path)
        self.seen.paths.add(path)
        bindings = model.global_bindings(name) if model is not None else []
        if model is None or not bindings:
            return UNKNOWN
        return self.bound(bindings, bindings[0].scope, self.module_frame(model), None)

    # -- expressions

    def evaluate(self, node: ast.expr, scope: Scope, frame: Frame) -> Value:
        """Value of `node`, which stands in `scope`, in `frame`."""
        cache = frame.cache
        kept = cache.get(node)
        if kept is not None:
            return kept
        handler = HANDLERS.get(type(node))
        if handler is None or self.steps > _BUDGET or self.level > _DEEPEST:
            return UNKNOWN
        self.steps += 1
        self.level += 1
        cache[node] = UNKNOWN
        cache[node] = value = handler(self, node, scope, frame)
        self.level -= 1
        return value

    def attribute(self, value: Value, name: str, frame: Frame) -> Value:
        """`value.name`."""
        return attribute(self, value, name, frame)

    def subscript(self, value: Value, key: Value, frame: Frame) -> Value:
        """`value[key]`."""
        return subscript(self, value, key, frame)

    def library_call(self, args: list[Value], frame: Frame, keywords: dict[str, Value] | None = None) -> Call:
        """Arguments as the array functions want them."""
        arrays = [value for value in args if isinstance(value, Array)]
        numpy = all(array.library == "numpy" for array in arrays)
        return Call(args, keywords or {}, "numpy" if numpy else "jax", frame.model.x64, frame.traced)

    def call(self, callee: Value, given: Given, node: ast.AST, frame: Frame) -> Value:
        """What calling a value gives."""
        return calls.call_value(self, callee, given, node, frame)
