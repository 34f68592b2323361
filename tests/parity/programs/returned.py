"""Arrays that are only returned, stored or compared, and one that a transpose of shapes reads."""

import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.random.default_rng(0).random(21, dtype=np.float32)
OTHER = jnp.arange(21.0)


@jax.jit
def output(x):
    return x + 1, TABLE, OTHER


@jax.jit
def only_its_shape(x):
    return x.reshape(TABLE.shape) + TABLE.ndim


def main():
    return output(1.0), only_its_shape(jnp.ones((3, 7)))
