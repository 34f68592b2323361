"""Sizes of named dimensions that follow from the arrays a function uses besides its parameters.

`def f(x: Float[Array, "batch d"]): return x @ W` says nothing of `d`, but the shape of `W` does; so does an annotation
of `W` with the same name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import Array, Shape
from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.project import Project
from jaxscope.tracing.annotations import dimension_names

Dimensions = tuple[str, ...]
# The dimensions of a parameter, the shape that they meet, and whether the parameter is the left operand.
_Meet = Callable[[Dimensions, Shape, bool], Iterable[tuple[str, "int | None"]]]
_PRODUCTS = ("dot", "matmul")


def known_sizes(function: Function, model: FileModel, project: Project) -> dict[str, int]:
    """Size of each dimension name in the annotations of `function`, a function at its file's top level, as far as
    it follows. The first place that gives a size decides."""
    finder = _Finder(function, model, project)
    found: dict[str, int] = {}
    for name, size in finder.pairs():
        if name.isidentifier() and size is not None:
            found.setdefault(name, size)
    return found


class _Finder:
    def __init__(self, function: Function, model: FileModel, project: Project) -> None:
        self._model, self._evaluator = model, project.evaluator
        self._scope = function.scope
        self._frame = Frame(function.scope, model, model.module_frame, {})
        annotated = ((item.name, dimension_names(item.annotation or "")) for item in function.parameters)
        self._dimensions = {name: dims for name, dims in annotated if dims}

    def pairs(self) -> Iterator[tuple[str, int | None]]:
        """Dimension names with the sizes that they meet."""
        for statement in self._model.module.tree.body if self._model.module.tree else ():
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                dims = dimension_names(ast.unparse(statement.annotation))
                value = self._evaluator.lookup(statement.target.id, self._scope, self._frame)
                if dims and isinstance(value, Array) and value.shape and len(value.shape) == len(dims):
                    yield from zip(dims, value.shape, strict=True)
        for node in ast.walk(self._scope.function_node):
            if isinstance(node, ast.BinOp):
                meet = _product if isinstance(node.op, ast.MatMult) else _broadcast
                yield from self._meeting(node.left, node.right, meet)
            elif isinstance(node, ast.Call) and _name(node.func) in _PRODUCTS and len(node.args) == 2:
                yield from self._meeting(node.args[0], node.args[1], _product)

    def _meeting(self, left: ast.expr, right: ast.expr, meet: _Meet) -> Iterable[tuple[str, int | None]]:
        left_dims, right_dims = self._dims(left), self._dims(right)
        if left_dims and not right_dims:
            return meet(left_dims, self._shape(right), True)
        if right_dims and not left_dims:
            return meet(right_dims, self._shape(left), False)
        return ()

    def _dims(self, node: ast.expr) -> Dimensions | None:
        return self._dimensions.get(node.id) if isinstance(node, ast.Name) else None

    def _shape(self, node: ast.expr) -> Shape:
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return ()
        value = self._evaluator.evaluate(node, self._scope, self._frame)
        return (value.shape or ()) if isinstance(value, Array) else ()


def _product(dims: Dimensions, shape: Shape, first: bool) -> Iterable[tuple[str, int | None]]:
    """`x @ W`: the last dimension of the left operand is the last but one of the right."""
    if not shape:
        return ()
    mine, other = (dims[-1], shape[max(len(shape) - 2, 0)]) if first else (dims[max(len(dims) - 2, 0)], shape[-1])
    return ((mine, other),)


def _broadcast(dims: Dimensions, shape: Shape, first: bool) -> Iterable[tuple[str, int | None]]:
    """`x + W`: dimensions meet from the last on; one of size 1 says nothing."""
    pairs = zip(reversed(dims), reversed(shape), strict=False)
    return [(name, size) for name, size in pairs if size != 1]


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
