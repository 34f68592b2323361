"""Integers that a program computes from nothing but its own constants and that do not fit into its 32 bits.

JAX wraps them around without a word. They are computed here a second time, exactly, and compared where they are used:
what a `select_n` throws away may overflow as it likes. Unsigned numbers wrap on purpose.
"""

from __future__ import annotations

import operator
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import jax_compat, walking
from .sources import UserFiles
from .wire.overflow import Overflow

_MOST = 1024
"""Elements of an array that is computed."""
_WIDEST = 1 << 20
"""Bits of a number that is computed."""
_SAME_TWICE: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "max": np.maximum,
    "min": np.minimum,
    "shift_right_logical": lambda x, by: x >> by,
    "shift_left": lambda x, by: x << by,
    "pow": operator.pow,
}


@dataclass(frozen=True)
class _Known:
    """What a variable holds, in arrays of Python's integers."""

    exact: Any
    wrapped: Any
    """As the program has it."""


def overflows(closed: Any, files: UserFiles) -> tuple[Overflow, ...]:
    """Those of a closed jaxpr, each with the user's line that computes it."""
    search = _Search(files)
    try:
        search.enter(closed, ())
    except Exception as fault:  # a mistake of ours; what else was seen in the trace counts
        traceback.print_exception(fault)
    return tuple(search.found.values())


class _Search:
    def __init__(self, files: UserFiles) -> None:
        self.files = files
        self.found: dict[Any, Overflow] = {}

    def enter(self, jaxpr: Any, given: Sequence[_Known | None]) -> list[_Known | None]:
        """Goes through a jaxpr of whose arguments some are known; what is known of its results."""
        inner, constants = walking.parts(jaxpr)
        known = {var: _whole(value) for var, value in constants}
        known.update(zip(inner.invars, given, strict=False))
        made_by: dict[Any, Any] = {}
        for eqn in inner.eqns:
            operands = [_operand(atom, known) for atom in eqn.invars]
            results = self._equation(eqn, operands)
            for var, result in zip(eqn.outvars, results, strict=False):
                known[var] = result
                made_by[var] = eqn
            if all(result is None for result in results):
                self._used(eqn.invars, known, made_by)
        self._used(inner.outvars, known, made_by)
        return [_operand(atom, known) for atom in inner.outvars]

    def _equation(self, eqn: Any, operands: list[_Known | None]) -> list[_Known | None]:
        if eqn.primitive.name in ("pjit", "jit", "closed_call"):
            return self.enter(eqn.params.get("jaxpr") or eqn.params["call_jaxpr"], operands)
        bodies = [body for _, body in walking.nested(eqn)]
        for body in bodies:
            self.enter(body, ())
        if bodies or len(eqn.outvars) != 1 or any(one is None for one in operands):
            return [None] * len(eqn.outvars)
        aval = eqn.outvars[0].aval
        if not _is_small(aval):
            return [None]
        try:
            exact = _compute(eqn, [one.exact for one in operands if one is not None])
            wrapped = _compute(eqn, [one.wrapped for one in operands if one is not None])
        except (ArithmeticError, TypeError, ValueError):
            return [None]
        if exact is None or wrapped is None:
            return [None]
        inside = _in_dtype(wrapped, aval.dtype)
        return [_Known(inside if aval.dtype.kind != "i" else exact, inside)]

    def _used(self, atoms: Sequence[Any], known: dict[Any, _Known | None], made_by: dict[Any, Any]) -> None:
        for atom in atoms:
            value = None if hasattr(atom, "val") else known.get(atom)
            if value is None or atom not in made_by or str(atom.aval.dtype) != "int32":
                continue
            wrong = np.argwhere(value.exact != value.wrapped)
            place = self._place(made_by[atom]) if len(wrong) else None
            if place is not None:
                index = tuple(int(i) for i in wrong[0])
                one = Overflow(place, index, str(value.exact[index]), str(value.wrapped[index]), "int32")
                self.found.setdefault((place.path, place.line, place.column), one)

    def _place(self, eqn: Any) -> Any:
        for code, instruction in jax_compat.raw_frames(eqn):
            if self.files.owns(code.co_filename):
                return self.files.place(code, instruction)
        return None


def _is_small(aval: Any) -> bool:
    kind = getattr(getattr(aval, "dtype", None), "kind", "")
    return kind in "iub" and bool(kind) and int(np.prod(aval.shape)) <= _MOST


def _operand(atom: Any, known: dict[Any, _Known | None]) -> _Known | None:
    return _whole(atom.val) if hasattr(atom, "val") else known.get(atom)


def _whole(value: Any) -> _Known | None:
    value = jax_compat.unwrapped(value)
    if isinstance(value, (bool, int)) or (isinstance(value, (np.ndarray, np.generic)) and _is_small(value)):
        numbers = np.array(np.asarray(value).tolist(), dtype=object).reshape(np.shape(value))
        return _Known(numbers, numbers)
    return None


def _in_dtype(value: Any, dtype: Any) -> Any:
    if dtype.kind == "b":
        return value
    bits = dtype.itemsize * 8
    low = -(1 << (bits - 1)) if dtype.kind == "i" else 0
    return np.asarray((value - low) % (1 << bits) + low, dtype=object)


def _compute(eqn: Any, operands: list[Any]) -> Any:
    """The result of an equation; None for one that is not computed here."""
    name, params, aval = eqn.primitive.name, eqn.params, eqn.outvars[0].aval
    if any(abs(int(number)).bit_length() > _WIDEST for operand in operands for number in np.ravel(operand)):
        return None
    if name in _SAME_TWICE:
        made = _SAME_TWICE[name](*operands)
    elif name == "select_n" and len(operands) == 3:
        made = np.where(operands[0].astype(bool), operands[2], operands[1])
    elif name == "integer_pow" and params["y"] >= 0:
        made = operands[0] ** params["y"]
    elif name == "iota":
        sizes = [1] * len(aval.shape)
        sizes[params["dimension"]] = -1
        made = np.broadcast_to(np.arange(aval.shape[params["dimension"]]).astype(object).reshape(sizes), aval.shape)
    elif name == "broadcast_in_dim":
        sizes = [1] * len(aval.shape)
        for axis, size in zip(params["broadcast_dimensions"], operands[0].shape, strict=True):
            sizes[axis] = size
        made = np.broadcast_to(operands[0].reshape(sizes), aval.shape)
    elif name in ("reshape", "squeeze"):
        made = operands[0].reshape(aval.shape)
    elif name == "convert_element_type":
        made = operands[0] if aval.dtype.kind in "iu" else operands[0] != 0
    elif name == "slice":
        steps = params["strides"] or (1,) * len(aval.shape)
        made = operands[0][tuple(map(slice, params["start_indices"], params["limit_indices"], steps))]
    else:
        made = _along_axes(name, params, operands[0]) if operands else None
    return None if made is None else np.asarray(made, dtype=object).reshape(aval.shape)


def _along_axes(name: str, params: Any, operand: Any) -> Any:
    if name in ("reduce_sum", "reduce_prod"):
        reduce = np.add if name == "reduce_sum" else np.multiply
        return reduce.reduce(operand, axis=tuple(params["axes"]))
    if name in ("cumsum", "cumprod") and not params["reverse"]:
        return (np.add if name == "cumsum" else np.multiply).accumulate(operand, axis=params["axis"])
    return None
