"""Arrays of another module, and helpers that read them."""

import jax
import jax.numpy as jnp
import numpy as np

MASK = np.tril(np.ones((16, 16), np.float32)) + np.arange(16, dtype=np.float32)
WEIGHTS = jnp.asarray(np.random.default_rng(5).random((16, 16), dtype=np.float32))


def masked(x):
    return x * MASK


def weighed(x):
    return masked(x) @ WEIGHTS


@jax.jit
def jitted(x):
    return x - WEIGHTS
