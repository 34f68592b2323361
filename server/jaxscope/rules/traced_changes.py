"""What a run showed of a value that changes after a trace. Shared by the rules about such values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import Finding, Refuted
from jaxscope.semantics.model import FileModel, squeezed
from jaxscope.worker.jaxscope_worker.wire.stale import ChangedValue

UNNEEDED = "traced again with the value of the end, it is the same program"


def root(name: str) -> str:
    """`stats` of `stats["mean"]`: what findings are about."""
    return squeezed(name).partition("[")[0]


def judged(
    model: FileModel, findings: Iterable[Finding], changed: Iterable[ChangedValue], *, numbers: bool = True
) -> Judgement:
    """The findings confirmed where a program was seen to depend on the value, with what that was, refuted where it was
    seen not to. Without `numbers` where another rule tells them at the same place."""
    kept, refuted = [], []
    for finding in findings:
        same = [one for one in changed if (one.function, root(one.name)) == (finding.function, root(finding.name))]
        needed = [one for one in same if one.depends]
        if needed:
            kept.append(_confirmed(finding, needed if numbers else []))
        elif finding.inner is None and _is_unneeded(model, finding, same):
            refuted.append(Refuted(finding, UNNEEDED))
        else:
            kept.append(finding)
    return Judgement(tuple(kept), tuple(refuted))


def _confirmed(finding: Finding, seen: list[ChangedValue]) -> Finding:
    numbers = [f"`{one.name}` was {one.then} when it was traced and {one.now} in the end" for one in seen if one.now]
    message = finding.message.replace(" (inferred)", "").replace("(inferred; ", "(")
    return replace(finding, evidence="both", message="; ".join([message, *numbers]))


def _is_unneeded(model: FileModel, finding: Finding, seen: list[ChangedValue]) -> bool:
    """Do none of the reads make a difference? One with a key that is computed is not among `seen`."""
    function = model.function(finding.function, seen[0].line) if seen else None
    if function is None or any(one.depends is not False for one in seen):
        return False
    covered = {place.start for one in seen for place in model.written(function, one.name)}
    return {place.start for place in model.written(function, root(finding.name))} <= covered
