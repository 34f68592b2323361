"""What is known of a value without running it: NumPy's array or JAX's, its type, what a container holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxscope.refactor.program.names import File
from jaxscope.semantics.evaluation import values as abstract
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.names.scopes import Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel
    from jaxscope.semantics.project import Project

_NARROW = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "uint8",
        "uint16",
        "uint32",
        "float16",
        "bfloat16",
        "float32",
        "complex64",
        "int4",
        "uint4",
    ]
)
_CALLABLES = (
    abstract.FunctionValue,
    abstract.ClassValue,
    abstract.ModuleValue,
    abstract.Transformed,
    abstract.TupleType,
    abstract.PartialValue,
)
_DEPTH = 6


class Known:
    """What the value `root` of scope `home`, followed by `links`, is known to be."""

    def __init__(self, project: Project, file: File, home: Scope, root: str, links: tuple[str, ...]) -> None:
        self.value = _evaluated(project, file, home, root, links)

    @property
    def leaves(self) -> list[abstract.Value]:
        """Everything in it that is no container."""
        return list(_leaves(self.value, 0))

    @property
    def complete(self) -> bool:
        """Is everything in it known to be an array or a number that JAX takes as an argument?"""
        return all(isinstance(leaf, abstract.Array) or _plain(leaf) for leaf in self.leaves)

    @property
    def is_array(self) -> bool:
        """Is it an array for certain, rather than a container or something unknown?"""
        return isinstance(self.value, abstract.Array)

    @property
    def immutable(self) -> bool:
        """Is it an array of JAX, which nothing can change?"""
        return isinstance(self.value, abstract.Array) and self.value.library == "jax"

    @property
    def all_jax(self) -> bool:
        """Are all arrays in it JAX's?"""
        return all((isinstance(x, abstract.Array) and x.library == "jax") or _plain(x) for x in self.leaves)

    @property
    def narrow(self) -> bool:
        """Has every array in it a type that JAX keeps as it is?"""
        return all((isinstance(x, abstract.Array) and x.dtype in _NARROW) or _plain(x) for x in self.leaves)

    @property
    def no_mask(self) -> bool:
        """Is it certain that no array in it holds truth values?"""
        return all((isinstance(x, abstract.Array) and x.dtype not in (None, "bool")) or _plain(x) for x in self.leaves)

    @property
    def bad(self) -> abstract.Value | None:
        """Something in it that JAX takes for no argument, or that would no longer be known while tracing."""
        return next((leaf for leaf in self.leaves if _bad(leaf)), None)


def _plain(leaf: abstract.Value) -> bool:
    if isinstance(leaf, abstract.Const):
        return leaf.value is None or isinstance(leaf.value, float | complex)
    return isinstance(leaf, abstract.Scalar) and leaf.kind in ("float", "complex")


def _bad(leaf: abstract.Value) -> bool:
    if isinstance(leaf, abstract.Const):
        return isinstance(leaf.value, str | bytes | bool | int) or leaf.value is Ellipsis
    if isinstance(leaf, abstract.Scalar):
        return leaf.kind in ("int", "bool", "str")
    if isinstance(leaf, abstract.External):
        return leaf.name.startswith(("jax.", "numpy.", "builtins.", "math."))
    return isinstance(leaf, _CALLABLES)


def _leaves(value: abstract.Value, depth: int) -> Iterator[abstract.Value]:
    if depth > _DEPTH:
        yield abstract.UNKNOWN
    elif isinstance(value, abstract.Sequence):
        for item in (value.element,) if value.items is None else value.items:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, abstract.Mapping):
        for _, item in value.items:
            yield from _leaves(item, depth + 1)
        if value.element != abstract.UNKNOWN or not value.items:
            yield from _leaves(value.element, depth + 1)
    else:
        yield value


def _evaluated(project: Project, file: File, home: Scope, root: str, links: tuple[str, ...]) -> abstract.Value:
    model = project.model(file.path)
    if model is None:
        return abstract.UNKNOWN
    evaluator = Evaluator(project)
    scope = _same_scope(model, file, home)
    if scope is None:
        return abstract.UNKNOWN
    frame = evaluator.generic_frame(scope, model)
    value = evaluator.lookup(root, scope, frame)
    for link in links:
        if link.startswith("."):
            value = evaluator.attribute(value, link[1:], frame)
        else:
            try:
                key: abstract.Value = abstract.Const(ast.literal_eval(link[1:-1]))
            except (ValueError, SyntaxError):
                key = abstract.UNKNOWN
            value = evaluator.subscript(value, key, frame)
    return value


def _same_scope(model: FileModel, file: File, home: Scope) -> Scope | None:
    """The scope that the facts of the file have for `home`, which is one of the whole file's tree."""
    if home is file.top:
        return model.top
    if not home.is_function:
        return None
    for chunk in model.module.chunks:
        for scope in facts_of(chunk).scopes:
            if not scope.is_function or scope.qualname != home.qualname:
                continue
            node, wanted = scope.function_node, home.function_node
            place = model.module.position(chunk, node.lineno, node.col_offset)
            if place == model.module.lines.from_utf8(wanted.lineno, wanted.col_offset):
                return scope
    return None
