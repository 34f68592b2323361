"""Look-ups: arrays as what is indexed and as the index, in gathers and scatters."""

import jax
import jax.numpy as jnp
import numpy as np

EMBEDDING = jnp.asarray(np.random.default_rng(0).random((30, 6), dtype=np.float32))
ORDER = np.random.default_rng(1).permutation(30)
SEGMENTS = np.repeat(np.arange(10), 3)


@jax.jit
def look_up(ids):
    return EMBEDDING[ids]


@jax.jit
def shuffled(x):
    return x[ORDER].at[ORDER[:9]].add(1.0)


@jax.jit
def summed(x):
    return jax.ops.segment_sum(x, SEGMENTS, num_segments=10)


def main():
    return look_up(jnp.arange(4)), shuffled(jnp.ones(30)), summed(jnp.ones(30))
