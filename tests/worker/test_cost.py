"""Watching adds no trace, and finding a large capture neither copies nor reads it. Times are the bench's."""

from __future__ import annotations

from pathlib import Path

from support import trace


def test_nothing_is_traced_twice(tmp_path: Path) -> None:
    """Python runs the body once for each signature that the program itself traces; watching adds no run."""
    program = """
        import jax
        import jax.numpy as jnp
        import numpy as np

        W = np.ones((600, 600), np.float32)
        RUNS = []


        @jax.jit
        def f(x):
            RUNS.append(x.shape)
            return jax.vmap(lambda row: row @ W)(x)


        def main():
            f(jnp.ones((2, 600)))
            f(jnp.ones((2, 600)))
            f(jnp.ones((3, 600)))
            assert RUNS == [(2, 600), (3, 600)], RUNS
    """
    reply = trace(tmp_path, {"program.py": program}, entries=("main",))
    assert reply.failure is None, reply.failure
    assert [f.parameters[0].type for f in reply.functions] == ["f32[2,600]", "f32[3,600]"]


def test_a_large_capture_is_found_at_once_and_not_copied(tmp_path: Path) -> None:
    program = """
        import resource
        import jax
        import jax.numpy as jnp
        import numpy as np

        HOST = np.random.default_rng(0).random((8192, 8192), dtype=np.float32)
        DEVICE = jnp.asarray(HOST) + 1
        DEVICE.block_until_ready()
        PEAK = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


        @jax.jit
        def f(x):
            return x @ HOST + x @ DEVICE


        def main():
            f.trace(jnp.ones((2, 8192)))
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - PEAK
            assert grown < 32 << 10, f"{grown} KiB"
    """
    reply = trace(tmp_path, {"program.py": program}, entries=("main",))
    assert reply.failure is None, reply.failure
    (function,) = reply.functions
    assert {(c.name, c.bytes, c.splat) for c in function.constants} == {
        ("HOST", 256 << 20, False), ("DEVICE", 256 << 20, None),
    }  # fmt: skip
