"""A loop that jits anew: the same function, a new lambda, a new array every time."""

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((9, 9), dtype=np.float32))


def step(x):
    return x @ W


def main():
    x = jnp.ones((2, 9))
    for number in range(12):
        table = jnp.asarray(np.random.default_rng(number).random(9, dtype=np.float32))
        x = jax.jit(lambda v: v * table)(x)  # noqa: B023
        x = jax.jit(step)(x)
    return x
