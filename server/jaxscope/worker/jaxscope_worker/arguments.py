"""Arguments to time a program with, made on the device from their avals.

Zeros would hide the cost of denormals, NaN checks and sparsity, and repeated values that of caches; random numbers cost
more to make than most programs to run. So each element is a hash of its position: never zero, hardly ever repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import jax_compat

_INTEGERS = 7
"""Integers are 1 to this: they are sizes, indices and labels more often than data."""


def make(avals: Sequence[Any], shardings: Sequence[Any] | None = None) -> list[Any]:
    """One array for each aval, on the default device or as `shardings` say (None for those left to JAX)."""
    wanted = list(shardings) if shardings is not None else [None] * len(avals)
    plain = [i for i, aval in enumerate(avals) if not _is_key(aval.dtype) and aval.dtype != jax.dtypes.float0]
    options: dict[str, Any] = {}
    if any(wanted[i] is not None for i in plain):
        options["out_shardings"] = tuple(wanted[i] for i in plain)

    def fill(seed: Any) -> tuple[Any, ...]:
        return tuple(_values(avals[i].shape, avals[i].dtype, seed + np.uint32(i)) for i in plain)

    # The seed is an argument, so that XLA cannot compute the arrays while it compiles.
    made = dict(zip(plain, jax.jit(fill, **options)(np.uint32(20)), strict=False))
    return [made[i] if i in made else _special(aval, i) for i, aval in enumerate(avals)]


def _is_key(dtype: Any) -> bool:
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def _special(aval: Any, seed: int) -> Any:
    if not _is_key(aval.dtype):
        return np.zeros(aval.shape, aval.dtype)  # float0 holds nothing
    name = str(aval.dtype).partition("<")[2].rstrip(">")
    key = jax.random.key(seed, impl=jax_compat.GENERATORS.get(name, name))
    return jax.random.split(key, tuple(aval.shape)) if aval.shape else key


def _values(shape: tuple[int, ...], dtype: Any, seed: Any) -> Any:
    bits = _hash(shape, seed)
    if dtype == np.bool_:
        return (bits & 1).astype(dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        largest = min(_INTEGERS, int(jnp.iinfo(dtype).max))
        return (1 + (bits >> 8) % np.uint32(largest)).astype(np.int32).astype(dtype)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return (_signed(bits) + 1j * _signed(_mixed(bits))).astype(dtype)
    return _signed(bits).astype(dtype)


def _signed(bits: Any) -> Any:
    """Between 1/4 and 1 in size, of either sign: no type of float rounds that to zero."""
    size = 0.25 + 0.75 * (bits >> 9).astype(np.float32) * np.float32(2.0**-23)
    return jnp.where(bits & 1, size, -size)


def _hash(shape: tuple[int, ...], seed: Any) -> Any:
    position = jnp.full(shape, 1, np.uint32) * seed
    stride = 1
    for axis in reversed(range(len(shape))):
        position += jax.lax.broadcasted_iota(np.uint32, shape, axis) * np.uint32(stride % 2**32)
        stride *= shape[axis]
    return _mixed(position)


def _mixed(bits: Any) -> Any:
    """Spreads neighbouring integers over all 32 bits (multiply and shift, invertible)."""
    bits = (bits ^ (bits >> 16)) * np.uint32(0x7FEB352D)
    bits = (bits ^ (bits >> 15)) * np.uint32(0x846CA68B)
    return bits ^ (bits >> 16)
