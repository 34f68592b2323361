"""Branches of cond and switch, with arrays of their own and a common one."""

import jax
import jax.numpy as jnp
import numpy as np

COMMON = np.random.default_rng(0).random((7, 7), dtype=np.float32)
LEFT = jnp.arange(49.0).reshape(7, 7)
RIGHT = np.random.default_rng(1).random((7, 7), dtype=np.float32)


@jax.jit
def either(x):
    return jax.lax.cond(x.sum() > 0, lambda y: y @ LEFT + COMMON, lambda y: y @ RIGHT + COMMON, x)


@jax.jit
def one_of(i, x):
    return jax.lax.switch(i, [lambda y: y, lambda y: y + LEFT, lambda y: y @ RIGHT], x) @ COMMON


@jax.jit
def nested(x):
    return jax.lax.cond(x[0, 0] > 0, lambda y: jax.jit(lambda z: z + RIGHT)(y), lambda y: y, x)


def main():
    x = jnp.ones((7, 7))
    return either(x), one_of(1, x), nested(x)
