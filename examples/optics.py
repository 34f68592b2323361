"""A lens model as a class. `self` is static, so every array that it holds is compiled in, once for each instance."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


class Lens:
    """A thin lens sampled on a square grid; `transfer` is what it does to a wave."""

    def __init__(self, samples, strength):
        axis = np.linspace(-1.0, 1.0, samples)
        radius = axis[:, None] ** 2 + axis[None, :] ** 2
        self.samples = samples
        self.transfer = jnp.asarray(np.exp(-1j * strength * radius), jnp.complex64)

    @partial(jax.jit, static_argnums=0)
    def focus(self, wave):
        """Intensity in the focal plane."""
        spectrum = jnp.fft.fft2(wave * self.transfer)
        return jnp.abs(jnp.fft.fftshift(spectrum)) ** 2


LENS = Lens(512, strength=40.0)
SPOT = LENS.focus(jnp.ones((LENS.samples, LENS.samples), jnp.complex64))


def main():
    print("brightest:", float(SPOT.max()), "of a mean of", float(SPOT.mean()))


if __name__ == "__main__":
    main()
