"""The second result still uses the old temperature: it was read once, when the function was traced."""

import jax
import jax.numpy as jnp


def main():
    temperature = 1.0

    @jax.jit
    def soften(logits):
        return jax.nn.softmax(logits / temperature)

    logits = jnp.array([1.0, 2.0, 4.0])
    warm = soften(logits)
    temperature = 10.0
    print("warm:", warm, "hot:", soften(logits))


if __name__ == "__main__":
    main()
