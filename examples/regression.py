"""Nothing to find here: parameters and data are arguments, and what is left over is small."""

import jax
import jax.numpy as jnp

RATE = 0.1


def loss(params, x, y):
    """Mean squared error of a linear model."""
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


# jaxscope: {b: f32[], w: f32[64]}, f32[256,64], f32[256]
@jax.jit
def update(params, x, y):
    """One step of gradient descent."""
    slopes = jax.grad(loss)(params, x, y)
    return jax.tree.map(lambda value, slope: value - RATE * slope, params, slopes)


def main():
    x = jax.random.normal(jax.random.key(0), (256, 64))
    params = {"w": jnp.zeros(64), "b": jnp.zeros(())}
    y = x.sum(axis=1)
    for _ in range(50):
        params = update(params, x, y)
    print("loss:", float(loss(params, x, y)))


if __name__ == "__main__":
    main()
