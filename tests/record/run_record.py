"""Programs that are recorded, and the commands about them."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from run_cli import Done, jaxscope

TRAIN = """
    import sys
    import jax, jax.numpy as jnp, numpy as np

    W = jnp.asarray(np.random.default_rng(0).random((600, 600)), jnp.float32)


    @jax.jit
    def step(x, n=2):
        return x @ W * n


    def main():
        scale = np.ones((600, 600), np.float32)
        print("arguments", sys.argv[1:])
        for count in (2, 2, 3):
            step(jnp.ones((count, 600)))
        jax.jit(lambda y: y @ scale)(jnp.ones((4, 600)))


    if __name__ == "__main__":
        main()
        sys.exit(int(sys.argv[1]))
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    (folder / "pyproject.toml").touch()
    return folder


def record(folder: Path, *arguments: str, **env: str) -> Done:
    return jaxscope("record", *arguments, cwd=folder, env={"JAX_PLATFORMS": "cpu", **env})


def check(folder: Path, *arguments: str) -> dict[str, Any]:
    done = jaxscope("check", *arguments, "--select", "captured-array", "--format", "json", cwd=folder)
    assert done.status in (0, 1), done.err
    found: dict[str, Any] = json.loads(done.out)
    return found
