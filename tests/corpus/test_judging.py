"""The comparison with the table, without a network: what is new, gone, right and wrong is told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judging import Finding, Judged, compare, judged
from packages import PINS, packages

WARNING = Finding("p", "1.0", "p/a.py", 3, "f", "W", "captured-array", "warning", "static")
HINT = replace(WARNING, name="V", severity="hint")


def _judged(finding: Finding, verdict: str) -> Judged:
    return Judged(**{**finding.blank(), "verdict": verdict, "reason": "because"})


def test_found_as_judged() -> None:
    found = compare([WARNING, HINT], [_judged(WARNING, "right"), _judged(HINT, "wrong")])
    assert (found.right, found.wrong, found.false_share, found.unjudged, found.gone) == (1, 1, 0.0, [], [])


def test_a_wrong_warning_counts() -> None:
    others = [replace(WARNING, line=line) for line in range(10, 13)]
    table = [_judged(WARNING, "wrong"), *(_judged(other, "right") for other in others)]
    assert compare([WARNING, *others], table).false_share == 0.25


@pytest.mark.parametrize(
    "change", [{"line": 4}, {"name": "U"}, {"severity": "hint"}, {"evidence": "both"}, {"version": "1.1"}]
)
def test_what_differs_is_new_and_the_judged_one_gone(change: dict[str, object]) -> None:
    other = replace(WARNING, **change)
    found = compare([other], [_judged(WARNING, "right")])
    assert found.unjudged == [other]
    assert found.gone == [WARNING]
    assert (found.right, found.wrong) == (0, 0)


def test_one_finding_twice_is_one() -> None:
    assert compare([WARNING, WARNING], [_judged(WARNING, "right")]).right == 1


def test_the_table_fits_the_pins() -> None:
    versions = {package.name: package.version for package in packages()}
    rows = judged()
    assert rows
    assert {row.package: row.version for row in rows}.items() <= versions.items()
    assert len({row.finding for row in rows}) == len(rows)


def test_every_pin_is_read_and_none_names_where_it_comes_from() -> None:
    text = PINS.read_text()
    assert [package.name for package in packages()] == [
        line.split("==")[0] for line in text.splitlines() if "==" in line
    ]
    assert all("--hash=sha256:" in package.requirement for package in packages())
    assert "://" not in text
