import argparse

import jax
import jax.numpy as jnp

DATA = jnp.zeros((512, 1024))


@jax.jit
def step(x):
    return x + DATA


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
options = parser.parse_args()
for _ in range(options.steps):
    step(jnp.ones((512, 1024)))
