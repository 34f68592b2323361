"""Arrays as defaults, positional and keyword-only."""

import jax
import jax.numpy as jnp
import numpy as np

OFFSET, SCALE = np.linspace(0, 1, 64, dtype=np.float32), jnp.linspace(0, 1, 64)


@jax.jit
def shifted(x, offset=OFFSET):
    return x + offset


def scaled(x, *, scale=SCALE):
    return x * scale


def main():
    return shifted(jnp.ones(64)), jax.jit(lambda x: scaled(x))(jnp.ones(64))
