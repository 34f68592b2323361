import jax.numpy as jnp

KNOTS = jnp.zeros((300_000,))
