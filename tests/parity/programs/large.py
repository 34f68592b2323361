"""Arrays at and around one MiB, so that the highest threshold sees something."""

import jax
import jax.numpy as jnp
import numpy as np

JUST_BELOW = np.arange((1 << 18) - 1, dtype=np.float32)
EXACTLY = jnp.arange(1 << 18, dtype=jnp.float32)
LARGER = np.random.default_rng(0).random((600, 700), dtype=np.float32)
LARGER64 = np.random.default_rng(0).random((600, 700))


@jax.jit
def three(x):
    return x + JUST_BELOW.sum() + (EXACTLY * x).sum() + (x * LARGER).sum() + jnp.asarray(JUST_BELOW * 2)[0]


@jax.jit
def narrowed(x):
    return LARGER64 * x


def main():
    return three(1.0), narrowed(2.0)
