"""Arrays of equal elements, with and without strides of zero."""

import jax
import jax.numpy as jnp
import numpy as np

ONES = jnp.ones((13, 17))
ZEROS = np.zeros((13, 17), np.float32)
SPREAD = np.broadcast_to(np.float32(3), (13, 17))
ROW = np.broadcast_to(np.arange(17, dtype=np.float32), (13, 17))


@jax.jit
def summed(x):
    return x + ONES + ZEROS + SPREAD + ROW


def main():
    return summed(jnp.ones((13, 17)))
