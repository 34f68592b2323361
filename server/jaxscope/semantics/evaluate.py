"""Evaluates expressions to abstract values, lazily and within a budget.

Code is followed where that is certain: local functions and classes are called with abstract arguments, names are
resolved by Python's rules, and a name that is bound several times is what all its bindings that can reach have in
common.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from jaxscope.semantics import calls, objects
from jaxscope.semantics.arguments import Given
from jaxscope.semantics.arrays import (
    Call,
    Slice,
    as_array,
    elementwise,
    index,
    matmul,
    permuted,
    shape_value,
    size_bytes,
)
from jaxscope.semantics.dependencies import Dependencies
from jaxscope.semantics.frames import Frame
from jaxscope.semantics.operations import (
    element,
    folded,
    is_none,
    length,
    number_kind,
    sequence_operation,
    sliced_sequence,
    unpacked,
)
from jaxscope.semantics.scopes import Binding, Block, Scope
from jaxscope.semantics.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Made,
    Mapping,
    Method,
    ModuleValue,
    PartialValue,
    Scalar,
    Sequence,
    Tracer,
    Value,
    join,
)
from jaxscope.semantics.vocabulary import CONSTANTS, canonical

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel
    from jaxscope.semantics.project import Project

_BUDGET = 60_000
At = tuple[tuple[int, int], Block]


def outside(name: str) -> Value:
    """What a dotted name from outside the project stands for."""
    name = canonical(name)
    return Const(CONSTANTS[name]) if name in CONSTANTS else External(name)


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
        self.generic: dict[int, Frame] = {}
        self.modules: dict[FileModel, Frame] = {}
        self.results: dict[object, Value] = {}

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

    def other_names(self, model: FileModel, name: str) -> set[str]:
        """Names given to what wraps `name`."""
        self._looks_for(model, name)
        return model.other_names(name)

    def _looks_for(self, model: FileModel, name: str) -> None:
        if model is self.home:
            self.seen.calls.add(name)
        else:
            self.seen.paths.add(model.path)

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
            return self.module_frame(frame.model)
        return frame.holding(function) or self.generic_frame(function, frame.model)

    def generic_frame(self, scope: Scope, model: FileModel) -> Frame:
        """The frame that stands for every run of a scope."""
        function = scope if scope.is_function else scope.enclosing_function()
        if function is None:
            return self.module_frame(model)
        found = self.generic.get(id(function))
        if found is None:
            self.look_at(function)
            outer = function.enclosing_function()
            parent = self.module_frame(model) if outer is None else self.generic_frame(outer, model)
            found = self.generic[id(function)] = Frame(function, model, parent)
        return found

    # -- names

    def lookup(self, name: str, scope: Scope, frame: Frame, at: At | None = None) -> Value:
        """What `name` means in `scope`; `at` (place and block) when it is read by code of that very scope."""
        owner = self.owner(name, scope)
        if owner is None:
            return External(f"builtins.{name}")
        if owner.kind == "module":
            bindings, home = frame.model.global_bindings(name), self.module_frame(frame.model)
            here = scope.owner().kind == "module"
        else:
            bindings, home, here = owner.bindings[name], self.frame_of(owner, frame), owner is scope.owner()
        return self.bound(bindings, owner, home, at if here else None)

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
        if value == Sequence(()):
            return calls.appended(self, binding, frame)
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
        kept = frame.cache.get(id(node))
        if kept is not None:
            return kept
        self.steps += 1
        if self.steps > _BUDGET:
            return UNKNOWN
        frame.cache[id(node)] = UNKNOWN
        method = getattr(self, "_" + type(node).__name__, None)
        value: Value = UNKNOWN if method is None else method(node, scope, frame)
        frame.cache[id(node)] = value
        return value

    def library_call(self, args: list[Value], frame: Frame, keywords: dict[str, Value] | None = None) -> Call:
        """Arguments as the array functions want them."""
        arrays = [value for value in args if isinstance(value, Array)]
        numpy = all(array.library == "numpy" for array in arrays)
        return Call(args, keywords or {}, "numpy" if numpy else "jax", frame.model.x64, frame.traced)

    def _Constant(self, node: ast.Constant, scope: Scope, frame: Frame) -> Value:
        return Const(node.value)

    def _Name(self, node: ast.Name, scope: Scope, frame: Frame) -> Value:
        at = frame.model.place_key(scope, node), frame.model.block_of(scope, node)
        return self.lookup(node.id, scope, frame, at)

    def _NamedExpr(self, node: ast.NamedExpr, scope: Scope, frame: Frame) -> Value:
        return self.evaluate(node.value, scope, frame)

    def _Await(self, node: ast.Await, scope: Scope, frame: Frame) -> Value:
        return UNKNOWN

    def _Tuple(self, node: ast.Tuple | ast.List, scope: Scope, frame: Frame) -> Value:
        items: list[Value] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                inner = self.evaluate(item.value, scope, frame)
                if not isinstance(inner, Sequence) or inner.items is None:
                    return TRACER if inner is TRACER else Sequence(None)
                items += inner.items
            else:
                items.append(self.evaluate(item, scope, frame))
        return Sequence(tuple(items))

    _List = _Tuple

    def _Dict(self, node: ast.Dict, scope: Scope, frame: Frame) -> Value:
        items: dict[Any, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self.evaluate(value, scope, frame)
            if key is None:
                if isinstance(inner, Mapping):
                    items.update(inner.items)
                continue
            name = self.evaluate(key, scope, frame)
            if isinstance(name, Const):
                items[name.value] = inner
        return Mapping(tuple(items.items()))

    def _ListComp(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope, frame: Frame) -> Value:
        inner = frame.model.scope_of(scope, node)
        if inner is None:
            return UNKNOWN
        count: int | None = 1
        for generator in node.generators:
            many = length(self.evaluate(generator.iter, scope, frame)) if count is not None else None
            count = None if many is None or count is None or generator.ifs else count * many
        return Sequence(None, self.evaluate(node.elt, inner, frame), count)

    _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp, scope: Scope, frame: Frame) -> Value:
        inner = frame.model.scope_of(scope, node)
        return UNKNOWN if inner is None else Mapping((), self.evaluate(node.value, inner, frame))

    def _IfExp(self, node: ast.IfExp, scope: Scope, frame: Frame) -> Value:
        return join([self.evaluate(node.body, scope, frame), self.evaluate(node.orelse, scope, frame)])

    def _BoolOp(self, node: ast.BoolOp, scope: Scope, frame: Frame) -> Value:
        return join([self.evaluate(value, scope, frame) for value in node.values])

    def _Lambda(self, node: ast.Lambda, scope: Scope, frame: Frame) -> Value:
        inner = frame.model.scope_of(scope, node)
        return UNKNOWN if inner is None else FunctionValue(inner, frame)

    def _UnaryOp(self, node: ast.UnaryOp, scope: Scope, frame: Frame) -> Value:
        value = self.evaluate(node.operand, scope, frame)
        if isinstance(value, Const) and isinstance(value.value, (int, float)):
            if isinstance(node.op, ast.USub):
                return Const(-value.value)
            return Const(not value.value) if isinstance(node.op, ast.Not) else value
        if isinstance(value, Array) and frame.traced and value.library == "jax":
            return TRACER
        return value if isinstance(value, (Array, Scalar, Tracer)) else UNKNOWN

    def _BinOp(self, node: ast.BinOp, scope: Scope, frame: Frame) -> Value:
        left, right = self.evaluate(node.left, scope, frame), self.evaluate(node.right, scope, frame)
        if isinstance(left, Const) and isinstance(right, Const):
            return folded(node.op, left.value, right.value)
        if TRACER in (left, right):
            return TRACER
        arrays = [value for value in (left, right) if isinstance(value, Array)]
        if arrays:
            if frame.traced and any(array.library == "jax" for array in arrays):
                return TRACER
            call = self.library_call([left, right], frame)
            if isinstance(node.op, ast.MatMult):
                return matmul(left, right, call)
            if UNKNOWN in (left, right):
                return Array(None, None, call.library)
            operands = [as_array(v, call) or UNKNOWN if isinstance(v, Sequence) else v for v in (left, right)]
            return elementwise(operands, call, floating=isinstance(node.op, ast.Div))
        if isinstance(left, Sequence) or isinstance(right, Sequence):
            return sequence_operation(node.op, left, right)
        if isinstance(left, (Const, Scalar)) and isinstance(right, (Const, Scalar)):
            return Scalar(number_kind(node.op, left, right))
        return UNKNOWN

    def _Compare(self, node: ast.Compare, scope: Scope, frame: Frame) -> Value:
        values = [self.evaluate(value, scope, frame) for value in (node.left, *node.comparators)]
        if TRACER in values:
            return TRACER
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and values[1:] == [Const(None)]:
            return is_none(values[0], isinstance(node.ops[0], ast.Is))
        arrays = [value for value in values if isinstance(value, Array)]
        if arrays and frame.traced and any(array.library == "jax" for array in arrays):
            return TRACER
        if arrays and UNKNOWN not in values:
            return elementwise(values, self.library_call(values, frame), boolean=True)
        return Scalar("bool") if not arrays else UNKNOWN

    def _JoinedStr(self, node: ast.JoinedStr, scope: Scope, frame: Frame) -> Value:
        return Scalar("str")

    def _Slice(self, node: ast.Slice, scope: Scope, frame: Frame) -> Value:
        bounds = (node.lower, node.upper, node.step)
        start, stop, step = (Const(None) if b is None else self.evaluate(b, scope, frame) for b in bounds)
        return Slice(start, stop, step)

    def _Attribute(self, node: ast.Attribute, scope: Scope, frame: Frame) -> Value:
        return self.attribute(self.evaluate(node.value, scope, frame), node.attr, frame)

    def attribute(self, value: Value, name: str, frame: Frame) -> Value:
        """`value.name`."""
        if isinstance(value, External):
            return outside(f"{value.name}.{name}")
        if isinstance(value, ModuleValue):
            found = self.module_attribute(value.path, name)
            if found == UNKNOWN:
                inner = self.project.submodule(value.path, name)
                return ModuleValue(inner) if inner is not None else UNKNOWN
            return found
        if isinstance(value, (Instance, ClassValue)):
            return objects.attribute(self, value, name)
        if isinstance(value, Array):
            return self._array_attribute(value, name, frame)
        if isinstance(value, Sequence) and name in value.fields:
            return value.item(value.fields.index(name))
        if isinstance(value, PartialValue) and name == "func":
            return value.target
        if isinstance(value, Method) and value.name == "at[]":
            return Method(value.owner, f"at[].{name}")
        if isinstance(value, (Sequence, Mapping, Made, Method, Const)):
            return Method(value, name)
        return TRACER if value is TRACER else UNKNOWN

    def _array_attribute(self, value: Array, name: str, frame: Frame) -> Value:
        if name == "shape":
            return shape_value(value.shape)
        if name == "dtype":
            return UNKNOWN if value.dtype is None else Const(value.dtype)
        if name == "ndim":
            return Scalar("int") if value.shape is None else Const(len(value.shape))
        if name in ("size", "nbytes"):
            count = size_bytes(Array(value.shape, "int8" if name == "size" else value.dtype, value.library), True)
            return Scalar("int") if count is None else Const(count)
        if name in ("T", "mT"):
            return TRACER if frame.traced and value.library == "jax" else permuted(value, None)
        return Method(value, name)

    def _Subscript(self, node: ast.Subscript, scope: Scope, frame: Frame) -> Value:
        return self.subscript(self.evaluate(node.value, scope, frame), self.evaluate(node.slice, scope, frame), frame)

    def subscript(self, value: Value, key: Value, frame: Frame) -> Value:
        """`value[key]`."""
        if isinstance(value, Sequence):
            if isinstance(key, Const) and isinstance(key.value, int):
                return value.item(key.value)
            if isinstance(key, Slice) and value.items is not None:
                return sliced_sequence(value, key)
            return Sequence(None, value.any_item()) if isinstance(key, Slice) else value.any_item()
        if isinstance(value, Mapping):
            known = isinstance(key, Const)
            return value.get(key.value) if isinstance(key, Const) and known else join([v for _, v in value.items])
        if isinstance(value, Array):
            items = list(key.items or ()) if isinstance(key, Sequence) else [key]
            if TRACER in items or (frame.traced and value.library == "jax"):
                return TRACER
            return index(value, items)
        if isinstance(value, Method) and value.name == "at":
            return Method(value.owner, "at[]")
        return TRACER if value is TRACER else UNKNOWN

    def call(self, callee: Value, given: Given, node: ast.AST, frame: Frame) -> Value:
        """What calling a value gives."""
        return calls.call_value(self, callee, given, node, frame)

    def _Call(self, node: ast.Call, scope: Scope, frame: Frame) -> Value:
        return calls.evaluate_call(self, node, scope, frame)
