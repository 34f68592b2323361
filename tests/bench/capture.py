"""Finding a large captured array: our trace and walk against JAX's own warning, each in a fresh process.

`python tests/bench/capture.py [MIB]` prints one JSON object. JAX warns of captured constants when it lowers; by then it
has copied them. Needs a JAX that has the warning (0.6 or newer) in the running interpreter. Times are medians of five.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

BUNDLE = Path(__file__).resolve().parents[2] / "server" / "jaxscope" / "worker"
MIB = 1 << 20


def measure(how: str, mebibytes: int) -> dict[str, Any]:
    """Runs one way of finding the array in this process."""
    import time

    sys.path.append(str(BUNDLE))
    import jax
    import numpy as np
    from jaxscope_worker import measuring, sources, walking

    large = np.zeros((mebibytes, MIB // 4), np.float32)
    large[:] = np.arange(MIB // 4, dtype=np.float32)
    files = sources.UserFiles(os.path.dirname(os.path.abspath(__file__)))

    def find(array: Any) -> int:
        traced = jax.jit(lambda x: array @ x).trace(jax.ShapeDtypeStruct((array.shape[1],), np.float32))
        if how == "ours":
            return max((found.bytes for found in walking.walk(traced.jaxpr, files, 33).constants), default=0)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            traced.lower()
        return array.nbytes if any("constant" in str(warning.message) for warning in heard) else 0

    find(np.ones((3, 1 << 18), np.float32))  # what is imported and started late is no part of it
    times = []
    with measuring.peak_memory() as peak:
        for _ in range(5):
            started = time.perf_counter()
            found = find(large)
            times.append(time.perf_counter() - started)
    return {"found": found, "seconds": statistics.median(times), "bytes": peak.bytes}


def run(mebibytes: int = 1024) -> dict[str, Any]:
    """Both ways, as seconds, extra bytes and ratios."""
    results = {}
    for how in ("ours", "jax"):
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_CAPTURED_CONSTANTS_WARN_BYTES": "1000000"}
        command = [sys.executable, __file__, "--measure", how, str(mebibytes)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        results[how] = json.loads(done.stdout.splitlines()[-1])
        if results[how]["found"] != mebibytes * MIB:
            raise SystemExit(f"{how}: the array of {mebibytes} MiB was not found")
    ours, jax = results["ours"], results["jax"]
    return {
        "mebibytes": mebibytes,
        "ours_ms": round(ours["seconds"] * 1e3, 2),
        "jax_ms": round(jax["seconds"] * 1e3, 2),
        "times_faster": round(jax["seconds"] / ours["seconds"], 1),
        "ours_extra_mib": round(ours["bytes"] / MIB, 2) if ours["bytes"] is not None else None,
        "jax_extra_mib": round(jax["bytes"] / MIB, 2) if jax["bytes"] is not None else None,
    }


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        print(json.dumps(run(*map(int, sys.argv[1:2]))))


if __name__ == "__main__":
    main()
