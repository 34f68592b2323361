"""A jitted function with its own constant: called twice, from two functions, alone, and with consts of its caller."""

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((11, 11), dtype=np.float32))
V = np.random.default_rng(1).random((11, 11), dtype=np.float32)


@jax.jit
def inner(x):
    return x @ W


@jax.jit
def twice(x):
    return inner(inner(x))


@jax.jit
def with_own(x):
    return inner(x) @ V + inner(x + W[0])


@jax.jit
def deeper(x):
    return with_own(x) - twice(x)


def main():
    x = jnp.ones((2, 11))
    return twice(x), with_own(x), deeper(x), inner(x), inner(jnp.ones((3, 11)))
