"""What a rule is, and how all of them together judge one file.

A rule is a file in this folder whose module docstring is its documentation and that has a `RULE`. Adding one touches
nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from dataclasses import dataclass, replace
from functools import cache

from jaxscope import rules
from jaxscope.config import Config
from jaxscope.rules.finding import SEVERITIES, Finding, Refuted, Severity
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project
from jaxscope.source.suppressions import suppressed
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply


@dataclass(frozen=True, slots=True)
class Context:
    """What rules may look at besides the file."""

    config: Config
    project: Project


@dataclass(frozen=True, slots=True)
class Judgement:
    """Findings that stand, and static ones that a trace showed to be wrong."""

    findings: tuple[Finding, ...]
    refuted: tuple[Refuted, ...] = ()


class Rule:
    """One rule. `name` and `level` are what settings and output use; `summary` is one sentence for lists."""

    name: str
    level: Severity = "warning"
    summary: str

    @property
    def doc(self) -> str:
        """The rule's documentation: the docstring of its module."""
        return sys.modules[type(self).__module__].__doc__ or ""

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Findings that follow from the source alone."""
        raise NotImplementedError

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """The static findings confirmed, refuted and added to by what was seen in a trace of this text."""
        return Judgement(tuple(static))


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by name."""
    found: dict[str, Rule] = {}
    for entry in pkgutil.iter_modules(rules.__path__):
        rule = getattr(importlib.import_module(f"{rules.__name__}.{entry.name}"), "RULE", None)
        if isinstance(rule, Rule):
            found[rule.name] = rule
    return dict(sorted(found.items()))


def judge(model: FileModel, ctx: Context, reply: TraceReply | None = None) -> Judgement:
    """All findings of one file: levels and suppressions applied, each once, in order of place."""
    findings: list[Finding] = []
    refuted: list[Refuted] = []
    for rule in all_rules().values():
        level = ctx.config.rules.get(rule.name, rule.level)
        if level == "ignore":
            continue
        static = rule.static(model, ctx)
        judged = Judgement(tuple(static)) if reply is None else rule.traced(model, static, reply, ctx)
        findings += (_at_level(finding, rule.level, level) for finding in judged.findings)
        refuted += judged.refuted
    return Judgement(
        tuple(sorted(_once(findings, ctx), key=lambda f: (f.path, f.range, f.rule, f.name))),
        tuple(one for one in refuted if not _suppressed(one.finding, ctx)),
    )


def _at_level(finding: Finding, usual: Severity, level: str) -> Finding:
    """`finding` at the level that the settings ask for; one below the rule's usual level is not raised."""
    wanted: Severity = next(word for word in SEVERITIES if word == level)
    below = SEVERITIES.index(finding.severity) < SEVERITIES.index(usual)
    severity = min(finding.severity, wanted, key=SEVERITIES.index) if below else wanted
    return replace(finding, severity=severity)


def _once(findings: list[Finding], ctx: Context) -> list[Finding]:
    kept: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        if not _suppressed(finding, ctx):
            kept.setdefault((finding.rule, finding.path, finding.range, finding.name, finding.function), finding)
    return list(kept.values())


def _suppressed(finding: Finding, ctx: Context) -> bool:
    module = ctx.project.module(finding.path)
    return module is not None and suppressed(module, finding.rule, finding.range.start.line)
