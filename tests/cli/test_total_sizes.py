"""`check` says so when the constants of a program pass the total from which JAX itself warns."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_cli import jaxscope

PROGRAM = """import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_captured_constants_warn_bytes", LIMIT)
A, B, C = (jnp.asarray(np.random.default_rng(k).random((400, 400), dtype=np.float32)) for k in range(3))


@jax.jit
def inner(x):
    return x @ C


@jax.jit
def step(x):
    return inner(x @ A) @ B


def main():
    return step(jnp.ones((2, 400)))
"""
TOTAL = 3 * 400 * 400 * 4


@pytest.mark.jax
@pytest.mark.parametrize("passes", [True, False])
def test_the_limit_of_jax_is_told(tmp_path: Path, passes: bool) -> None:
    (tmp_path / "case.py").write_text(PROGRAM.replace("LIMIT", str(TOTAL if passes else TOTAL + 1)), encoding="utf-8")
    told = "all constants of `step` together, 1.8 MiB, pass `jax_captured_constants_warn_bytes` (1.8 MiB)"
    done = jaxscope("check", "case.py", "--run", "main", "--verbose", cwd=tmp_path)
    assert "`A` and 1 other (2 arrays, 1.2 MiB together) are compiled into `step` as constants" in done.out
    assert done.out.count(told) == (2 if passes else 0)
