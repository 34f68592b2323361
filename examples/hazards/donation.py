"""Parameters and momentum exist twice while a step runs: what goes in is replaced, and could be given away."""

import jax
import jax.numpy as jnp


def loss(params, x):
    return jnp.mean((jnp.tanh(x @ params) - x) ** 2)


@jax.jit
def train_step(params, momentum, x):
    momentum = 0.9 * momentum + jax.grad(loss)(params, x)
    return params - 0.1 * momentum, momentum


def main():
    params = jnp.eye(512)
    momentum = jnp.zeros((512, 512))
    for _ in range(5):
        params, momentum = train_step(params, momentum, jnp.ones((8, 512)))
    print("trace of the parameters:", float(jnp.trace(params)))


if __name__ == "__main__":
    main()
