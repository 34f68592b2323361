import jax
import jax.numpy as jnp
import numpy as np

BASIS = jnp.asarray(np.random.default_rng(0).standard_normal((700, 700), np.float32))
SHIFT = jnp.asarray(np.zeros((8,), np.float32))


# jaxscope: f32[32,700]
@jax.jit
def whiten(batch):
    centred = batch - batch.mean(axis=0)
    return centred @ BASIS


@jax.jit
def scale(batch):
    return batch * 2.0


# jaxscope: f32[5], f32[6]
@jax.jit
def add(a, b):
    return a + b
