"""Tables that NumPy makes from shapes while the function is traced."""

import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def positions(x):
    length, width = x.shape
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(width) / width)
    table = np.sin(angles).astype(np.float32)
    return x + table + np.cos(angles).astype(np.float32)


@jax.jit
def staged(x):
    return x + jnp.arange(64.0) + jnp.ones((3, 64)).sum(0)


@jax.jit
def filled(x):
    return x + np.full((40,), 2.5, np.float32)


def main():
    return positions(jnp.ones((12, 8))), positions(jnp.ones((6, 8))), staged(jnp.ones(64)), filled(jnp.ones(40))
