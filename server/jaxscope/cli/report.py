"""What `check` has to say, in plain values; the formats only write it down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from jaxscope.ide.blocked import blocked_text
from jaxscope.ide.functions import FunctionFacts
from jaxscope.project_settings import PROJECT_FILE, project_table
from jaxscope.rules.finding import Finding, Refuted
from jaxscope.tracing.evidence import distinct_bytes
from jaxscope.tracing.totals import passing
from jaxscope.worker.jaxscope_worker.wire.messages import (
    Failure,
    Hello,
    NotTraced,
    TracedFunction,
    TraceReply,
    TraceRequest,
)

INTERNAL = "internal"
"""Kind of an error that is jaxscope's own fault."""
SIGNATURE = "signature"
"""Kind of an error in a declared signature."""
NOT_ASKED = "tracing was not asked for"
NO_SHAPES = "no shapes are known for it"
RUNS_WHEN_IMPORTED = "this file runs when imported"
"""Why a function was not traced."""


@dataclass(frozen=True, slots=True)
class SignatureRow:
    """One signature under which a function was traced."""

    inputs: tuple[str, ...]
    out: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One traced function of a file."""

    path: str
    function: str
    line: int
    signatures: tuple[SignatureRow, ...]
    constants: int
    constant_bytes: int
    status: str
    """`traced`, `not traced: REASON` or `failed: REASON`."""
    total: str = ""
    """Said when its constants pass JAX's own limit."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Why a file could not be looked at, or not wholly."""

    path: str
    line: int
    kind: str
    """`syntax`, `read`, `blocked`, `signature`, `internal`, or the kind of a worker's failure."""
    message: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """All that is said of one file."""

    path: str
    findings: tuple[Finding, ...] = ()
    refuted: tuple[Refuted, ...] = ()
    functions: tuple[FunctionRow, ...] = ()
    errors: tuple[ErrorRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that is said of a run. Paths are absolute."""

    environment: Hello | None
    """None when no worker was started."""
    files: tuple[FileReport, ...]
    texts: Mapping[str, str]
    """Texts of the files that findings are in, by path."""
    settings_errors: tuple[ErrorRow, ...] = ()
    """Of the projects' own files."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all files, each once."""
        return _once(finding for file in self.files for finding in file.findings)

    @property
    def refuted(self) -> tuple[Refuted, ...]:
        """Of all files, without what another file's trace confirmed."""
        stands = {_key(finding) for finding in self.findings}
        return tuple(item for file in self.files for item in file.refuted if _key(item.finding) not in stands)

    @property
    def functions(self) -> tuple[FunctionRow, ...]:
        """Of all files."""
        return tuple(row for file in self.files for row in file.functions)

    @property
    def errors(self) -> tuple[ErrorRow, ...]:
        """Of all files, each once."""
        rows = dict.fromkeys(row for file in self.files for row in file.errors)
        told = {(row.path, row.line) for row in rows}
        return (*rows, *(row for row in self.settings_errors if (row.path, row.line) not in told))


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.path, finding.range, finding.name, finding.function


def _once(findings: object) -> tuple[Finding, ...]:
    found: dict[tuple[object, ...], Finding] = {}
    for finding in findings:  # type: ignore[attr-defined]
        known = found.get(_key(finding))
        if known is None or (known.evidence == "static" and finding.evidence != "static"):
            found[_key(finding)] = finding
    return tuple(found.values())


def function_row(facts: FunctionFacts, unasked: str, reply: TraceReply | None = None) -> FunctionRow:
    """The row of a function; `unasked` is why one that was not tried has no trace. `reply` is its file's."""
    shown = facts.shown
    return FunctionRow(
        path=facts.path,
        function=facts.name,
        line=facts.line,
        signatures=tuple(dict.fromkeys(_signature(item) for item in facts.traced)),
        constants=len(shown.constants) if shown else 0,
        constant_bytes=distinct_bytes(shown.constants) if shown else 0,
        status=_status(facts, unasked),
        total=passing(facts.traced, reply),
    )


def _signature(traced: TracedFunction) -> SignatureRow:
    return SignatureRow(tuple(item.type for item in traced.parameters), traced.out, traced.source)


def _status(facts: FunctionFacts, unasked: str) -> str:
    if facts.traced:
        return "traced"
    if facts.not_traced is None:
        return f"not traced: {unasked}"
    failed = facts.not_traced.failure
    return f"failed: {failed.message}" if failed else f"not traced: {_reason(facts.not_traced)}"


def failure_row(path: str, failure: Failure) -> ErrorRow:
    """A worker's failure as an error of the file that was run, at the place that it names."""
    place = failure.place
    return ErrorRow(place.path if place else path, place.line if place else 1, failure.kind, failure.message)


def with_python(message: str, ran: Hello | None) -> str:
    """What an import that failed says, and whose packages it was looked for in."""
    of_import = message.startswith(("ModuleNotFoundError:", "ImportError:"))
    return f"{message} (run by {ran.executable})" if of_import and ran is not None else message


def reply_errors(path: str, reply: TraceReply) -> tuple[ErrorRow, ...]:
    """What went wrong while the file ran."""
    rows = [failure_row(path, reply.failure)] if reply.failure else []
    for denied in reply.denied:
        place = denied.place
        message = f"running `{os.path.basename(path)}` {blocked_text(denied)}"
        rows.append(ErrorRow(place.path if place else path, place.line if place else 1, "blocked", message))
    return tuple(rows)


def signature_errors(request: TraceRequest, reply: TraceReply) -> tuple[ErrorRow, ...]:
    """The declared signatures that could not be used, each at its own line."""
    failed = {item.origin: item for item in reversed(reply.not_traced) if item.source == "declared"}
    rows = []
    for declared in request.declared:
        line = declared.origin.rpartition(":")[2]
        if declared.source == "declared" and line.isdigit() and (item := failed.get(declared.origin)):
            where, path = f"`# jaxscope: {declared.signature}` above `{declared.function}`", request.path
            if declared.origin.startswith(PROJECT_FILE):
                path = project_table(path)[1]
                where = f"`{declared.signature}` for `{declared.function}` in [tool.jaxscope.signatures]"
            rows.append(ErrorRow(path, int(line), SIGNATURE, f"{where}: {_reason(item)}"))
    return tuple(rows)


def _reason(item: NotTraced) -> str:
    if item.failure is None:
        return item.reason
    place = item.failure.place
    return item.failure.message + (f" (at {os.path.basename(place.path)}:{place.line})" if place else "")
