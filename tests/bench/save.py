"""Time from a save to the traced findings, beyond what the module itself takes to be imported.

`python tests/bench/save.py [ROUNDS]` prints one JSON object. As in the editor: the text has changed, a spare worker is
ready, and one request goes from planning to merged findings. The next round begins when the next spare is ready.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from jaxscope.config import Config
from jaxscope.rules.base import Context, judge
from jaxscope.semantics.project import Project
from jaxscope.tracing import planning
from jaxscope.worker.jaxscope_worker.wire.messages import Failure
from jaxscope.workers.pool import Pool

PROGRAM = '''"""A regression with its data captured."""
import jax
import jax.numpy as jnp
import numpy as np

DATA = np.random.default_rng(0).normal(size=(4096, 128)).astype(np.float32)
TARGET = jnp.asarray(DATA[:, 0] * {number}.0)


@jax.jit
def loss(w):
    return jnp.mean((DATA @ w - TARGET) ** 2)


gradient = jax.jit(jax.grad(loss))
gradient(jnp.zeros(128))
'''


def run(rounds: int = 5) -> dict[str, Any]:
    """Medians in milliseconds over `rounds` saves."""
    totals, beyond, findings = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "regression.py").resolve())
        project, config = Project(str(Path(folder).resolve())), Config()
        context = Context(config, project)
        pool = Pool(sys.executable, config, root=folder)
        try:
            for number in range(1, rounds + 1):
                hello = pool.hello()
                if isinstance(hello, Failure):
                    raise SystemExit(hello.message)
                _wait_for_spare(pool)
                text = PROGRAM.replace("{number}", str(number))
                Path(path).write_text(text, encoding="utf-8")
                started = time.perf_counter()
                project.set_text(path, text)
                model = project.model(path)
                assert model is not None
                session = pool.open(planning.plan(model, project, config, text=text))
                if isinstance(session, Failure):
                    raise SystemExit(session.message)
                reply = session.evidence.reply
                findings = len(judge(model, context, reply).findings)
                took = time.perf_counter() - started
                session.close()
                if reply.failure is not None or not findings:
                    raise SystemExit(f"nothing was found: {reply.failure}")
                totals.append(took * 1e3)
                beyond.append((took - reply.import_seconds) * 1e3)
        finally:
            pool.close()
    return {
        "rounds": rounds,
        "findings": findings,
        "total_ms": round(statistics.median(totals), 1),
        "beyond_import_ms": round(statistics.median(beyond), 1),
        "worst_beyond_ms": round(max(beyond), 1),
    }


def _wait_for_spare(pool: Pool) -> None:
    """The user thinks between two saves; a worker that is still starting would be measured otherwise."""
    for _ in range(600):
        spare = pool._spare
        if spare is not None and spare.state == "idle":
            time.sleep(0.2)
            return
        time.sleep(0.1)
    raise SystemExit("no spare worker became ready within a minute")


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:2]))))
