"""`self` is a static argument, and another static argument holds an array."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


class Model:
    def __init__(self):
        self.weights = {"enc": jnp.asarray(np.random.default_rng(0).random((16, 24), dtype=np.float32)), "bias": 1.0}
        self.scale = np.random.default_rng(1).random(24, dtype=np.float32)

    @partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return x @ self.weights["enc"] * self.scale


class Table:
    def __init__(self, values):
        self.values = values


@partial(jax.jit, static_argnames=("table",))
def look_up(x, table):
    return x * table.values


def main():
    Model().apply(jnp.ones((2, 16)))
    return look_up(jnp.ones(50), table=Table(np.arange(50, dtype=np.float32)))
