"""A module global, of JAX and of NumPy, and one read by two functions under two signatures."""

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(0)
W = jnp.asarray(RNG.random((24, 24), dtype=np.float32))
N = RNG.random((24, 40), dtype=np.float32)


@jax.jit
def first(x):
    return x @ W


@jax.jit
def second(x):
    return (x @ W) @ N


def main():
    first(jnp.ones((2, 24)))
    first(jnp.ones((3, 24)))
    return second(jnp.ones((2, 24)))
