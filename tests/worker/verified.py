"""Runs a program before and after a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxscope_worker.wire.messages import VerifyRequest

from support import Worker, request, write


def verify(tmp_path: Path, before: str, after: str, **fields: Any) -> Any:
    """`before` lies on disk, as in a change that was not written yet; `after` is an overlay."""
    project = write(tmp_path, {"program.py": before})
    entries = fields.pop("entries", ("run",))
    first = request(project, entries=entries, **fields.get("first", {}))
    second = request(project, entries=entries, text=after, **fields.get("second", {}))
    others, results = fields.get("others", ()), fields.get("results", "same")
    request_ = VerifyRequest(first, second, fields.get("function", "f"), fields.get("constant", "W"), others, results)
    with Worker(project) as worker:
        return worker.request(request_)
