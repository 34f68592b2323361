import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.arange(600.0 * 700).reshape(600, 700), dtype=jnp.float32)
SMALL = np.arange(16.0)


@jax.jit
def project(x):
    return x @ W + SMALL[0]


def main():
    return project(jnp.ones((3, 600)))
