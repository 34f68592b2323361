"""Callbacks to Python get arrays, and hold some that are no constants of the program."""

import jax
import jax.numpy as jnp
import numpy as np

GIVEN = np.random.default_rng(0).random(19, dtype=np.float32)
HELD = np.random.default_rng(1).random(19, dtype=np.float32)


@jax.jit
def called_back(x):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda a, b: np.asarray(a) + HELD, shape, x, GIVEN)


def main():
    return called_back(jnp.ones(19))
