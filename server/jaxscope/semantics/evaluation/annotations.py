"""What an annotation says of a name: an array of unknown size, a number, an object of a class, or nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import UNKNOWN, Array, ClassValue, External, Instance, Scalar, Value
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.vocabulary import ARRAY_TYPES

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator


def annotated(ev: Evaluator, annotation: ast.expr | None, scope: Scope, frame: Frame) -> Value:
    """What an annotation says: an array of unknown size, a number, or nothing."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return UNKNOWN
        plain = isinstance(annotation, (ast.Name, ast.Attribute))
        return _array_type(ev, annotation, scope, frame) if plain else UNKNOWN
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice.elts[0] if isinstance(annotation.slice, ast.Tuple) and annotation.slice.elts else None
        return _array_type(ev, inner, scope, frame) if inner is not None else UNKNOWN
    return UNKNOWN if annotation is None else _array_type(ev, annotation, scope, frame)


def _array_type(ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame) -> Value:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return UNKNOWN
    value: Value = ev.lookup(root.id, scope, frame)
    for name in _attributes(node):
        value = ev.attribute(value, name, frame)
    if isinstance(value, External) and value.name in ARRAY_TYPES:
        return Array(None, None, "numpy" if value.name.startswith("numpy") else "jax")
    if isinstance(value, External) and value.name in ("builtins.int", "builtins.float", "builtins.bool"):
        return Scalar(value.name.rpartition(".")[2])
    return Instance(value, None) if isinstance(value, ClassValue) else UNKNOWN


def _attributes(node: ast.expr) -> list[str]:
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return names[::-1]
