"""Comprehensions, generators and lambdas inside the traced function read the arrays."""

import jax
import jax.numpy as jnp
import numpy as np

ROWS = np.random.default_rng(0).random((4, 15), dtype=np.float32)
EXTRA = [jnp.arange(15.0) + k for k in range(3)]


@jax.jit
def summed(x):
    parts = [x * row for row in ROWS]
    return sum(parts) + sum(e @ x for e in EXTRA) + (lambda v: v - ROWS[0])(x)


def main():
    return summed(jnp.ones(15))
