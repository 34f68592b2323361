"""What JAX itself writes into a lowered program: every array that becomes a constant of the module, seen as it does.

JAX turns a Python value into a constant by a table of handlers, one a type, on every version from 0.4.30 on. While
`watching`, the handlers of arrays are listened to: what counts is the type of the value in the module that came out of
them, and a digest of the elements that went in. No jaxpr is looked at, so that this owes nothing to the walk that it
checks. Where JAX passes constants as hidden leading arguments instead, those arguments, as JAX lists them, are the
constants. Arrays that JAX's own lowering rules make up (index tables, masks) come from other callers, and are left out.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import jax
import numpy as np
from jax._src import core
from jax._src.interpreters import mlir

Entry = tuple[tuple[int, ...], str, int, str]
"""Shape, dtype, bytes, digest of the elements."""

_DTYPES = {"i1": "bool", "bf16": "bfloat16", "complex<f32>": "complex64", "complex<f64>": "complex128"}
_ARRAYS = ("ndarray", "ArrayImpl", "PRNGKeyArray", "LiteralArray", "TypedNdArray")
_PASSING_ON = re.compile(r"<\w+>|_?ir_const\w*|safe_map|map|heard|handler|_\w*constant_handler\w*")
_OF_A_JAXPR = re.compile(r"lower_jaxpr_to_\w+|jaxpr_subcomp|read|\w*(while|cond|custom_\w+|pjit|jit|call)_?lowering\w*")


@dataclass
class Module:
    """One program that was lowered."""

    name: str
    constants: set[Entry] = field(default_factory=set)
    made_up: set[tuple[str, str]] = field(default_factory=set)
    """Type and caller of arrays that lowering rules made."""


@contextmanager
def watching() -> Iterator[list[Module]]:
    """Lists the programs that are lowered meanwhile."""
    modules: list[Module] = []
    running: list[Module] = []
    lower, handlers = mlir.lower_jaxpr_to_module, dict(mlir._constant_handlers)

    def lowered(name: str, *args: Any, **named: Any) -> Any:
        running.append(Module(name))
        modules.append(running[-1])
        if named.get("num_const_args", 0):
            running[-1].constants |= set(_hidden_arguments(args[0]))
        try:
            return lower(name, *args, **named)
        finally:
            running.pop()

    depth = 0

    def listening(handler: Callable[..., Any]) -> Callable[..., Any]:
        def heard(value: Any, *rest: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                result = handler(value, *rest)
            finally:
                depth -= 1
            if depth == 0 and running:
                _note(running[-1], value, result, sys._getframe(1))
            return result

        return heard

    kinds = [kind for kind in handlers if kind.__name__ in _ARRAYS]
    mlir.lower_jaxpr_to_module = lowered
    mlir._constant_handlers.update({kind: listening(handlers[kind]) for kind in kinds})
    try:
        yield modules
    finally:
        mlir.lower_jaxpr_to_module = lower
        mlir._constant_handlers.update(handlers)


def _hidden_arguments(closed: Any) -> Iterator[Entry]:
    for value, aval in core.jaxpr_const_args(getattr(closed, "jaxpr", closed)):
        yield entry(*physical(tuple(aval.shape), aval.dtype, value))


def physical(shape: tuple[int, ...], dtype: Any, value: Any) -> tuple[tuple[int, ...], str, Any]:
    """A constant as it stands in the module: random keys are arrays of words there."""
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
        return value.shape, str(value.dtype), value
    return shape, str(dtype), value


def _note(module: Module, value: Any, result: Any, frame: FrameType | None) -> None:
    one = result[0] if isinstance(result, (tuple, list)) else result
    sides = re.fullmatch(r"tensor<((?:\d+x)*)(.+)>", str(one.type))
    if sides is None or not sides[1]:
        return
    while frame is not None and _PASSING_ON.fullmatch(frame.f_code.co_name):
        frame = frame.f_back
    caller = frame.f_code.co_name if frame is not None else ""
    if not _OF_A_JAXPR.fullmatch(caller):
        module.made_up.add((str(one.type), caller))
        return
    shape = tuple(int(side) for side in sides[1].split("x")[:-1])
    module.constants.add(entry(shape, _dtype(sides[2]), value))


def _dtype(element: str) -> str:
    kind = re.fullmatch(r"(f|ui|i)(\d+)", element)
    if element in _DTYPES or kind is None:
        return _DTYPES.get(element) or element.lower().replace("f8", "float8_", 1)
    return {"f": "float", "ui": "uint", "i": "int"}[kind[1]] + kind[2]


def entry(shape: tuple[int, ...], dtype: str, value: Any) -> Entry:
    """A constant with the elements of `value`, as `dtype`."""
    value = getattr(value, "val", value)
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    elements = np.asarray(value)
    if str(elements.dtype) != dtype:
        with np.errstate(all="ignore"):
            elements = elements.astype(dtype)
    size = elements.size * elements.itemsize
    return shape, dtype, size, hashlib.sha256(np.ascontiguousarray(elements).tobytes()).hexdigest()[:12]
