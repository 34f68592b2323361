"""One array in three functions and many signatures."""

import jax
import jax.numpy as jnp
import numpy as np

SHARED = np.random.default_rng(0).random(32, dtype=np.float32)


@jax.jit
def plus(x):
    return x + SHARED


@jax.jit
def times(x):
    return x * SHARED * SHARED[0]


@jax.jit
def both(x):
    return plus(x) - times(x)


def main():
    for rows in (1, 2, 3):
        plus(jnp.ones((rows, 32)))
    times(jnp.ones(32, jnp.bfloat16))
    return both(jnp.ones(32)), plus(jnp.ones(32))
