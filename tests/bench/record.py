"""What recording costs a warm step: calls that JAX answers from its cache of compiled programs, watched and not.

`python tests/bench/record.py [ROUNDS]` prints one JSON object. The two alternate in one process: unwatched, JAX's own
functions are put back in their places. That the calls do come from the cache is checked by what was recorded.
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
CALLS = 200
"""Calls in one batch."""


def run(rounds: int = 600) -> dict[str, Any]:
    """Medians in microseconds a call, and the median of the ratios of neighbouring batches."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.path.append(str(BUNDLE))
    import jax
    import jax.numpy as jnp
    from jaxscope_worker import jax_compat
    from jaxscope_worker.recording import Recorder
    from jaxscope_worker.wire import recording as wire

    with tempfile.TemporaryDirectory() as folder:
        project = os.path.realpath(folder)
        source = Path(project, "model.py")
        source.write_text("def step(params, x):\n    return params - 0.1 * x, x.sum()\n", encoding="utf-8")
        sys.path.insert(0, project)
        import model  # type: ignore[import-not-found]

        Recorder(os.path.join(project, wire.FOLDER, "run"), "bench").start()
        watched = jax_compat.pjit._infer_params
        step = jax.jit(model.step)
        params, x = jnp.ones(64), jnp.ones(64)

        def batch(function: Any) -> float:
            jax_compat.pjit._infer_params = function
            out = step(params, x)
            started = time.perf_counter()
            for _ in range(CALLS):
                out = step(params, x)
            jax.block_until_ready(out)
            return (time.perf_counter() - started) / CALLS * 1e6

        batch(watched)
        pairs = []
        for number in range(rounds):
            order = (watched, jax_compat._infer_params)[:: 1 if number % 2 else -1]
            times = {function is watched: batch(function) for function in order}
            pairs.append((times[True], times[False]))
        lines = [
            wire.decode(line) for part in Path(project).rglob("*.jsonl") for line in part.read_bytes().splitlines()
        ]
        calls = [event.calls for event in lines if isinstance(event, wire.Counted)]
    if [event for event in lines if isinstance(event, wire.Recorded)] == [] or max(calls) > 1:
        raise SystemExit(f"the step was not recorded, or its calls did not come from the cache: {calls}")
    return {
        "rounds": rounds,
        "watched_us": round(statistics.median(one for one, _ in pairs), 3),
        "alone_us": round(statistics.median(one for _, one in pairs), 3),
        "ratio": round(statistics.median(one / other for one, other in pairs), 4),
    }


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:2]))))
