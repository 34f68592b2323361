"""Reading jaxtyping annotations from the source: `Float[Array, "batch 3"]` under given dimension sizes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from jaxscope.semantics.model import Parameter

DEFAULT_SIZE = 8
"""Size of a dimension about which nothing is known."""

_DTYPES = {
    "Float": "f32", "Inexact": "f32", "Real": "f32", "Num": "f32", "Shaped": "f32", "Float32": "f32",
    "Float16": "f16", "BFloat16": "bf16", "Float64": "f64",
    "Int": "i32", "Integer": "i32", "Int8": "i8", "Int16": "i16", "Int32": "i32", "Int64": "i64",
    "UInt": "u32", "UInt8": "u8", "UInt16": "u16", "UInt32": "u32", "UInt64": "u64",
    "Bool": "bool", "Complex": "c64", "Complex64": "c64", "Complex128": "c128",
}  # fmt: skip
# Any number of dimensions, none for one: `...`, `*batch`, `#*batch`.
_VARIABLE = re.compile(r"\.\.\.|[#?_]*\*")
_NUMBERS = ("int", "float", "bool", "complex")
_SCALARS = {"Scalar": "f32[]", "ScalarLike": "f32[]", "PRNGKeyArray": "key"}


def annotated(parameters: Iterable[Parameter], sizes: Mapping[str, int], static: Iterable[str] = ()) -> str | None:
    """Signature of a function by its annotations; None where a parameter that is needed has none we can read.

    Dimensions whose size is not known stay as names, for the worker to find sizes that fit. Parameters with a default
    and without an array annotation are left to their default, and with them all after.
    """
    parameters = [parameter for parameter in parameters if parameter.kind not in ("star", "double-star")]
    sizes = {**dict.fromkeys(_in_expressions(parameters), DEFAULT_SIZE), **sizes}
    types: list[str] = []
    left_out = False
    for parameter in parameters:
        aval = array_type(parameter.annotation or "", sizes) if parameter.name not in static else None
        if aval is None or left_out or parameter.kind == "keyword-only":
            if not parameter.has_default:
                return None
            left_out = True
            continue
        types.append(aval)
    return ", ".join(types) or None


def _in_expressions(parameters: Iterable[Parameter]) -> Iterator[str]:
    """Names of which some dimension is computed, `2*d`: they need a size to begin with."""
    for parameter in parameters:
        for dim in dimension_names(parameter.annotation or "") or ():
            if not dim.isidentifier():
                yield from re.findall(r"[A-Za-z_]\w*", dim.rpartition("=")[2])


def array_type(annotation: str, sizes: Mapping[str, int]) -> str | None:
    """`f32[8,3]` of `Float[Array, "batch 3"]`; None when it is no annotation of one array."""
    try:
        tree = ast.parse(annotation.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return _array_type(tree, sizes)


def _array_type(tree: ast.expr, sizes: Mapping[str, int]) -> str | None:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return array_type(tree.value, sizes)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return _array_type(tree.left, sizes) or _array_type(tree.right, sizes)
    if isinstance(tree, (ast.Name, ast.Attribute)):
        return _SCALARS.get(_last(tree)) or (tree.id if isinstance(tree, ast.Name) and tree.id in _NUMBERS else None)
    if not isinstance(tree, ast.Subscript):
        return None
    name, inner = _last(tree.value), tree.slice
    if name in ("Optional", "Annotated", "Union"):  # not PyTree, which does not say what tree
        first = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
        return _array_type(first, sizes)
    if not isinstance(inner, ast.Tuple) or len(inner.elts) != 2 or not isinstance(inner.elts[1], ast.Constant):
        return None
    if name == "Key":
        return "key" if not str(inner.elts[1].value).strip() else None
    dims = _dimensions(str(inner.elts[1].value), sizes)
    return f"{_DTYPES[name]}[{','.join(map(str, dims))}]" if name in _DTYPES and dims is not None else None


def _last(tree: ast.expr) -> str:
    return tree.attr if isinstance(tree, ast.Attribute) else tree.id if isinstance(tree, ast.Name) else ""


def dimension_names(annotation: str) -> tuple[str, ...] | None:
    """The dimensions of a jaxtyping annotation as written, without what varies in number; None when it is none."""
    match = re.search(r"""\[\s*[\w.]+\s*,\s*(["'])(.*?)\1\s*\]""", annotation)
    if not match:
        return None
    return tuple(dim.lstrip("#?_") for dim in match[2].split() if not _VARIABLE.match(dim))


def _dimensions(text: str, sizes: Mapping[str, int]) -> list[int | str] | None:
    dims: list[int | str] = []
    for dim in text.split():
        if _VARIABLE.match(dim):
            continue
        dim = dim.lstrip("#?_").rpartition("=")[2]
        size = DEFAULT_SIZE if not dim else dim if _is_free(dim, sizes) else _size(dim, sizes)
        if size is None:
            return None
        dims.append(size)
    return dims


def _is_free(dim: str, sizes: Mapping[str, int]) -> bool:
    return dim.isidentifier() and dim not in sizes


def _size(text: str, sizes: Mapping[str, int]) -> int | None:
    """Value of `3`, `d`, `d-1`, `2*d`, with the sizes known and the default for the rest."""
    try:
        return _value(ast.parse(text, mode="eval").body, sizes)
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None


def _value(tree: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return tree.value
    if isinstance(tree, ast.Name):
        return sizes.get(tree.id, DEFAULT_SIZE)
    if isinstance(tree, ast.BinOp):
        left, right = _value(tree.left, sizes), _value(tree.right, sizes)
        if isinstance(tree.op, ast.Add):
            return left + right
        if isinstance(tree.op, ast.Sub):
            return left - right
        if isinstance(tree.op, ast.Mult):
            return left * right
        if isinstance(tree.op, ast.FloorDiv):
            return left // right
    raise ValueError(ast.dump(tree))
