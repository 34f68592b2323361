"""The annotation of a new parameter: where the others have one, as they call an array there."""

from __future__ import annotations

import ast

from jaxscope.refactor.program.known import Known
from jaxscope.refactor.program.names import File
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import positional
from jaxscope.semantics.vocabulary import canonical

_ARRAY = "jax.Array"


def annotated(file: File, node: FunctionNode, name: str, known: Known) -> str:
    """`name: jax.Array`, for what is certainly JAX's array and a function that has an annotation for such; else `name`.

    A checker that runs would take nothing else for one.
    """
    if isinstance(node, ast.Lambda) or not (known.is_array and known.all_jax):
        return name
    annotations = [arg.annotation for arg in (*positional(node), *node.args.kwonlyargs) if arg.arg not in _OWN]
    if not annotations or None in annotations:
        return name
    for annotation in [*annotations, node.returns]:
        written = _array(file, annotation) if annotation is not None else None
        if written is not None:
            return f"{name}: {file.layout.source(written)}"
    return name


_OWN = ("self", "cls")


def _array(file: File, node: ast.expr) -> ast.expr | None:
    """The part of an annotation that means any array: itself, or the first of `Float[Array, "n"]`."""
    if isinstance(node, ast.Subscript) and (file.dotted(node.value) or "").startswith("jaxtyping."):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _array(file, items[0])
    dotted = canonical(file.dotted(node) or "")
    return node if dotted in (_ARRAY, "jaxtyping.Array") else None
