import jax
import numpy as np

TABLE = np.load("there/is/no/such/file.npy")


@jax.jit
def look(i):
    return jax.numpy.asarray(TABLE)[i]
