"""Programs that are called as programs: closed_call, jaxpr_as_fun, closure_convert, linear_transpose."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

W = jnp.asarray(np.random.default_rng(0).random((13, 13), dtype=np.float32))
V = np.random.default_rng(1).random((13, 13), dtype=np.float32)


def main():
    x = jnp.ones((2, 13))
    closed = jax.make_jaxpr(lambda y: y @ W + V[0])(x)
    as_function = jax.jit(lambda y: jaxpr_as_fun(closed)(y)[0] * 2)(x)

    @jax.jit
    def converted(y):
        function, consts = jax.closure_convert(lambda z: z @ V, y)
        return function(y, *consts)

    back = jax.jit(lambda y: jax.linear_transpose(lambda z: z @ W, y)(y)[0])
    return as_function, converted(x), back(x)
