"""checkpoint, alone and under grad, with a policy, and with a jitted function in it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).random((12, 12), dtype=np.float32))
B = np.random.default_rng(1).random(12, dtype=np.float32)


@jax.jit
def project(x):
    return x @ W


@jax.checkpoint
def block(x):
    return jnp.tanh(project(x) + B)


@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def other(x):
    return jnp.sin(x @ W)


@jax.jit
def forward(x):
    return block(other(x))


def main():
    x = jnp.ones((2, 12))
    return forward(x), jax.jit(jax.grad(lambda v: forward(v).sum()))(x)
