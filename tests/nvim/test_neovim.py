"""A second editor: the server with a real Neovim, which knows none of the extension's commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
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
NVIM = shutil.which("nvim", path=os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", ""))))


@pytest.mark.jax
@pytest.mark.skipif(NVIM is None, reason="no Neovim here")
def test_a_session(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text(PROGRAM)
    env = os.environ | {
        "JAXSCOPE_TEST_PYTHON": sys.executable,
        "JAXSCOPE_TEST_FOLDER": str(folder),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    session = Path(__file__).with_name("session.lua")
    assert NVIM is not None
    command = [NVIM, "--headless", "--clean", "-u", "NONE", "-i", "NONE", "-l", str(session)]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    line = next((line for line in (ran.stdout + ran.stderr).splitlines() if line.startswith("SEEN ")), None)
    assert line, ran.stdout + ran.stderr
    seen = json.loads(line.removeprefix("SEEN "))
    assert seen.get("problem") is None, seen
    assert "W" in seen["first"]
    assert seen["traced"] == {
        "message": "`W` (float32[700,700], 1.9 MiB) is compiled into `project` as a constant",
        "line": 11,
        "column": 16,
        "code": "captured-array",
    }
    assert "project: f32[3,700] → f32[3,700]" in seen["hover"] and "command:" not in seen["hover"]
    assert seen["lenses"] == ["f32[3,700] → f32[3,700] · 1 constant 1.9 MiB"]
    (message,) = seen["messages"]
    assert message.startswith("W is now an argument of project. Traced again: constant gone, output unchanged.")
    assert "project(jnp.ones((3, 700)), W)" in seen["text"]
