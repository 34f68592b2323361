"""Findings against the verdicts of somebody who read the code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "judged.json"


@dataclass(frozen=True)
class Finding:
    """One finding in one version of a package."""

    package: str
    version: str
    path: str
    line: int
    function: str
    name: str
    rule: str
    severity: str
    evidence: str

    def __str__(self) -> str:
        place = f"{self.package} {self.version}: {self.path}:{self.line}"
        return f"{place}: {self.severity} [{self.rule}] `{self.name}` in `{self.function}` ({self.evidence})"

    def blank(self) -> dict[str, Any]:
        """A row of the table whose verdict is to be filled in."""
        return {**asdict(self), "verdict": "", "reason": ""}


@dataclass(frozen=True)
class Judged(Finding):
    """A finding with its verdict: `right` or `wrong`, and why."""

    verdict: str
    reason: str

    @property
    def finding(self) -> Finding:
        """What was judged."""
        return Finding(**{name: value for name, value in asdict(self).items() if name not in ("verdict", "reason")})


@dataclass(frozen=True)
class Comparison:
    """What was found, sorted by what the table says of it."""

    right: int
    wrong: int
    false_share: float
    """Of the judged warnings and errors, those that are wrong."""
    unjudged: list[Finding]
    gone: list[Finding]


def judged() -> list[Judged]:
    """The table."""
    rows = [Judged(**row) for row in json.loads(TABLE.read_text())]
    for row in rows:
        if row.verdict not in ("right", "wrong") or not row.reason:
            raise ValueError(f"no verdict or no reason: {row}")
    return rows


def compare(found: Iterable[Finding], table: Iterable[Judged]) -> Comparison:
    """The findings against the table. A finding of another line, name, severity or evidence is another one."""
    verdicts = {row.finding: row.verdict for row in table}
    findings = list(dict.fromkeys(found))
    known = [finding for finding in findings if finding in verdicts]
    loud = [finding for finding in known if finding.severity in ("warning", "error")]
    false = [finding for finding in loud if verdicts[finding] == "wrong"]
    return Comparison(
        right=sum(verdicts[finding] == "right" for finding in known),
        wrong=sum(verdicts[finding] == "wrong" for finding in known),
        false_share=len(false) / len(loud) if loud else 0.0,
        unjudged=[finding for finding in findings if finding not in verdicts],
        gone=[finding for finding in verdicts if finding not in set(findings)],
    )
