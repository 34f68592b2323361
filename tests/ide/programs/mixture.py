import jax
import jax.numpy as jnp
import numpy as np

W0 = jnp.asarray(np.ones((1024, 512), np.float32))
W1 = jnp.asarray(np.ones((1024, 513), np.float32))
W2 = jnp.asarray(np.ones((1024, 514), np.float32))
W3 = jnp.asarray(np.ones((1024, 515), np.float32))
W4 = jnp.asarray(np.ones((1024, 516), np.float32))
W5 = jnp.asarray(np.ones((1024, 517), np.float32))
W6 = jnp.asarray(np.ones((1024, 518), np.float32))
W7 = jnp.asarray(np.ones((1024, 519), np.float32))
W8 = jnp.asarray(np.ones((1024, 520), np.float32))
W9 = jnp.asarray(np.ones((1024, 521), np.float32))


# jaxscope: f32[8,1024]
@jax.jit
def mixture(x):
    total = jnp.zeros(())
    total = total + jnp.sum(x @ W0)
    total = total + jnp.sum(x @ W1)
    total = total + jnp.sum(x @ W2)
    total = total + jnp.sum(x @ W3)
    total = total + jnp.sum(x @ W4)
    total = total + jnp.sum(x @ W5)
    total = total + jnp.sum(x @ W6)
    total = total + jnp.sum(x @ W7)
    total = total + jnp.sum(x @ W8)
    total = total + jnp.sum(x @ W9)
    return total
