"""jit under jit: made while the outer one is traced, with constants of both and values of the outer trace."""

import jax
import jax.numpy as jnp
import numpy as np

A = np.random.default_rng(0).random((9, 9), dtype=np.float32)
B = jnp.asarray(np.random.default_rng(1).random((9, 9), dtype=np.float32))


@jax.jit
def outer(x):
    y = x @ A
    made = np.linspace(0, 1, 81, dtype=np.float32).reshape(9, 9)

    @jax.jit
    def inner(z):
        return z @ B + y + made

    return inner(x) + jax.jit(lambda z: z @ A)(y)


def main():
    return outer(jnp.ones((9, 9)))
