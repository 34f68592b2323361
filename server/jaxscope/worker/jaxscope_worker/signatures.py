"""Avals in short form, `f32[3,700]`, and trees of them, as `declaring` reads them and with JAX's mark for weak types,
`~f32[]`; static values by a repr that shows no array."""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from . import declaring, jax_compat

_LETTERS = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}
LITERALS = (bool, int, float, complex, str, bytes, type(None))
_TREE_LEAVES = 200
_REPR_LIMIT = 120


def short_dtype(dtype: Any) -> str:
    """`f32`, `bf16`, `i32`, `bool`, `key<fry>`."""
    name = str(getattr(dtype, "name", dtype))
    if name.startswith("key<"):
        return name
    match = re.fullmatch(r"(float|int|uint|complex|bfloat)(\d.*)", name)
    return _LETTERS[match[1]] + match[2] if match else name


def short_aval(aval: Any) -> str:
    """`f32[3,700]` of anything with shape and dtype; else what JAX prints."""
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return str(aval)
    return f"{short_dtype(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def short_tree(value: Any) -> str:
    """The avals of an argument, as a tree in short form."""
    return _tree(value, [_TREE_LEAVES])


def _tree(value: Any, budget: list[int]) -> str:
    if budget[0] <= 0:
        return "…"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{declaring.key_text(key)}: {_tree(child, budget)}" for key, child in value.items()) + "}"
        )
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return "(" + ", ".join(_tree(child, budget) for child in value) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(_tree(child, budget) for child in value) + "]"
    if value is None:
        return "None"
    if isinstance(value, functools.partial):
        bound = [*value.args, *([value.keywords] if value.keywords else [])]
        return f"{type(value).__name__}({', '.join(_tree(child, budget) for child in bound)})"
    leaf = _leaf(value)
    if leaf is not None:
        budget[0] -= 1
        return leaf
    children = jax_compat.tree_children(value)
    if children is None:
        return type(value).__name__
    inside = (_named(name) + _tree(child, budget) for name, child in children)
    return f"{type(value).__name__}({', '.join(inside)})"


def _named(name: str | None) -> str:
    return f"{declaring.key_text(name)}: " if name is not None else ""


def _leaf(value: Any) -> str | None:
    if isinstance(value, bool):
        return "bool[]"
    if isinstance(value, (int, float, complex)) and not hasattr(value, "dtype"):
        kind = {int: np.int64, float: np.float64, complex: np.complex128}
        wanted = next(dtype for python, dtype in kind.items() if isinstance(value, python))
        return f"~{short_dtype(jax_compat.canonical_dtype(wanted))}[]"
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type):
        dtype = jax_compat.canonical_dtype(value.dtype)
        weak = "~" if jax_compat.is_weak(value) else ""
        return f"{weak}{short_dtype(dtype)}[{','.join(map(str, value.shape))}]"
    return None


def static_repr(value: Any, depth: int = 3) -> str:
    """A static value as one reads it; arrays by their type only, objects of the user's by their class."""
    text = _static(value, depth)
    return text if len(text) <= _REPR_LIMIT else text[: _REPR_LIMIT - 1] + "…"


def _static(value: Any, depth: int) -> str:
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, enum.Enum)):
        return repr(value)
    if jax_compat.is_array(value):
        return short_aval(value)
    if isinstance(value, (FunctionType, BuiltinFunctionType, MethodType, type)):
        return getattr(value, "__qualname__", type(value).__name__)
    if isinstance(value, np.dtype):
        return str(value)
    if depth > 0 and type(value) in (tuple, list, set, frozenset):
        inside = ", ".join(_static(item, depth - 1) for item in list(value)[:20])
        opening, closing = {tuple: "()", list: "[]"}.get(type(value), "{}")
        return f"{opening}{inside}{',' if type(value) is tuple and len(value) == 1 else ''}{closing}"
    if depth > 0 and type(value) is dict:
        return "{" + ", ".join(f"{_static(k, 0)}: {_static(v, depth - 1)}" for k, v in list(value.items())[:20]) + "}"
    if depth > 0 and dataclasses.is_dataclass(value):
        fields = [(f.name, value.__dict__.get(f.name)) for f in dataclasses.fields(value) if hasattr(value, "__dict__")]
        return f"{type(value).__name__}({', '.join(f'{n}={_static(v, depth - 1)}' for n, v in fields)})"
    return f"<{type(value).__name__}>"
