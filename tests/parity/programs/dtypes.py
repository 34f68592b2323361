"""Narrow, packed, boolean and complex elements."""

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(0)
VALUES = RNG.integers(-7, 7, (8, 20))
BFLOAT16 = jnp.asarray(VALUES, jnp.bfloat16)
HOST_BFLOAT16 = VALUES.astype(jnp.bfloat16)
INT4 = jnp.asarray(VALUES, jnp.int4)
FLOAT8 = jnp.asarray(VALUES, jnp.float8_e4m3fn)
BOOL = VALUES > 0
COMPLEX = (VALUES + 1j * VALUES[::-1]).astype(np.complex64)
BYTES = VALUES.astype(np.uint8)
HALF = VALUES.astype(np.float16)
SHORT = jnp.asarray(VALUES, jnp.int16)


@jax.jit
def all_of_them(x):
    total = x + BFLOAT16.astype(jnp.float32) + HOST_BFLOAT16 + INT4.astype(jnp.float32)
    total = total + FLOAT8.astype(jnp.float32) + jnp.where(BOOL, 1.0, 2.0) + jnp.abs(COMPLEX)
    return total + BYTES + HALF + SHORT


def main():
    return all_of_them(jnp.ones((8, 20)))
