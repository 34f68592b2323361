"""Leaves of dicts, lists and tuples, whole and by index, few and many."""

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(0)
LAYERS = [
    {"w": jnp.asarray(RNG.random((10, 10), dtype=np.float32)), "b": RNG.random(10, dtype=np.float32)} for _ in "ab"
]
TABLES = tuple(RNG.random(40, dtype=np.float32) for _ in range(12))


@jax.jit
def network(x):
    for layer in LAYERS:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


@jax.jit
def third(x):
    return x + TABLES[3] + sum(TABLES)


@jax.jit
def whole(x):
    return jax.tree.map(lambda leaf: leaf * x, LAYERS)


def main():
    return network(jnp.ones((2, 10))), third(jnp.ones(40)), whole(2.0)
