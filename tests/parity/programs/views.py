"""Views of one array: transposed, sliced, reversed, of another dtype, broadcast."""

import jax
import jax.numpy as jnp
import numpy as np

N = np.random.default_rng(0).random((20, 30), dtype=np.float32)


@jax.jit
def views(x):
    return x @ N.T + N[3, :20] + N[::2, ::3].sum() + (N.view(np.int32) & 1).sum()


@jax.jit
def spread(x):
    return x + np.broadcast_to(N[0], (4, 30))


def main():
    return views(jnp.ones((2, 30))), spread(jnp.ones((4, 30)))
