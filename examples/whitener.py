"""A data-whitening step. Where jaxscope comes in: `BASIS` is a global, so it is compiled into `whiten`."""

import jax
import jax.numpy as jnp
import numpy as np

FEATURES = 700
BASIS = jnp.asarray(np.random.default_rng(0).standard_normal((FEATURES, FEATURES), np.float32)) / FEATURES**0.5


# jaxscope: f32[32,700]
@jax.jit
def whiten(batch):
    """Projects the centred rows of `batch` on the basis."""
    centred = batch - batch.mean(axis=0)
    return centred @ BASIS


def main():
    batch = jax.random.normal(jax.random.key(1), (32, FEATURES))
    print("spread after whitening:", float(whiten(batch).std()))


if __name__ == "__main__":
    main()
