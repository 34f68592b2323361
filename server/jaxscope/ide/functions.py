"""The traced functions of a file: what the source, traces, recorded runs and findings say of each, brought together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jaxscope.ide.signatures import named, ranked
from jaxscope.rules.finding import Finding
from jaxscope.semantics.model import FileModel, Function, TracedSite
from jaxscope.tracing.evidence import is_recorded
from jaxscope.worker.jaxscope_worker.wire.messages import NotTraced, TracedFunction, TraceReply


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """All that is known of one traced function of a file."""

    path: str
    name: str
    """Qualified name."""
    line: int
    """Of the def or lambda."""
    top: int
    """First line, that of its decorators."""
    function: Function | None
    """None when only the trace knows it."""
    sites: tuple[TracedSite, ...]
    traced: tuple[TracedFunction, ...]
    """One a signature, the one to show first."""
    not_traced: NotTraced | None
    findings: tuple[Finding, ...]

    @property
    def shown(self) -> TracedFunction | None:
        """The signature to show."""
        return self.traced[0] if self.traced else None

    @property
    def signature(self) -> str:
        """Name of the signature to show."""
        return next(iter(self.signatures), "")

    @property
    def signatures(self) -> dict[str, TracedFunction]:
        """All known ones by name, the one to show first."""
        return named(self.traced)

    @property
    def only_recorded(self) -> bool:
        """Is what is known from a recorded run, with no worker that holds the program?"""
        return bool(self.traced) and is_recorded(self.traced[0])


_Key = tuple[str, int]


def facts_of(
    path: str, model: FileModel | None, reply: TraceReply | None, findings: Iterable[Finding]
) -> tuple[FunctionFacts, ...]:
    """The traced functions of a file in order, those that only a trace knows included."""
    found: dict[_Key, _Parts] = {}

    def parts(name: str, line: int) -> _Parts:
        function = model.function(name, line) if model else None
        return found.setdefault((name, function.line if function else line), _Parts(function))

    for site in model.traced if model else ():
        if site.function.path == path:
            parts(site.function.qualname, site.function.line).sites.append(site)
    for item in reply.functions if reply else ():
        if item.path == path:
            parts(item.function, item.line).traced.append(item)
    for failed in reply.not_traced if reply else ():
        known = failed.line or (model and model.function(failed.function))
        if failed.path == path and known:  # else it was declared for a function that is not there
            parts(failed.function, failed.line).not_traced = failed
    for finding in findings:
        if owner := _owner(found, finding, path):
            found[owner].findings.append(finding)
    facts = [each.facts(path, *key) for key, each in found.items()]
    return tuple(sorted(facts, key=lambda item: (item.top, item.name)))


@dataclass(slots=True)
class _Parts:
    function: Function | None
    sites: list[TracedSite] = field(default_factory=list)
    traced: list[TracedFunction] = field(default_factory=list)
    not_traced: NotTraced | None = None
    findings: list[Finding] = field(default_factory=list)

    def facts(self, path: str, name: str, line: int) -> FunctionFacts:
        return FunctionFacts(
            path=path,
            name=name,
            line=line,
            top=self.function.range.start.line if self.function else line,
            function=self.function,
            sites=tuple(self.sites),
            traced=ranked(self.traced),
            not_traced=None if any(not is_recorded(item) for item in self.traced) else self.not_traced,
            findings=tuple(self.findings),
        )


def _owner(found: Mapping[_Key, _Parts], finding: Finding, path: str) -> _Key | None:
    """Which of the functions of the finding's name it belongs to: lambdas of one file share a name."""
    same = {key: each.function for key, each in found.items() if key[0] == finding.function}
    if finding.path == path:
        for key, function in same.items():
            if function and function.range.contains(finding.range.start):
                return key
    return next(iter(same), None)
