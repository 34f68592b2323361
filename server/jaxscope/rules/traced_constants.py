"""Brings together what the source suggests about captured arrays and what a trace saw."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.config import Config
from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import Finding
from jaxscope.semantics.model import FileModel, Function
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply


@dataclass(frozen=True, slots=True)
class Claim:
    """A static finding with what is needed to compare it with a trace."""

    finding: Finding
    function: Function
    """The compiled function."""
    container: bool
    """Is it about a container of arrays?"""


def merge(model: FileModel, claims: list[Claim], evidence: TraceReply, config: Config) -> Judgement:
    return Judgement(tuple(claim.finding for claim in claims))
