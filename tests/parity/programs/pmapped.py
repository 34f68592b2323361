"""pmap over simulated devices."""

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((10, 10), dtype=np.float32))
DEAD = np.arange(10, dtype=np.float32) * 3
OFFSETS = np.arange(10, dtype=np.float32)


@jax.pmap
def step(x):
    x * DEAD
    return x @ W + OFFSETS


def main():
    return step(jnp.ones((2, 3, 10)))
