"""`jaxscope fix`: applies a rule's fixes, writes the files that they change, and says what was made."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import stat
from dataclasses import replace
from typing import Any

from jaxscope.cli.engine import check_entries, groups, log
from jaxscope.cli.fixer import Fixer, Outcome
from jaxscope.cli.formats import json
from jaxscope.cli.problem import Problem
from jaxscope.cli.progress import stage
from jaxscope.cli.targets import shown_path, targets
from jaxscope.ide import fix as fixing
from jaxscope.source.files import read_source, write_source
from jaxscope.worker.jaxscope_worker.wire.messages import VerifyReply

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line as `patch` and git count it: a form feed is part of one."""


def run(options: argparse.Namespace) -> int:
    """Fixes, writes and reports. Returns 1 when a fix was refused or failed its verification, 2 when there was nothing
    to do in what could be read, and something could not.
    """
    every = groups(targets(options.paths), options)
    if any(group.settings.trace for group in every):
        check_entries(every)
    outcome = Outcome()
    texts: dict[str, tuple[str, str]] = {}
    try:
        for group in every:
            with stage(not options.quiet) as tell:
                fixer = Fixer(group, options, outcome, tell)
                fixer.fix_all()
            present = group.workspace.open_texts()
            texts |= {path: (original, present[path]) for path, original in fixer.originals.items()}
    finally:
        for group in every:
            group.close()
    if (options.name or options.function) and not outcome.applied and not outcome.refused:
        about = f" about `{options.name}`" if options.name else ""
        within = f" in `{options.function}`" if options.function else ""
        raise Problem(f"there is no {options.rule} finding{about}{within}")
    changed = {path: pair for path, pair in texts.items() if pair[0] != pair[1]}
    if not options.diff:
        _write(changed)
    outcome.refused = [
        replace(item, line=item.line_in(texts[item.path][not options.diff])) if item.path in texts else item
        for item in outcome.refused
    ]
    unread = [row for group in every for target in group.targets if target.relevant for row in group.unread(target)]
    _print(options, outcome, changed, bool(unread))
    for row in unread:
        log(f"{shown_path(row.path)}:{row.line}: {row.kind}: {row.message}")
    if unread and not outcome.applied and not outcome.refused:
        return 2
    return int(any(item.failed for item in outcome.refused))


def _write(changed: dict[str, tuple[str, str]]) -> None:
    """Writes all files, or none when one of them cannot be written, or has been changed by somebody else meanwhile."""
    for path, (original, _) in changed.items():
        if _on_disk(path) != original:
            raise Problem(f"nothing was written: {shown_path(path)} has changed meanwhile")
        if not os.stat(path).st_mode & stat.S_IWUSR:
            raise Problem(f"nothing was written: {shown_path(path)} is read-only")
    written: list[str] = []
    for path, (_, text) in changed.items():
        try:
            write_source(path, text)
        except (OSError, UnicodeError) as error:
            for other in written:  # half of a change is a broken program
                write_source(other, changed[other][0])
            raise Problem(f"cannot write {shown_path(path)}: {error}") from None
        written.append(path)


def _on_disk(path: str) -> str | None:
    try:
        return read_source(path)
    except OSError:
        return None


def _print(options: argparse.Namespace, outcome: Outcome, changed: dict[str, tuple[str, str]], unread: bool) -> None:
    if options.format == "json":
        print(json.dump(_as_json(outcome)))
        return
    if options.diff:
        for path, (old, new) in changed.items():
            print(_diff(shown_path(path), old, new), end="")
    elif not options.quiet:
        for item in outcome.applied:
            said = fixing.applied(item.reply, [item.finding])
            if item.by:
                said = (
                    f"`{item.finding.name}` in `{item.finding.function}` is gone with the fix of "
                    f"`{item.by.name}` in `{item.by.function}`"
                )
            print(f"{', '.join(map(shown_path, item.files))}: {said}")
    for refused in outcome.refused:
        finding = refused.finding
        print(
            f"{shown_path(refused.path)}:{refused.line}: not fixed: {finding.rule} `{finding.name}` in "
            f"`{finding.function}`: {refused.reason}"
        )
    if not options.quiet and not options.diff and not outcome.applied and not outcome.refused and not unread:
        print(f"Nothing to fix: no {options.rule} findings.")


def _diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(_LINE.findall(old), _LINE.findall(new), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "version": json.VERSION,
        "applied": [
            {
                "rule": item.finding.rule,
                "name": item.finding.name,
                "function": item.finding.function,
                "files": [shown_path(path) for path in item.files],
                "verified": _verified(item.reply),
            }
            for item in outcome.applied
        ],
        "refused": [
            {
                "rule": item.finding.rule,
                "name": item.finding.name,
                "function": item.finding.function,
                "reason": item.reason,
                "path": shown_path(item.path),
                "line": item.line,
            }
            for item in outcome.refused
        ],
    }


def _verified(reply: VerifyReply | None) -> dict[str, bool | None] | None:
    if reply is None:
        return None
    return {
        "imports": reply.imports,
        "constant_gone": reply.constant_gone,
        "avals_equal": reply.avals_equal,
        "values_equal": reply.values_equal,
    }
