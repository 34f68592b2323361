"""Traced to look at only: shapes, a jaxpr; then traced in earnest."""

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((9, 9), dtype=np.float32))


@jax.jit
def f(x):
    return x @ W


@jax.jit
def g(x):
    return x - W


def main():
    jax.eval_shape(f, jnp.ones((2, 9)))
    jax.make_jaxpr(f)(jnp.ones((3, 9)))
    jax.eval_shape(g, jnp.ones((9, 9)))
    return f(jnp.ones((2, 9))), f(jnp.ones((4, 9)))
