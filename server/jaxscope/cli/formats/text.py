"""`--format text`: for people, on a terminal or in a log."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxscope.cli.report import NO_SHAPES, NOT_ASKED, RUNS_WHEN_IMPORTED, ErrorRow, Report, with_python
from jaxscope.cli.targets import shown_path
from jaxscope.rules.finding import SEVERITIES, Finding, Refuted
from jaxscope.text.span import LineIndex
from jaxscope.worker.jaxscope_worker.wire.messages import Hello

_COLOURS = {"error": "31", "warning": "33", "information": "36", "hint": "36", "bold": "1", "dim": "2", "blue": "34"}
_WIDEST = 160
"""Characters of a source line that are shown."""


@dataclass(frozen=True, slots=True)
class Style:
    """How much to print, and whether in colours."""

    colour: bool = False
    verbose: bool = False
    quiet: bool = False

    def paint(self, text: str, colour: str) -> str:
        """`text` in a colour, where colours are wanted."""
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.colour and text else text


def render(report: Report, style: Style) -> str:
    """The report as lines, each finding with its source line."""
    indexes = {path: LineIndex(text) for path, text in report.texts.items()}
    blocks = ["\n".join(_finding(item, indexes, style)) for item in report.findings]
    if style.verbose:
        blocks += ["\n".join(_refuted(item, style)) for item in report.refuted]
        if functions := list(_functions(report, style)):
            blocks.append("\n".join(functions))
    blocks += [_error(row, style, report.environment) for row in report.errors]
    if not style.quiet:
        blocks.append(_summary(report, style))
    return "\n\n".join(blocks)


def _finding(item: Finding, indexes: Mapping[str, LineIndex], style: Style) -> Iterator[str]:
    start = item.range.start
    place = style.paint(f"{shown_path(item.path)}:{start.line}:{start.column}:", "bold")
    label = style.paint(item.severity, item.severity)
    seen = "" if item.evidence == "static" else " [recorded]" if item.recorded else " [traced]"
    yield f"{place} {label} {style.paint(item.rule, 'bold')}: {item.message}{seen}"
    margin = " " * len(str(start.line))
    index = indexes.get(item.path)
    line = index.line(start.line).rstrip("\r\n") if index else ""
    bar = style.paint("|", "blue")
    if line.strip():
        end = item.range.end.column if item.range.end.line == start.line else len(line) + 1
        shown, caret = _underlined(line, start.column, end)
        yield f" {margin} {bar}"
        yield f" {style.paint(str(start.line), 'blue')} {bar} {shown}"
        yield f" {margin} {bar} {style.paint(caret, item.severity)}"
    mark = style.paint("=", "blue")
    for related in item.related:
        yield f" {margin} {mark} {shown_path(related.path)}:{related.line}: {related.message}"
    for fix in item.fixes:
        unsafe = " (unsafe: may change what the program does)" if fix.safety == "unsafe" else ""
        yield f" {margin} {mark} fix: {fix.title}{unsafe}"
    if item.refused:
        yield f" {margin} {mark} no fix: {item.refused}"


def _underlined(line: str, start: int, end: int) -> tuple[str, str]:
    """The line with tabs widened and its length held, and carets under the characters from `start` up to `end`."""
    first = max(0, start - 1 - _WIDEST // 2) if len(line) > _WIDEST else 0
    cut = line[first : first + _WIDEST]
    before, marked = cut[: start - 1 - first], cut[start - 1 - first : max(end, start + 1) - 1 - first]
    head = "…" if first else ""
    tail = "…" if first + _WIDEST < len(line) else ""
    caret = " " * (_width(head) + _width(before)) + "^" * max(_width(marked), 1)
    return head + cut.replace("\t", "    ") + tail, caret


def _width(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text) + 3 * text.count("\t")
    return sum(_character_width(char) for char in text)


def _character_width(char: str) -> int:
    if char == "\t":
        return 4
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _refuted(item: Refuted, style: Style) -> Iterator[str]:
    start = item.finding.range.start
    place = style.paint(f"{shown_path(item.finding.path)}:{start.line}:{start.column}:", "bold")
    yield f"{place} {style.paint('refuted', 'dim')} {item.finding.rule}: {item.finding.message}"
    yield f"   = {item.reason}"


def _functions(report: Report, style: Style) -> Iterator[str]:
    for row in report.functions:
        place = style.paint(f"{shown_path(row.path)}:{row.line}:", "bold")
        if not row.signatures:
            yield f"{place} {row.function}: {row.status}"
        for item in row.signatures:
            yield f"{place} {row.function}: {', '.join(item.inputs)} → {', '.join(item.out)} ({item.source})"
        if row.total:
            yield f"{place} {row.total}"


def _error(row: ErrorRow, style: Style, ran: Hello | None) -> str:
    place = style.paint(f"{shown_path(row.path)}:{row.line}:", "bold")
    return f"{place} {style.paint('failed', 'error')} {row.kind}: {with_python(row.message, ran)}"


def _summary(report: Report, style: Style) -> str:
    found = Counter(item.severity for item in report.findings)
    files = _counted(len(report.files), "file")
    if found:
        said = ", ".join(_counted(found[level], level) for level in reversed(SEVERITIES) if found[level])
        fixable = sum(bool(item.fixes) for item in report.findings)
        text = f"Found {said} in {files}."
        if fixable:
            text += f" `jaxscope fix` can try to fix {fixable}."
    else:
        text = f"No findings in {files}."
    errors = report.errors
    text += f" {_counted(len(errors), 'problem')} kept something from being looked at." if errors else ""
    return "\n".join(filter(None, (text, _untraced(report, style))))


def _untraced(report: Report, style: Style) -> str:
    """How many functions a run that traces could not trace, so that nobody takes what is inferred for traced."""
    wanted = [row for row in report.functions if not row.signatures and not row.status.endswith(f": {NOT_ASKED}")]
    if not wanted:
        return ""
    reasons = Counter(_short(row.status) for row in wanted)
    said = ", ".join(reason + (f" ({count})" if len(reasons) > 1 else "") for reason, count in reasons.most_common())
    verb = "was" if len(wanted) == 1 else "were"
    hint = "" if style.verbose else " (-v lists them)"
    return f"{_counted(len(wanted), 'function')} {verb} not traced: {said}{hint}"


def _short(status: str) -> str:
    """A function's status as a reason that it shares with others."""
    kind, _, reason = status.partition(": ")
    if kind == "failed":
        return "failed"
    known = {NO_SHAPES: "no known shapes", RUNS_WHEN_IMPORTED: "the file runs when imported"}
    return next((short for long, short in known.items() if reason.startswith(long)), "other reasons")


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 or word == "information" else "s")
