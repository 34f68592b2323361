"""What captured arrays come to: copies over programs, devices, and the total at which JAX itself warns."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from support import one, trace

SHARED = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    W = jnp.asarray(np.random.default_rng(0).random((30, 20), dtype=np.float32))
    N = np.random.default_rng(1).random((20, 20), dtype=np.float32)


    @jax.jit
    def inner(x):
        return x @ W


    @jax.jit
    def outer(x):
        return inner(x) @ N + jnp.arange(20.0) * np.arange(5, dtype=np.float32)[3]


    def main():
        outer(jnp.ones((2, 30)))
        outer(jnp.ones((3, 30)))
        inner(jnp.ones((4, 30)))
"""

WARNED = """
    import warnings

    import jax
    import jax.numpy as jnp
    import numpy as np

    LIMIT = {limit}
    A = jnp.asarray(np.random.default_rng(0).random((30, 30), dtype=np.float32))
    B = np.random.default_rng(1).random(30, dtype=np.float32)


    @jax.jit
    def captures(x):
        return x @ A + B


    @jax.jit
    def warned(x):
        return x + 1


    def main():
        if hasattr(jax.config, "jax_captured_constants_warn_bytes"):
            jax.config.update("jax_captured_constants_warn_bytes", LIMIT)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            captures.lower(jnp.ones((2, 30)))
        if any("constants were captured" in str(warning.message) for warning in heard):
            warned(1.0)
"""


def test_copies_are_counted_by_function_and_signature(tmp_path: Path) -> None:
    reply = trace(tmp_path, {"program.py": SHARED}, entries=("main",))
    outer = [f for f in reply.functions if f.function == "outer"]
    assert len(outer) == 2
    for function in outer:
        assert {c.name: c.copies for c in function.constants} == {"W": 3, "N": 2}
        assert {c.name: c.device for c in function.constants} == {"W": "cpu:0", "N": ""}
        assert function.constant_bytes == 4 * (600 + 400)


@pytest.mark.parametrize("above", [0, 1])
def test_the_total_is_that_at_which_jax_warns(tmp_path: Path, above: int) -> None:
    total = 4 * (900 + 30)
    program = WARNED.replace("{limit}", str(total + above))
    reply = trace(tmp_path, {"program.py": program}, entries=("main",))
    assert one(reply, "captures").constant_bytes == total
    if not hasattr(jax.config, "jax_captured_constants_warn_bytes"):
        assert reply.warn_bytes is None
        return
    assert reply.warn_bytes == total + above
    assert ("warned" in {f.function for f in reply.functions}) == (above == 0)
