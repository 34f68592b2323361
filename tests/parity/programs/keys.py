"""Random keys, old and new, alone and in arrays."""

import jax
import jax.numpy as jnp

OLD = jax.random.PRNGKey(0)
NEW = jax.random.key(1)
MANY = jax.random.split(jax.random.key(2), 9)
OLD_MANY = jax.random.split(jax.random.PRNGKey(3), 9)


@jax.jit
def noisy(x):
    return x + jax.random.normal(NEW, x.shape) + jax.random.uniform(OLD, x.shape)


@jax.jit
def many(x):
    draws = jax.vmap(lambda key: jax.random.normal(key, (3,)))
    return x + draws(MANY).sum() + draws(OLD_MANY).sum()


def main():
    return noisy(jnp.ones(5)), many(1.0)
