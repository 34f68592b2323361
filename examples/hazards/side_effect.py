"""The line is printed once, with tracers in it: Python runs while JAX traces, and not again."""

import jax
import jax.numpy as jnp


@jax.jit
def loss(weights, x):
    error = x @ weights - 1.0
    print("error:", error)
    return jnp.mean(error**2)


def main():
    for scale in (1.0, 2.0):
        loss(jnp.full(3, scale), jnp.ones((2, 3)))


if __name__ == "__main__":
    main()
