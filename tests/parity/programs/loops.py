"""Conditions and bodies of while and fori loops."""

import jax
import jax.numpy as jnp
import numpy as np

LIMITS = np.arange(9, 39, dtype=np.float32)
STEP = jnp.arange(30.0) + 1
DRIFT = np.random.default_rng(0).random((6, 30), dtype=np.float32)


@jax.jit
def until(x):
    return jax.lax.while_loop(lambda state: jnp.all(state < LIMITS), lambda state: state + STEP, x)


@jax.jit
def counted(x):
    return jax.lax.fori_loop(0, 6, lambda i, state: state + jnp.asarray(DRIFT)[i], x)


@jax.jit
def open_end(x, n):
    return jax.lax.fori_loop(0, n, lambda i, state: state * STEP, x)


@jax.jit
def batched(x):
    return jax.vmap(lambda row: jax.lax.while_loop(lambda s: s.sum() < LIMITS.sum(), lambda s: s + STEP, row))(x)


def main():
    return until(jnp.ones(30)), counted(jnp.ones(30)), open_end(jnp.ones(30), 3), batched(jnp.ones((2, 30)))
