"""Variables of enclosing functions, one and three levels out."""

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(1)


def outer(scale):
    table = jnp.asarray(RNG.random((20, 20), dtype=np.float32)) * scale

    def middle(offsets):
        def inner(x):
            return x @ table + offsets

        return inner

    return middle(RNG.random(20, dtype=np.float32))


def main():
    step = jax.jit(outer(2.0))
    x = jnp.ones((4, 20))
    return step(x), jax.jit(lambda y: step(y) - x)(x)
