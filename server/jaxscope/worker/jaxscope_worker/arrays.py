"""Constant arrays: which are the same, how large they are. Looks at addresses and shapes, hardly ever at data."""

from __future__ import annotations

import functools
import itertools
import math
import weakref
from typing import Any

import numpy as np

from . import jax_compat

SAMPLE = 64
"""Elements that are compared where identity was lost."""


def key_of(value: Any) -> tuple[Any, ...]:
    """Equal for the same array. A host array is its memory and layout: JAX may hold a view of it, not itself."""
    value = jax_compat.unwrapped(value)
    if isinstance(value, np.ndarray):
        return ("np", value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str)
    return ("id", id(value))


_numbers = itertools.count(1)
_numbered: dict[int, tuple[weakref.ref[Any], int]] = {}


def number_of(value: Any) -> int:
    """Equal for the same array object, and for no other that this process ever had; 0 where that cannot be."""
    value = jax_compat.unwrapped(value)
    reference, number = _numbered.get(id(value), (None, 0))
    if reference is not None and reference() is value:
        return number
    try:
        _numbered[id(value)] = (weakref.ref(value, functools.partial(_gone, id(value))), number := next(_numbers))
    except TypeError:
        return 0
    return number


def _gone(key: int, reference: weakref.ref[Any]) -> None:
    if _numbered.get(key, (None, 0))[0] is reference:
        del _numbered[key]


def size_of(shape: tuple[int, ...], dtype: Any) -> int:
    """Bytes of an array. A key array counts its words."""
    itemsize = getattr(dtype, "itemsize", None) or 8
    return math.prod(shape) * int(itemsize)


def base_range(value: np.ndarray) -> tuple[int, int]:
    """Addresses of the memory that `value` is a view of: first byte, and one past the last."""
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    low, high = np.lib.array_utils.byte_bounds(base) if hasattr(np.lib, "array_utils") else np.byte_bounds(base)
    return int(low), int(high)


def is_view(constant: Any, candidate: Any) -> bool:
    """Does the host array `constant` show memory of `candidate`?"""
    constant, candidate = jax_compat.unwrapped(constant), jax_compat.unwrapped(candidate)
    if not (isinstance(constant, np.ndarray) and isinstance(candidate, np.ndarray)):
        return False
    if not isinstance(constant.base, np.ndarray) or constant.size == 0 or candidate.size == 0:
        return False
    low, high = base_range(candidate)
    at = constant.__array_interface__["data"][0]
    return low <= at < high and candidate.nbytes >= constant.nbytes


def same_values(constant: Any, candidate: Any) -> bool:
    """May `constant` be a copy of the host array `candidate`, narrowed from 64 bits or not? Compares 64 elements."""
    constant, candidate = jax_compat.unwrapped(constant), jax_compat.unwrapped(candidate)
    if not (isinstance(constant, np.ndarray) and isinstance(candidate, np.ndarray)):
        return False
    if constant.dtype.kind != candidate.dtype.kind:
        return False
    if constant.dtype != candidate.dtype and candidate.dtype.itemsize != 2 * constant.dtype.itemsize:
        return False
    return same_when_cast(constant, candidate)


def same_when_cast(constant: Any, candidate: Any) -> bool:
    """May `constant` be the host array `candidate` in a dtype that was asked for? Compares 64 elements."""
    constant, candidate = jax_compat.unwrapped(constant), jax_compat.unwrapped(candidate)
    if not (isinstance(constant, np.ndarray) and isinstance(candidate, np.ndarray)):
        return False
    if constant.shape != candidate.shape or (candidate.dtype.kind == "c" and constant.dtype.kind != "c"):
        return False
    try:
        with np.errstate(all="ignore"):
            cast = sample(candidate).astype(constant.dtype)
        # bfloat16 and its like are no floats to NumPy, and have no NaN that it knows of.
        return bool(np.array_equal(sample(constant), cast, equal_nan=constant.dtype.kind in "fc"))
    except (TypeError, ValueError):
        return False


def sample(value: np.ndarray) -> np.ndarray:
    """Up to 64 elements, spread over the whole array."""
    if value.size <= SAMPLE:
        return value.ravel()
    return value.flat[:: max(1, value.size // SAMPLE)][:SAMPLE] if value.size < 1 << 16 else _spread(value)


def _spread(value: np.ndarray) -> np.ndarray:
    indices = np.unravel_index(np.linspace(0, value.size - 1, SAMPLE).astype(np.int64), value.shape)
    return value[indices]


def splat(value: Any) -> bool | None:
    """Are all elements equal? None where finding out would mean reading a large array."""
    value = jax_compat.unwrapped(value)
    if not isinstance(value, np.ndarray) or value.size == 0:
        return None
    if value.size <= SAMPLE:
        return bool((value == value.flat[0]).all())
    if all(stride == 0 or length == 1 for stride, length in zip(value.strides, value.shape, strict=True)):
        return True
    seen = sample(value)
    return None if bool((seen == seen[0]).all()) else False
