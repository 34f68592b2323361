"""`--format json`: the versioned contract that other programs read."""

from __future__ import annotations

import json
from typing import Any

import jaxscope
from jaxscope.cli.report import ErrorRow, FunctionRow, Report
from jaxscope.cli.targets import shown_path
from jaxscope.rules.finding import ArrayFacts, Finding
from jaxscope.worker.jaxscope_worker.wire.messages import Hello

VERSION = 1


def render(report: Report) -> str:
    """The report as one JSON object."""
    return dump(
        {
            "version": VERSION,
            "jaxscope": jaxscope.__version__,
            "environment": environment(report.environment),
            "files": [shown_path(file.path) for file in report.files],
            "findings": [finding(item) for item in report.findings],
            "functions": [_function(row) for row in report.functions],
            "errors": [_error(row) for row in report.errors],
        }
    )


def dump(value: Any) -> str:
    """JSON text, the same for all commands."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def environment(hello: Hello | None) -> dict[str, Any] | None:
    """What the user's interpreter has; null when it was not started."""
    if hello is None:
        return None
    return {
        "python": hello.python,
        "jax": hello.jax,
        "jaxlib": hello.jaxlib,
        "constants": hello.constants,
        "x64": hello.x64,
    }


def finding(item: Finding) -> dict[str, Any]:
    """One finding."""
    found: dict[str, Any] = {
        "rule": item.rule,
        "severity": item.severity,
        "path": shown_path(item.path),
        "range": {
            "start": {"line": item.range.start.line, "column": item.range.start.column},
            "end": {"line": item.range.end.line, "column": item.range.end.column},
        },
        "function": item.function,
        "name": item.name,
        "message": item.message,
        "evidence": item.evidence,
        "array": _array(item.array),
        "via": item.via,
        "related": [
            {"path": shown_path(place.path), "line": place.line, "message": place.message} for place in item.related
        ],
        "fixes": [{"title": fix.title, "kind": fix.kind, "safety": fix.safety} for fix in item.fixes],
        "refused": item.refused,
    }
    if item.inner is not None:
        found["inner"] = item.inner
    return found


def _array(facts: ArrayFacts | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    return {
        "shape": None if facts.shape is None else list(facts.shape),
        "dtype": facts.dtype,
        "bytes": facts.bytes,
        "count": facts.count,
        "total_bytes": facts.total_bytes,
        "sharding": facts.sharding,
        "source_dtype": facts.source_dtype,
    }


def _function(row: FunctionRow) -> dict[str, Any]:
    return {
        "path": shown_path(row.path),
        "function": row.function,
        "line": row.line,
        "signatures": [
            {"in": list(item.inputs), "out": list(item.out), "source": item.source} for item in row.signatures
        ],
        "constants": row.constants,
        "constant_bytes": row.constant_bytes,
        "status": row.status,
    }


def _error(row: ErrorRow) -> dict[str, Any]:
    return {"path": shown_path(row.path), "line": row.line, "kind": row.kind, "message": row.message}
