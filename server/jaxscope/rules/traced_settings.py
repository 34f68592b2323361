"""64-bit NumPy data that one function captures under both settings of `jax_enable_x64`.

Each trace holds it in another dtype, so results depend on the setting of the call; from JAX 0.9 on the second one fails
to lower. A program that was compiled under one setting and is run under the other computes the same (tried on every
JAX of the matrix), so only traces count.
"""

from __future__ import annotations

from dataclasses import replace

from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import Finding, Related
from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction, TraceReply

_WIDE = frozenset({"float64", "int64", "uint64", "complex128"})


def told(judgement: Judgement, evidence: TraceReply) -> Judgement:
    """The findings, with what both settings mean for those about 64-bit data."""
    return replace(judgement, findings=tuple(_told(finding, evidence) for finding in judgement.findings))


def _told(finding: Finding, evidence: TraceReply) -> Finding:
    if finding.evidence == "static" or finding.array is None or finding.array.source_dtype not in _WIDE:
        return finding
    traced = [each for each in evidence.functions if each.function == finding.function and _holds(each, finding)]
    by_setting = {each.x64: each for each in reversed(traced) if each.x64 is not None}
    if len(by_setting) < 2:
        return finding
    words = {True: "traced with jax_enable_x64 on", False: "traced with jax_enable_x64 off"}
    related = tuple(
        Related(place.path, place.line, words[setting])
        for setting in (True, False)
        if (place := by_setting[setting].jitted_at) is not None
    )
    message = f"{finding.message}; it is {finding.array.source_dtype}, and traced under both settings of jax_enable_x64"
    return replace(finding, message=message, related=(*finding.related, *related))


def _holds(traced: TracedFunction, finding: Finding) -> bool:
    """NumPy data only: a `jax.Array` keeps its dtype under either setting."""
    return any(
        each.name == finding.name and each.source_dtype in _WIDE and "jax.Array" not in each.representation
        for each in traced.constants
    )
