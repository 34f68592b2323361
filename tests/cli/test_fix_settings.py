"""A fix that changes a setting of the program comes first, and what is none under it is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_cli import jaxscope

OWN = """import jax
import jax.numpy as jnp
import numpy as np

STEP = np.array([1e-3])
BIG = np.array([2**40, 1])
MORE = np.array([2**41, 1])


@jax.jit
def scaled(x):
    return x * STEP


@jax.jit
def moved(x):
    return x + BIG + MORE


def main():
    return scaled(jnp.ones(2)), moved(1)
"""
LIB = OWN.partition("BIG")[0] + OWN[OWN.index("\n\n@jax.jit\ndef scaled") : OWN.index("\n\n@jax.jit\ndef moved")]
SCALED = "@jax.jit\ndef scaled(x):\n    return x * STEP\n\n\n"
APART = OWN.replace("STEP = np.array([1e-3])\n", "from lib import scaled\n\n").replace(SCALED, "")
SWITCH = 'jax.config.update("jax_enable_x64", True)'


@pytest.mark.parametrize("how", [["--run", "main"], ["--no-trace"]], ids=["run", "static"])
@pytest.mark.parametrize("texts", [{"case.py": OWN}, {"case.py": APART, "lib.py": LIB}], ids=["one", "two"])
def test_no_32_bits_are_said_where_64_are_enabled(tmp_path: Path, how: list[str], texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    done = jaxscope("fix", *texts, "--rule", "x64-truncation", "--function", "scaled", "--unsafe", *how, cwd=tmp_path)
    assert (done.status, done.out.count("Say `float32`")) == (0, 1), done.out + done.err
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    done = jaxscope("fix", *texts, "--rule", "x64-truncation", "--unsafe", *how, cwd=tmp_path)
    assert done.status == (0 if len(texts) == 1 or "--no-trace" in how else 1), done.out + done.err
    both = "".join((tmp_path / name).read_text() for name in texts)
    assert both.count(SWITCH) == 1 and "float32" not in both
