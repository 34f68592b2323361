import argparse

import jax
import jax.numpy as jnp

parser = argparse.ArgumentParser()
options = parser.parse_args()
DATA = jnp.ones((1024, 1024))


@jax.jit
def step(w):
    return w @ DATA
