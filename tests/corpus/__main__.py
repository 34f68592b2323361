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
    results = []
    for package in wanted:
        results.append(check(package))
        print(_line(results[-1]), flush=True)
    if options.trace:
        python = trace_interpreter()
        for package in filter(lambda package: package.traced, wanted):
            results.append(check(package, python))
            print(_line(results[-1]), flush=True)
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
    done = f"{result.traced:>4} traced" if result.run == "traced" else f"{result.lines / result.seconds:>9,.0f} lines/s"
    head = f"{result.package.name:12} {result.package.version:14} {result.run:7} {result.lines:>8,} lines"
    found = f"{result.functions:>4} functions, {levels['warning']} warnings, {levels['hint']} hints"
    errors = "".join(f"\n    {kind}: {count}" for kind, count in sorted(Counter(result.errors).items()))
    faults = "".join(f"\n  ! {fault}" for fault in result.faults)
    return f"{head} {result.seconds:>7.1f} s {done}  {found}{errors}{faults}"


def _summary(results: list[Checked], comparison: Comparison) -> None:
    static = [result for result in results if result.run == "static"]
    lines, seconds = sum(result.lines for result in static), sum(result.seconds for result in static)
    print(f"\n{lines:,} lines in {seconds:.1f} s: {lines / seconds:,.0f} lines/s (goal {GOAL:,} on two idle cores)")
    counts = Counter(
        (finding.rule, finding.severity, finding.evidence) for result in results for finding in result.findings
    )
    for (rule, severity, evidence), count in sorted(counts.items()):
        print(f"{rule}: {count} {severity}s ({evidence})")
    print(
        f"judged right {comparison.right}, wrong {comparison.wrong}; false among warnings {comparison.false_share:.1%}"
    )
    for title, rows in (("not judged", comparison.unjudged), ("judged, but gone", comparison.gone)):
        print(f"{title}: {len(rows)}")
        for row in rows:
            print(f"  {row}")


if __name__ == "__main__":
    sys.exit(main())
