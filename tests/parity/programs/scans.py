"""Bodies of scan, map and associative_scan; one body scanned at two places."""

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((10, 10), dtype=np.float32))
STEPS = np.random.default_rng(1).random((5, 10), dtype=np.float32)
GAINS = np.arange(10, dtype=np.float32)


def body(carry, step):
    return jnp.tanh(carry @ W + step), carry * GAINS


@jax.jit
def run(x):
    last, seen = jax.lax.scan(body, x, STEPS)
    again, _ = jax.lax.scan(body, last, STEPS[::-1], reverse=True)
    return again, seen


@jax.jit
def mapped(x):
    return jax.lax.map(lambda row: row @ W, x) + jax.lax.associative_scan(lambda a, b: a * b + GAINS, x)


def main():
    return run(jnp.ones(10)), mapped(jnp.ones((4, 10)))
