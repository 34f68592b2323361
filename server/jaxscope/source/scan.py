"""Splits a text that does not parse into pieces that probably are top-level statements.

Only used for text with a syntax error, so that one broken line does not take the rest of the file with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    |(?P<quote>\"\"\"|'''|\"|')
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<joined>\\(?:\r\n|\r|\n))
    |(?P<newline>\r\n|\r|\n)""",
    re.VERBOSE,
)
_STRING_END = {
    '"""': re.compile(r'(?:[^\\"]|\\.|"(?!""))*"""', re.DOTALL),
    "'''": re.compile(r"(?:[^\\']|\\.|'(?!''))*'''", re.DOTALL),
    '"': re.compile(r'(?:[^\\"\r\n]|\\(?:\r\n|.))*"', re.DOTALL),
    "'": re.compile(r"(?:[^\\'\r\n]|\\(?:\r\n|.))*'", re.DOTALL),
}
# A line that begins so opens a statement whatever brackets are still open above it.
_SURE_START = re.compile(r"(?:def|class|async[ \t]+def|import)[ \t]+\w|@[\w.]+|from[ \t]+[\w.]+[ \t]+import\b")
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")


@dataclass(frozen=True, slots=True)
class Pieces:
    """Offsets at which a piece begins, and whether a triple-quoted string is left open."""

    starts: tuple[int, ...]
    open_string: bool


def pieces(text: str) -> Pieces:
    """Where top-level statements of `text` probably begin; the first offset is always 0."""
    starts, at, depth, open_string, decorated = [0], 0, 0, False, text.startswith("@")
    while match := _TOKEN.search(text, at):
        at = match.end()
        kind = match.lastgroup
        if kind == "quote":
            end = _STRING_END[match[0]].match(text, at)
            if end:
                at = end.end()
            else:
                open_string = open_string or len(match[0]) == 3
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "newline" and at < len(text) and text[at] not in " \t\f#\r\n)]}":
            sure = bool(_SURE_START.match(text, at))
            if (depth and not sure) or _CONTINUES.match(text, at):
                continue
            depth = 0
            if not decorated:
                starts.append(at)
            decorated = text[at] == "@"
    return Pieces(tuple(starts), open_string)
