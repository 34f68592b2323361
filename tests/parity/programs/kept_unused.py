"""`keep_unused` keeps what nobody uses."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

DEAD = jnp.asarray(np.random.default_rng(0).random((9, 9), dtype=np.float32))


@partial(jax.jit, keep_unused=True)
def kept(x, y):
    y @ DEAD
    return x + 1


def main():
    return kept(jnp.ones(9), jnp.ones(9))
