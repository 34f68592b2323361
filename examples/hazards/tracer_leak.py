"""What is kept on the object is no array but a tracer of a trace that has ended: using it later fails."""

import jax
import jax.numpy as jnp


class Encoder:
    def __init__(self):
        self.hidden = None
        self.encode = jax.jit(self._encode)

    def _encode(self, weights, x):
        hidden = jnp.tanh(x @ weights)
        self.hidden = hidden
        return hidden.sum()


def main():
    encoder = Encoder()
    print("sum:", encoder.encode(jnp.eye(4), jnp.ones(4)))
    try:
        print("kept:", jnp.mean(encoder.hidden))
    except jax.errors.UnexpectedTracerError as error:
        print("kept:", type(error).__name__)


if __name__ == "__main__":
    main()
