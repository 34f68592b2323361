"""grad, value_and_grad, vjp, jvp, hessian and vmap of functions with constants."""

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((6, 6), dtype=np.float32))
DATA = np.random.default_rng(1).random((10, 6), dtype=np.float32)


def loss(w):
    return jnp.mean((DATA @ (w * W).sum(0)) ** 2)


def main():
    w = jnp.ones((6, 6))
    row = jnp.ones(6)
    return (
        jax.jit(jax.grad(loss))(w),
        jax.jit(jax.value_and_grad(loss))(w),
        jax.jit(lambda v: jax.vjp(loss, v)[1](1.0))(w),
        jax.jit(lambda v: jax.jvp(loss, (v,), (v,)))(w),
        jax.jit(jax.hessian(lambda v: jnp.sum(jnp.sin(DATA @ v))))(row),
        jax.jit(jax.vmap(lambda v: v @ W))(DATA),
        jax.jit(jax.vmap(lambda v, u: v @ u, in_axes=(0, None)))(DATA, W),
    )
