"""Constants beside arguments that nobody uses, donated arguments, and an identity."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

W = np.random.default_rng(0).random((10, 10), dtype=np.float32)


@jax.jit
def ignoring(x, unused):
    return x @ W


@partial(jax.jit, donate_argnums=0)
def update(state, x):
    return state + x @ W


@jax.jit
def same(x):
    return x


def main():
    x = jnp.ones((2, 10))
    return ignoring(x, jnp.ones(1000)), update(jnp.ones((2, 10)), x), same(x)
