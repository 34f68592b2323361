"""`npm run corpus`: what `jaxscope check` says of code that people wrote, against what somebody who read it says.

`python tests/corpus [--packages NAME,…] [--trace] [--unjudged]` fetches the packages of `requirements/corpus.txt` from
the package index, reads each (no crash, no fault of ours, lines per second), and compares the findings with
`judged.json`, in which each was read by eye once and found right or wrong. With `--trace` the packages are imported and
traced too, in an environment of their own. `--unjudged` prints what is new, ready to be judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter

from checking import Checked, check
from judging import Comparison, compare, judged
from packages import packages, trace_interpreter

GOAL = 100_000
"""Lines read in a second on two cores."""
MOST_FALSE = 0.01
"""Of the warnings."""


def main() -> int:
    options = _options()
    wanted = [package for package in packages() if not options.packages or package.name in options.packages]
    results, seconds = check(wanted)
    for result in results:
        print(_line(result), flush=True)
    lines = sum(result.lines for result in results)
    print(f"{lines:,} lines in {seconds:.1f} s: {lines / seconds:,.0f} lines/s (goal {GOAL:,} on two idle cores)")
    if options.trace:
        python = trace_interpreter()
        for package in filter(lambda package: package.traced, wanted):
            (result,), seconds = check([package], python)
            results.append(result)
            print(f"{_line(result)}, {seconds:.1f} s", flush=True)
    names = {package.name for package in wanted}
    table = [row for row in judged() if row.package in names and (options.trace or row.evidence == "static")]
    comparison = compare([finding for result in results for finding in result.findings], table)
    _summary(results, comparison)
    if options.unjudged:
        print(json.dumps([row.blank() for row in comparison.unjudged], indent=1, ensure_ascii=False))
    faults = [fault for result in results for fault in result.faults]
    return int(bool(faults or comparison.unjudged or comparison.gone or comparison.false_share > MOST_FALSE))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/corpus")
    parser.add_argument("--packages", type=lambda text: text.split(","), default=[])
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--unjudged", action="store_true")
    return parser.parse_args()


def _line(result: Checked) -> str:
    levels = Counter(finding.severity for finding in result.findings)
    head = f"{result.package.name:12} {result.package.version:14} {result.run:7} {result.lines:>8,} lines"
    traced = f", {result.traced} traced" if result.run == "traced" else ""
    found = f"{result.functions:>4} functions{traced}, {levels['warning']} warnings, {levels['hint']} hints"
    errors = "".join(f", {count} {kind}" for kind, count in sorted(Counter(result.errors).items()))
    faults = "".join(f"\n  ! {fault}" for fault in result.faults)
    return f"{head} {found}{errors}{faults}"


def _summary(results: list[Checked], comparison: Comparison) -> None:
    found = dict.fromkeys(finding for result in results for finding in result.findings)
    totals = Counter((finding.rule, finding.severity, finding.evidence) for finding in found)
    for (rule, severity, evidence), count in sorted(totals.items()):
        where = Counter(
            one.package for one in found if (one.rule, one.severity, one.evidence) == (rule, severity, evidence)
        )
        packages = ", ".join(f"{name} {number}" for name, number in where.most_common())
        print(f"{rule}: {count} {severity}s ({evidence}): {packages}")
    print(
        f"judged right {comparison.right}, wrong {comparison.wrong}; false among warnings {comparison.false_share:.1%}"
    )
    for title, rows in (("not judged", comparison.unjudged), ("judged, but gone", comparison.gone)):
        print(f"{title}: {len(rows)}")
        for row in rows:
            print(f"  {row}")


if __name__ == "__main__":
    sys.exit(main())
