"""The small differences are gone: JAX halves 64-bit numbers where x64 is off, and says nothing."""

import jax
import jax.numpy as jnp
import numpy as np

LEVELS = np.array([1.0, 1.0 + 1e-10, 1.0 + 2e-10])


@jax.jit
def gaps(scale):
    return scale * jnp.diff(jnp.asarray(LEVELS))


def main():
    print("gaps:", gaps(1e10))


if __name__ == "__main__":
    main()
