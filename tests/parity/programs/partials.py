"""Arguments bound by partial, positional and named, NumPy's and JAX's."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


def apply(params, x, mask):
    return x @ params["w"] * mask


PARAMS = {"w": np.random.default_rng(0).random((12, 15), dtype=np.float32)}


def main():
    step = jax.jit(partial(apply, PARAMS, mask=jnp.arange(15.0)))
    return step(jnp.ones((3, 12)))
