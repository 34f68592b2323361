"""Time until the light bulb has its actions in a 2,000-line file, and from choosing a fix to its proved edits.

`python tests/bench/fix.py [LINES] [ROUNDS]` prints one JSON object. The actions are asked for after an edit, at each
finding in turn, with nothing planned before. The proof imports the program twice, before and after the change; what it
takes beyond one import of the module is counted, as a save is.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from keystroke import text_of
from save import PROGRAM, _wait_for_spare

from jaxscope.config import Config
from jaxscope.ide import fix
from jaxscope.ide.actions import actions
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.refactor.change import Refusal
from jaxscope.tracing import planning
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, Hello
from jaxscope.workers.pool import Pool

SITUATION = Situation("allowed", "onSave", sys.executable, None, None)


def offer(lines: int, findings: int = 40) -> dict[str, Any]:
    """Milliseconds of processor time for the actions at a finding."""
    text, times, fixes = text_of(lines), [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "big.py").resolve())
        workspace = Workspace(str(Path(folder).resolve()), Config())
        workspace.set_text(path, text)
        count = len(workspace.findings(path))
        for number in range(0, count, max(count // findings, 1)):
            workspace.set_text(path, f"{text}# {number}\n")
            finding = workspace.findings(path)[number]
            started = time.process_time()
            found = actions(workspace, path, finding.range, SITUATION)
            times.append((time.process_time() - started) * 1e3)
            fixes += any(item.fixes for item in found)
    times.sort()
    return {
        "lines": text.count("\n"),
        "asked": len(times),
        "offered": fixes,
        "offer_p50_ms": round(statistics.median(times), 1),
        "offer_p95_ms": round(times[int(len(times) * 0.95)], 1),
    }


def apply(rounds: int) -> dict[str, Any]:
    """Milliseconds from choosing the fix to edits that were proved."""
    totals, beyond = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder).resolve())
        path, workspace = str(Path(root, "regression.py")), Workspace(root, Config())
        pool = Pool(sys.executable, workspace.config, root=root)
        try:
            for number in range(1, rounds + 1):
                text = PROGRAM.replace("{number}", str(number))
                Path(path).write_text(text, encoding="utf-8")
                workspace.set_text(path, text)
                imported = _trace(pool, workspace, path)
                _wait_for_spare(pool)
                started = time.perf_counter()
                _prove(pool, workspace, path)
                took = time.perf_counter() - started
                totals.append(took * 1e3)
                beyond.append((took - imported) * 1e3)
        finally:
            pool.close()
    return {
        "rounds": rounds,
        "apply_ms": round(statistics.median(totals), 1),
        "apply_beyond_import_ms": round(statistics.median(beyond), 1),
    }


def _trace(pool: Pool, workspace: Workspace, path: str) -> float:
    """Takes the evidence, as a save does; the seconds that the module took to be imported."""
    if not isinstance(pool.hello(), Hello):
        raise SystemExit("no worker")
    model = workspace.model(path)
    assert model is not None
    session = pool.open(planning.plan(model, workspace.project, workspace.config, text=model.module.text))
    if isinstance(session, Failure):
        raise SystemExit(session.message)
    workspace.set_evidence(path, session.evidence)
    session.close()
    return session.evidence.reply.import_seconds


def _prove(pool: Pool, workspace: Workspace, path: str) -> None:
    finding = next(item for item in workspace.findings(path) if item.function == "loss" and item.name == "DATA")
    change = fix.prepare(workspace, finding)
    if isinstance(change, Refusal):
        raise SystemExit(change.reason)
    request = fix.verification(workspace, change, finding)
    assert request is not None
    reply = pool.verify(request)
    if isinstance(reply, Failure) or not reply.constant_gone:
        raise SystemExit(f"not proved: {reply}")


def run(lines: int = 2000, rounds: int = 5) -> dict[str, Any]:
    """Both."""
    return offer(lines) | apply(rounds)


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:3]))))
