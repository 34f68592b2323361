"""What watching costs: trace, walk and report of a training loss against `jax.jit(f).trace` alone.

`python tests/bench/trace_walk.py [LAYERS] [ROUNDS]` prints one JSON object. The two alternate in one process, and are
measured in its own time on the processor, since both compute only and nothing else that runs may count.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BUNDLE = Path(__file__).resolve().parents[2] / "server" / "jaxscope" / "worker"

PROGRAM = '''"""Loss of a small transformer, with its tables and weights captured."""
import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HEADS, LENGTH, LAYERS = 64, 4, 32, {layers}
rng = np.random.default_rng(0)
POSITIONS = rng.normal(size=(LENGTH, WIDTH)).astype(np.float32)
MASK = np.tril(np.ones((LENGTH, LENGTH), bool))
SCALES = jnp.linspace(0.5, 1.5, WIDTH)


def weights():
    def make(*shape):
        return jnp.asarray(rng.normal(size=shape) * 0.1, jnp.float32)

    return [
        dict(qkv=make(WIDTH, 3 * WIDTH), out=make(WIDTH, WIDTH), up=make(WIDTH, 4 * WIDTH), down=make(4 * WIDTH, WIDTH))
        for _ in range(LAYERS)
    ]


def normalize(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-6) * SCALES


def attend(x, layer):
    q, k, v = jnp.split(normalize(x) @ layer["qkv"], 3, axis=-1)
    q, k, v = (part.reshape(*part.shape[:-1], HEADS, -1) for part in (q, k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(WIDTH / HEADS)
    scores = jnp.where(MASK, scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mixed.reshape(x.shape) @ layer["out"]


def loss(params, x, target):
    x = x + POSITIONS
    for layer in params:
        x = x + attend(x, layer)
        x = x + jax.nn.gelu(normalize(x) @ layer["up"]) @ layer["down"]
    return jnp.mean((normalize(x) - target) ** 2)


step = jax.value_and_grad(loss)
PARAMS = weights()
X = jnp.ones((2, LENGTH, WIDTH))
'''


def run(layers: int = 4, rounds: int = 11) -> dict[str, Any]:
    """Medians in milliseconds, and their ratio."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.path.append(str(BUNDLE))
    import jax
    from jaxscope_worker import importing, jax_compat
    from jaxscope_worker.observing import Observer
    from jaxscope_worker.reporting import Reporter
    from jaxscope_worker.session import Session
    from jaxscope_worker.sources import UserFiles
    from jaxscope_worker.wire.messages import TraceRequest

    with tempfile.TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        path = os.path.join(root, "transformer.py")
        Path(path).write_text(PROGRAM.replace("{layers}", str(layers)), encoding="utf-8")
        module = importing.import_file(TraceRequest(path=path, root=root, module="transformer"))

        def bare() -> None:
            jax.jit(module.step).trace(module.PARAMS, module.X, module.X)

        def watched() -> int:
            observer = Observer(UserFiles(root), 33)
            jax_compat.observe(observer)
            try:
                bare()
            finally:
                jax_compat.observe(None)
            return sum(len(each.constants) for each in Reporter(observer, Session()).functions())

        times: dict[str, list[float]] = {"bare": [], "watched": []}
        for _ in range(rounds):
            for name, call in (("bare", bare), ("watched", watched)):
                jax.clear_caches()
                started = time.thread_time()
                result = call()
                times[name].append((time.thread_time() - started) * 1e3)
        if not result:
            raise SystemExit("the captured tables were not found")
    alone, ours = (statistics.median(times[name]) for name in ("bare", "watched"))
    return {
        "layers": layers,
        "trace_ms": round(alone, 2),
        "watched_ms": round(ours, 2),
        "ratio": round(ours / alone, 3),
    }


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:3]))))
