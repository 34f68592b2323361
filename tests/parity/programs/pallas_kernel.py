"""A Pallas kernel, interpreted; the caller captures what the kernel gets."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

W = np.random.default_rng(0).random((16, 16), dtype=np.float32)


def kernel(x_ref, w_ref, o_ref):
    o_ref[...] = x_ref[...] * w_ref[...] + 1.0


@jax.jit
def scaled(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x, W)


def main():
    return scaled(jnp.ones((16, 16)))
