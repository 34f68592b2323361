"""Results that nobody uses: JAX drops the equations, and the constants that only they read."""

import jax
import jax.numpy as jnp
import numpy as np

DEAD = jnp.asarray(np.random.default_rng(0).random((9, 9), dtype=np.float32))
ALIVE = np.random.default_rng(1).random(9, dtype=np.float32)
HALF = np.random.default_rng(2).random(9, dtype=np.float32)


@jax.jit
def unused(x):
    x @ DEAD
    return x + ALIVE


@jax.jit
def pair(x):
    return x * ALIVE, x @ DEAD


@jax.jit
def one_of_pair(x):
    return pair(x)[0]


@jax.jit
def in_scan(x):
    def body(carry, _):
        return carry * HALF, carry @ DEAD

    return jax.lax.scan(body, x, None, length=3)[0]


@jax.jit
def in_remat(x):
    return jax.checkpoint(lambda y: (y * HALF, y @ DEAD))(x)[0]


@jax.jit
def in_cond(x):
    return jax.lax.cond(x.sum() > 0, lambda y: (y * HALF, y @ DEAD), lambda y: (y, y @ DEAD), x)[0]


@jax.jit
def in_while(x):
    def body(state):
        return state[0] * HALF, state[1] @ DEAD

    return jax.lax.while_loop(lambda state: state[0].sum() < 3, body, (x, x))[0]


@jax.jit
def printed(x):
    jax.debug.callback(lambda y: None, x @ DEAD)
    return x


def main():
    x = jnp.ones(9)
    return unused(x), pair(x), one_of_pair(x), in_scan(x), in_remat(x), in_cond(x), in_while(x), printed(x)
