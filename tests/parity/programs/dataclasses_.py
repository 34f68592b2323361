"""Fields of dataclasses and named tuples that a closure holds."""

import dataclasses
import typing

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass
class Optics:
    kernel: np.ndarray
    gain: float = 2.0


class Pair(typing.NamedTuple):
    left: jax.Array
    right: jax.Array


OPTICS = Optics(np.random.default_rng(0).random((18, 18), dtype=np.float32))
PAIR = Pair(jnp.arange(18.0), jnp.arange(18.0) + 1)


@jax.jit
def blur(x):
    return (OPTICS.kernel @ x) * OPTICS.gain + PAIR.right


def main():
    return blur(jnp.ones(18))
