"""Records what a real worker says of the programs here, so that the features can be tested without one.

Run it again when the messages change: `python tests/ide/recording.py`. Paths are kept as `$ROOT/name.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jaxscope.config import Config
from jaxscope.ide.workspace import Workspace
from jaxscope.tracing import planning
from jaxscope.worker.jaxscope_worker.wire.codec import to_json
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, LowerRequest
from jaxscope.worker.jaxscope_worker.wire.timing import TimeRequest
from jaxscope.workers.pool import Pool, Session

HERE = Path(__file__).parent
PROGRAMS, RECORDED = HERE / "programs", HERE / "recorded"
NAMES = ("whitener", "mixture", "broken")


def main() -> None:
    """Writes `recorded/NAME.json` for each program."""
    RECORDED.mkdir(exist_ok=True)
    pool = Pool(sys.executable, Config(), root=str(PROGRAMS))
    for name in NAMES:
        path = str(PROGRAMS / f"{name}.py")
        workspace = Workspace(str(PROGRAMS), Config())
        model = workspace.model(path)
        assert model is not None
        session = pool.open(planning.plan(model, workspace.project, workspace.config))
        assert not isinstance(session, Failure), session
        (RECORDED / f"{name}.json").write_text(_text(_record(session)))
        session.close()
    pool.close()


def _record(session: Session) -> dict[str, object]:
    evidence = session.evidence
    found: dict[str, object] = {"hello": to_json(evidence.hello), "reply": to_json(evidence.reply)}
    found["jaxprs"] = {item.id: session.text(item.jaxpr) for item in evidence.reply.functions}
    if evidence.reply.functions:
        first = evidence.reply.functions[0]
        for key, message in {
            "lowered": LowerRequest(first.id),
            "timed": TimeRequest(first.id, ("captured", "hoisted"), 0.2),
        }.items():
            answer = session.request(message)
            assert not isinstance(answer, Failure), answer
            found[key] = to_json(answer)
    return found


def _shorten(value: object) -> None:
    """Keeps only the user's frames of tracebacks: the others name this machine's folders and JAX's lines."""
    if isinstance(value, dict):
        if isinstance(text := value.get("traceback"), str):
            value["traceback"] = text.partition("\n\nTraceback")[0]
        if "executable" in value:
            value["executable"] = "$PYTHON"
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _shorten(item)


def _text(found: dict[str, object]) -> str:
    _shorten(found)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    return text.replace(json.dumps(str(PROGRAMS))[1:-1], "$ROOT")


if __name__ == "__main__":
    main()
