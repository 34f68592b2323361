"""`jaxscope explain`: the documentation of a rule."""

from __future__ import annotations

import argparse

from jaxscope.cli.problem import Problem
from jaxscope.rules.base import all_rules


def run(options: argparse.Namespace) -> int:
    """Prints the rule's own documentation. Raises Problem for a rule that is not."""
    rules = all_rules()
    rule = rules.get(options.rule)
    if rule is None:
        raise Problem(f"no such rule: {options.rule} (there are {', '.join(sorted(rules))})")
    print(f"{rule.name} ({rule.level}): {rule.summary}\n")
    print(rule.doc.strip())
    return 0
