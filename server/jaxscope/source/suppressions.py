"""`# jaxscope: ignore[rule]` on a line and `# jaxscope: ignore-file[rule]` anywhere in a file.

Several rules are separated by commas; without brackets every rule is meant. A comment on any line of a bracketed
expression or joined line covers only its own line.
"""

from __future__ import annotations

import io
import re
import tokenize

from jaxscope.source.module import Module

_COMMENT = re.compile(r"#\s*jaxscope:\s*(ignore-file|ignore)\b(?:\s*\[([^\]]*)\])?", re.IGNORECASE)
_EVERY = "*"


def suppressed(module: Module, rule: str, line: int) -> bool:
    """Is `rule` told to be quiet on line `line`?"""
    if "jaxscope:" not in module.text:
        return False
    by_line, in_file = _found(module)
    return any(rules & {rule, _EVERY} for rules in (in_file, by_line.get(line, set())))


def _found(module: Module) -> tuple[dict[int, set[str]], set[str]]:
    by_line: dict[int, set[str]] = {}
    in_file: set[str] = set()
    for chunk in module.chunks:
        if "suppressions" not in chunk.facts:
            chunk.facts["suppressions"] = _of_chunk(chunk.text)
        for local, kind, rules in chunk.facts["suppressions"]:
            if kind == "ignore-file":
                in_file |= rules
            else:
                by_line.setdefault(module.first_line(chunk) + local - 1, set()).update(rules)
    return by_line, in_file


def _of_chunk(text: str) -> list[tuple[int, str, set[str]]]:
    """(line from 1, kind, rules) of each comment of the chunk."""
    if "jaxscope:" not in text:
        return []
    found = []
    for line, comment in _comments(text):
        if match := _COMMENT.search(comment):
            rules = {name.strip().lower() for name in (match[2] or _EVERY).split(",") if name.strip()}
            found.append((line, match[1].lower(), rules))
    return found


def _comments(text: str) -> list[tuple[int, str]]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.string))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found
