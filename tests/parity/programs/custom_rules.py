"""custom_jvp and custom_vjp, plain and differentiated, with constants in the functions and in their rules."""

import jax
import jax.numpy as jnp
import numpy as np

KNOTS = np.random.default_rng(0).random(25, dtype=np.float32)
SLOPES = jnp.asarray(np.random.default_rng(1).random(25, dtype=np.float32))


@jax.custom_jvp
def spline(x):
    return x * KNOTS


@spline.defjvp
def spline_jvp(primals, tangents):
    return spline(primals[0]), tangents[0] * SLOPES


@jax.custom_vjp
def clipped(x):
    return x + KNOTS


def clipped_forward(x):
    return clipped(x), x


def clipped_backward(x, cotangent):
    return (cotangent * SLOPES * x,)


clipped.defvjp(clipped_forward, clipped_backward)


@jax.jit
def plain(x):
    return spline(x) + clipped(x)


@jax.jit
def loss(x):
    return (spline(x) * clipped(x)).sum()


def main():
    x = jnp.ones(25)
    slope = jax.jit(jax.grad(loss))
    return plain(x), loss(x), slope(x), jax.jit(lambda v: jax.jvp(spline, (v,), (v,)))(x)
