"""Helpers two and three levels away read globals and hand arrays on."""

import jax
import jax.numpy as jnp
import numpy as np

BASIS = np.random.default_rng(0).random((14, 14), dtype=np.float32)
PHASES = {"inner": jnp.arange(14.0)}


def deepest(x, basis):
    return x @ basis + PHASES["inner"]


def deeper(x):
    return deepest(x, BASIS)


def deep(x):
    return deeper(x) + deeper(x * 2)


@jax.jit
def top(x):
    return deep(x)


def main():
    return top(jnp.ones((2, 14)))
