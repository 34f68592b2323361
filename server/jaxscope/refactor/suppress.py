"""Adds `# jaxscope: ignore[rule]` to a line, or the rule to the comment that is there."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator

from jaxscope.refactor.change import Refusal
from jaxscope.source.module import Module
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit
from jaxscope.text.span import LineIndex, Span

_IGNORE = re.compile(r"#\s*jaxscope:\s*ignore(?!-)\b(?:\s*\[([^\]]*)\])?", re.IGNORECASE)


def ignore_on_line(module: Module, rule: str, line: int) -> SourceChange | Refusal:
    """Tells `rule` to be quiet on `line` (from 1). A refusal where no comment can stand on that line."""
    if not 1 <= line <= len(module.lines.starts):
        return Refusal("There is no such line.", module.path, line)
    start = module.lines.starts[line - 1]
    text = module.lines.line(line).rstrip("\r\n")
    end = start + len(text)
    comment = None
    for kind, first, last in _tokens(module, line):
        if kind == tokenize.STRING and first < end < last:
            return Refusal(
                "A string goes on over the end of this line, so that no comment can stand on it.", module.path, line
            )
        if kind == tokenize.COMMENT and start <= first <= end:
            comment = first
    if comment is None and text.endswith("\\"):
        return Refusal("The line goes on after a backslash, so that no comment can stand on it.", module.path, line)
    edit = _edit(module.text, rule, comment, Span(start, end))
    files = (FileChange(module.path, module.text, TextEdit.of([edit])),) if edit else ()
    return SourceChange(files)


def _edit(text: str, rule: str, comment: int | None, line: Span) -> Edit | None:
    content = text[line.start : line.end]
    stop = line.start + len(content.rstrip())
    if comment is None:
        return Edit(Span(stop, line.end), f"  # jaxscope: ignore[{rule}]")
    match = _IGNORE.search(text, comment, line.end)
    if not match:
        return Edit(Span(stop, stop), f"  # jaxscope: ignore[{rule}]")
    if match[1] is None:  # it already covers every rule
        return None
    names = [name.strip() for name in match[1].split(",") if name.strip()]
    if rule in (name.lower() for name in names):
        return None
    at = match.end(1)
    return Edit(Span(at, at), f", {rule}" if names else rule)


def _tokens(module: Module, line: int) -> Iterator[tuple[int, int, int]]:
    """(type, first offset, offset after) of comments, and of strings over several lines, in the part around a line."""
    chunk = next((item for item in reversed(module.chunks) if module.first_line(item) <= line), None)
    if chunk is None:
        return
    part = LineIndex(chunk.text)
    begin = module.lines.starts[module.first_line(chunk) - 1]
    starts = [begin + start for start in part.starts]
    lines = iter(range(1, len(starts) + 1))
    opened: list[int] = []
    fstring_start = getattr(tokenize, "FSTRING_START", -1)
    fstring_end = getattr(tokenize, "FSTRING_END", -1)
    try:
        for token in tokenize.generate_tokens(lambda: part.line(next(lines, 0))):
            if token.type not in (tokenize.COMMENT, tokenize.STRING, fstring_start, fstring_end):
                continue  # the last of them may stand after the last line
            first = starts[token.start[0] - 1] + token.start[1]
            last = starts[token.end[0] - 1] + token.end[1]
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield token.type, first, last
            elif token.type == fstring_start:
                opened.append(first)
            elif token.type == fstring_end and opened:
                yield tokenize.STRING, opened.pop(), last
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
