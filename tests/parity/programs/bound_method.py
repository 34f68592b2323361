"""A bound method is jitted; its object holds the array."""

import jax
import jax.numpy as jnp
import numpy as np


class Whitener:
    def __init__(self, seed):
        self.basis = jnp.asarray(np.random.default_rng(seed).random((30, 30), dtype=np.float32))

    def project(self, x):
        return x @ self.basis


def main():
    one, two = Whitener(0), Whitener(1)
    x = jnp.ones((2, 30))
    return jax.jit(one.project)(x), jax.jit(two.project)(x)
