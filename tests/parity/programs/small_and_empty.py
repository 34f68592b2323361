"""Arrays without elements, scalars, and arrays around 33 bytes."""

import jax
import jax.numpy as jnp
import numpy as np

EMPTY = np.zeros((0, 7), np.float32)
SCALAR = jnp.float32(3.0)
BELOW = np.arange(8, dtype=np.float32)
AT = np.arange(33, dtype=np.uint8)
ABOVE = np.arange(9, dtype=np.float32)


@jax.jit
def mixed(x):
    return jnp.concatenate([x, EMPTY]) * SCALAR + BELOW.sum() + jnp.asarray(AT).sum() + (ABOVE * x[0, 0]).sum()


def main():
    return mixed(jnp.ones((2, 7)))
