"""Every round compiles the same code again: to JAX each lambda is a new function."""

import jax
import jax.numpy as jnp


def cool(state, rounds):
    for _ in range(rounds):
        state = jax.jit(lambda s: s / (1.0 + 0.25 * s))(state)
    return state


def main():
    print("after five rounds:", cool(jnp.ones(3), 5))


if __name__ == "__main__":
    main()
