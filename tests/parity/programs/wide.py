"""64-bit data while 64 bits are on."""

import jax
import jax.numpy as jnp
import numpy as np

FLOATS = np.random.default_rng(0).random((15, 15))
INTEGERS = np.arange(50) * (1 << 33)


def main():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        floats = jax.jit(lambda x: x @ FLOATS)(jnp.ones((2, 15)))
        return floats, jax.jit(lambda x: x + INTEGERS)(jnp.arange(50))
    finally:
        jax.config.update("jax_enable_x64", before)
