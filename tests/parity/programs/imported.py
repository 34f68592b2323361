"""Arrays of other modules, by name, by attribute and by helpers there."""

import jax
import jax.numpy as jnp
from modules import tables
from modules.tables import WEIGHTS, weighed


@jax.jit
def by_name(x):
    return x + WEIGHTS


@jax.jit
def by_attribute(x):
    return x + tables.MASK


@jax.jit
def by_helper(x):
    return weighed(x)


@jax.jit
def by_jitted(x):
    return tables.jitted(x) * 2


def main():
    x = jnp.ones((16, 16))
    return by_name(x), by_attribute(x), by_helper(x), by_jitted(x), tables.jitted(x)
