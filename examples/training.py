"""A training loop as scripts have them: `step` exists only while `train` runs, so that only a run knows its shapes.

`jaxscope record examples/training.py`, or *Record a run* over `step`, shows that it swallows its data set, `inputs`.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

FEATURES, ROWS = 16, 20_000


def train(steps, rate):
    """Fits a linear model by gradient descent and returns its weights."""
    rng = np.random.default_rng(0)
    inputs = jnp.asarray(rng.standard_normal((ROWS, FEATURES), np.float32))
    targets = inputs @ jnp.arange(FEATURES, dtype=jnp.float32)

    @jax.jit
    def step(weights):
        def loss(weights):
            return jnp.mean((inputs @ weights - targets) ** 2)

        return weights - rate * jax.grad(loss)(weights)

    weights = jnp.zeros(FEATURES)
    for _ in range(steps):
        weights = step(weights)
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    steps = parser.parse_args().steps
    print(f"weights after {steps} steps:", train(steps, rate=0.1).round(2))


if __name__ == "__main__":
    main()
