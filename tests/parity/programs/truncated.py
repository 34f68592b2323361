"""64-bit data while 64 bits are off: floats, integers, complex numbers."""

import jax
import jax.numpy as jnp
import numpy as np

FLOATS = np.random.default_rng(0).random((15, 15))
INTEGERS = np.arange(50) * (1 << 33)
COMPLEX = np.exp(1j * np.arange(20))


@jax.jit
def floats(x):
    return x @ FLOATS


@jax.jit
def integers(x):
    return x + INTEGERS


@jax.jit
def turned(x):
    return jnp.abs(x * COMPLEX)


@jax.jit
def by_call(x):
    return jnp.dot(x, jnp.asarray(FLOATS)) + jnp.array(FLOATS[0])


def main():
    return floats(jnp.ones((2, 15))), integers(jnp.arange(50)), turned(jnp.ones(20)), by_call(jnp.ones((2, 15)))
