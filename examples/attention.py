"""One attention block whose weights were left in the module. Try `jaxscope: Open Panel` with the cursor in `block`."""

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HEADS, LENGTH = 512, 8, 128
RANDOM = np.random.default_rng(0)


def weights(rows, columns):
    """Random weights, scaled so that activations keep their size."""
    return jnp.asarray(RANDOM.standard_normal((rows, columns), np.float32) / np.sqrt(np.float32(rows)))


QKV = weights(WIDTH, 3 * WIDTH)
PROJECTION = weights(WIDTH, WIDTH)
UP = weights(WIDTH, 4 * WIDTH)
DOWN = weights(4 * WIDTH, WIDTH)


def normalize(x, scale):
    """Root-mean-square norm over the last axis."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def attend(x):
    """Self-attention over the middle axis."""
    q, k, v = jnp.split(x @ QKV, 3, axis=-1)
    q, k, v = (jnp.reshape(part, (*x.shape[:-1], HEADS, WIDTH // HEADS)) for part in (q, k, v))
    scores = jax.nn.softmax(jnp.einsum("blhd,bmhd->bhlm", q, k) / jnp.sqrt(WIDTH // HEADS))
    mixed = jnp.einsum("bhlm,bmhd->blhd", scores, v)
    return mixed.reshape(x.shape) @ PROJECTION


# jaxscope: f32[4,128,512], f32[512]
@jax.jit
def block(x, scale):
    """Attention, then the two-layer perceptron, each on a normalized copy of its input."""
    x = x + attend(normalize(x, scale))
    hidden = jax.nn.gelu(normalize(x, scale) @ UP)
    return x + hidden @ DOWN


def main():
    x = jax.random.normal(jax.random.key(4), (4, LENGTH, WIDTH))
    print("mean square:", float(jnp.mean(block(x, jnp.ones(WIDTH)) ** 2)))


if __name__ == "__main__":
    main()
