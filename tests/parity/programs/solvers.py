"""Library functions that jit by themselves: linear algebra, FFT, interpolation, optimisation, convolution."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg

MATRIX = np.eye(10, dtype=np.float32) * 3 + np.random.default_rng(0).random((10, 10), dtype=np.float32) * 0.01
KERNEL = jnp.arange(12.0)
KNOTS = np.linspace(0, 1, 16, dtype=np.float32)


@jax.jit
def solved(b):
    return jnp.linalg.solve(MATRIX, b) + cg(lambda v: MATRIX @ v, b)[0]


@jax.jit
def filtered(x):
    return jnp.convolve(x, KERNEL) + jnp.fft.ifft(jnp.fft.fft(x, 43)).real


@jax.jit
def interpolated(x):
    return jnp.interp(x, KNOTS, KNOTS**2) + jnp.polyval(KERNEL, x) + jnp.searchsorted(KNOTS, x)


def main():
    return solved(jnp.ones(10)), filtered(jnp.ones(32)), interpolated(jnp.ones(20))
