"""Programs that the tests open."""

WHITENER = """\
import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.random.default_rng(0).standard_normal((700, 700), np.float32))


# jaxscope: f32[3,700]
@jax.jit
def project(x):
    return x @ W


print(project(jnp.ones((3, 700))).sum())
"""

UNSIZED = """\
import jax
import jax.numpy as jnp
import numpy as np

W = jnp.asarray(np.load("weights.npy"))


@jax.jit
def project(x):
    return x @ W
"""
