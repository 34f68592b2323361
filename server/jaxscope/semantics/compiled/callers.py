"""Where compiled functions are called: by their own name, aliases, attributes, in containers, from other files."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from jaxscope.semantics.compiled.sites import (
    Target,
    leading,
    numbers_and_names,
    peel,
    static_options,
    static_parameters,
)
from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import Const, External, FunctionValue, Instance, Sequence, Transformed, Value
from jaxscope.semantics.names.scopes import Binding, Block, Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel
    from jaxscope.source.module import Chunk

_LAYER = "compiled_calls"


@dataclass(frozen=True, slots=True)
class CompiledCall:
    """One call of a compiled function. Holds no values: it outlives the evaluation that found it."""

    node: ast.Call
    scope: Scope
    """Where that stands."""
    block: Block
    function: Scope
    """The compiled function, possibly of another file."""
    compiled_at: ast.expr
    """The decorator or call that compiles it: the `node` of its `Site`, possibly of another file."""
    given: tuple[tuple[str, ast.expr], ...]
    """Arguments by parameter of the function, as far as they can be told; `self` and what `partial` binds left out."""
    starred: bool
    """Are there `*args` or `**kwargs`?"""
    statics: tuple[str, ...]
    """Names of the static parameters."""
    receiver: bool
    """Is it a method of an object (`self` is a parameter of the function that `given` leaves out)?"""
    donated: tuple[str, ...] | None
    """Names of the donated parameters; None when what says so cannot be read."""
    donates: bool
    """Has the transform that compiles it `donate_argnums`?"""
    anew: str = ""
    """Name of the transform that compiles it, where that compiles anew for each Python number."""

    def argument(self, name: str) -> ast.expr | None:
        """What is given for a parameter."""
        return next((value for key, value in self.given if key == name), None)


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """One call of a library's function that is compiled by the program: `mean = jax.jit(jnp.mean)`."""

    node: ast.Call
    scope: Scope
    block: Block
    function: str
    """As it is written where it is compiled: `jnp.mean`."""


def compiled_calls_of(model: FileModel) -> list[CompiledCall]:
    """Every call in the file of a function that is compiled, here or in another file, in source order."""
    return model.once(
        "compiled calls", lambda: [call for chunk in model.module.chunks for call in compiled_calls_in(model, chunk)]
    )


def compiled_calls_in(model: FileModel, chunk: Chunk) -> list[CompiledCall]:
    """Those in one part of the file."""
    found: _Calls = model.kept(chunk, _LAYER, partial(_of_chunk, model, chunk))
    return found.of_project


def library_calls_in(model: FileModel, chunk: Chunk) -> list[LibraryCall]:
    """Those of compiled functions of libraries in one part of the file."""
    found: _Calls = model.kept(chunk, _LAYER, partial(_of_chunk, model, chunk))
    return found.of_libraries


@dataclass(frozen=True, slots=True)
class _Calls:
    of_project: list[CompiledCall]
    of_libraries: list[LibraryCall]


def _of_chunk(model: FileModel, chunk: Chunk, ev: Evaluator) -> _Calls:
    found: list[CompiledCall] = []
    other: list[LibraryCall] = []
    for scope in facts_of(chunk).scopes:
        for call, block in scope.calls:
            if not _may_be_compiled(ev, call.func, scope, model):
                continue
            value = ev.evaluate(call.func, scope, ev.generic_frame(scope, model))
            compiled = _compiled(ev, value)
            target = peel(ev, value) if compiled is not None else Target()
            if compiled is not None and target.function is not None:
                found.append(_call(call, scope, block, compiled, target, target.function))
            elif compiled is not None and isinstance(compiled.target, External):
                other.append(LibraryCall(call, scope, block, ast.unparse(compiled.call.args[0])))
    return _Calls(sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset)), other)


def _may_be_compiled(ev: Evaluator, node: ast.expr, scope: Scope, model: FileModel) -> bool:
    """Can what is called be compiled, by its name alone? Most calls are of libraries and of arrays' methods."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    owner = ev.owner(root.id, scope) if isinstance(root, ast.Name) else None
    if isinstance(root, ast.Name) and owner is not None:
        bindings = model.bindings_of(root.id, owner)
        if all(binding.kind == "import" for binding in bindings):
            return any(_is_of_project(model, binding) for binding in bindings)
        if root is node:
            return not all(_is_plain(binding) for binding in bindings)
    if isinstance(node, ast.Attribute):
        ev.seen.attributes.add(node.attr)
        return node.attr in model.attributes or _has_project_imports(model)
    return not isinstance(node, ast.Name)


def _is_plain(binding: Binding) -> bool:
    """Is it a class, or a function that is no more than that?"""
    return binding.kind == "class" or (binding.kind == "def" and not getattr(binding.node, "decorator_list", ()))


def _has_project_imports(model: FileModel) -> bool:
    """May objects in the file be of classes that are not in it?"""
    bound = (binding for bindings in model.module_bindings.values() for binding in bindings)
    return model.once("project imports", lambda: any(_is_of_project(model, binding) for binding in bound))


def _is_of_project(model: FileModel, binding: Binding) -> bool:
    if binding.kind != "import":
        return False
    inner = f"{binding.module}.{binding.attribute}" if binding.module else binding.attribute
    resolve = model.project.resolve
    return any(resolve(model.path, name, binding.level) is not None for name in (binding.module, inner))


def _compiled(ev: Evaluator, value: Value) -> Transformed | None:
    """The outermost layer of a callable that compiles."""
    if isinstance(value, Instance):
        value = objects.attribute(ev, value, "__call__")
    while isinstance(value, Transformed):
        if value.transform.is_jit:
            return value
        value = value.target
    return None


def _call(
    node: ast.Call, scope: Scope, block: Block, compiled: Transformed, target: Target, function: FunctionValue
) -> CompiledCall:
    nums, names = static_options(compiled)
    given, starred = _given(node, target, function)
    if compiled.call in getattr(function.scope.node, "decorator_list", ()):
        target = replace(target, function=replace(function, bound=None))  # `self` is a parameter of what is compiled
    return CompiledCall(
        node,
        scope,
        block,
        function.scope,
        compiled.call,
        given,
        starred,
        static_parameters(target, nums, names),
        function.bound is not None,
        _donated(compiled, target),
        "donate_argnums" in compiled.transform.argnums,
        compiled.transform.name.rpartition(".")[2] if compiled.transform.static_numbers else "",
    )


def _donated(compiled: Transformed, target: Target) -> tuple[str, ...] | None:
    given = [(name, value) for name, value in compiled.options if name.startswith("donate")]
    if any(name == "donate" or not _is_read(value) for name, value in given):
        return None
    return static_parameters(target, *numbers_and_names(value for _, value in given))


def _is_read(value: Value) -> bool:
    items = value.items if isinstance(value, Sequence) else (value,)
    return items is not None and all(isinstance(item, Const) for item in items)


def _given(node: ast.Call, target: Target, function: FunctionValue) -> tuple[tuple[tuple[str, ast.expr], ...], bool]:
    own = [""] * leading(target) + parameters(function.scope.function_node)[function.bound is not None :]
    for bound in reversed(target.partials):
        own = own[len(bound.args) :]
    found: list[tuple[str, ast.expr]] = []
    plain = node.args
    starred = next((number for number, one in enumerate(plain) if isinstance(one, ast.Starred)), None)
    found += [(name, one) for name, one in zip(own, plain[:starred], strict=False) if name]
    found += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None]
    return tuple(found), starred is not None or any(keyword.arg is None for keyword in node.keywords)
