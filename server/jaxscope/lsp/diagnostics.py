"""Findings as LSP diagnostics."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from lsprotocol import types

from jaxscope.ide.blocked import blocked_text
from jaxscope.ide.workspace import Workspace
from jaxscope.lsp.convert import Columns, to_uri
from jaxscope.lsp.user_folders import cache_folder
from jaxscope.rules.base import all_rules
from jaxscope.rules.finding import Finding, Related
from jaxscope.text.span import LineIndex, Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import Denied

SOURCE = "jaxscope"
_SEVERITIES = {
    "hint": types.DiagnosticSeverity.Hint,
    "information": types.DiagnosticSeverity.Information,
    "warning": types.DiagnosticSeverity.Warning,
    "error": types.DiagnosticSeverity.Error,
}
LinesOf = Callable[[str], LineIndex | None]


def diagnostics(workspace: Workspace, path: str, columns: Columns) -> list[types.Diagnostic]:
    """All diagnostics of a file."""
    text = workspace.text(path)
    if text is None:
        return []

    def lines_of(file: str) -> LineIndex | None:
        module = workspace.project.module(file)
        return module.lines if module else None

    lines = LineIndex(text)
    found = [_diagnostic(item, lines, columns, lines_of) for item in workspace.findings(path)]
    reply = workspace.reply(path)
    return found + [_denied(item, path, lines, columns) for item in dict.fromkeys(reply.denied if reply else ())]


def _diagnostic(item: Finding, lines: LineIndex, columns: Columns, lines_of: LinesOf) -> types.Diagnostic:
    page = rule_page(item.rule)
    return types.Diagnostic(
        range=columns.range_to_lsp(lines, item.range),
        message=item.message,
        severity=_SEVERITIES[item.severity],
        code=item.rule,
        code_description=types.CodeDescription(href=page) if page else None,
        source=SOURCE,
        related_information=[_related(other, columns, lines_of) for other in item.related],
        data={"rule": item.rule, "name": item.name, "function": item.function, "line": item.range.start.line},
    )


def _related(item: Related, columns: Columns, lines_of: LinesOf) -> types.DiagnosticRelatedInformation:
    lines = lines_of(item.path)
    if lines is None:
        place = types.Range(types.Position(item.line - 1, 0), types.Position(item.line - 1, 0))
    else:
        place = columns.range_to_lsp(lines, _line_range(lines, item.line, item.column, item.end_column))
    return types.DiagnosticRelatedInformation(types.Location(to_uri(item.path), place), item.message)


def _line_range(lines: LineIndex, line: int, column: int = 0, end_column: int = 0) -> Range:
    """The stretch given by columns, or the code of the whole line when they are not known."""
    text = lines.line(line).rstrip("\r\n")
    start = column or len(text) - len(text.lstrip()) + 1
    return Range(Position(line, start), Position(line, max(end_column or len(text) + 1, start)))


def _denied(item: Denied, path: str, lines: LineIndex, columns: Columns) -> types.Diagnostic:
    line = item.place.line if item.place and item.place.path == path else 1
    name = os.path.basename(path)
    return types.Diagnostic(
        range=columns.range_to_lsp(lines, _line_range(lines, line)),
        message=f"Importing `{name}` {blocked_text(item)}.",
        severity=types.DiagnosticSeverity.Information,
        code="side-effect-guard",
        source=SOURCE,
    )


@cache
def rule_page(name: str) -> str | None:
    """Address of a page that documents a rule, written from the rule's own documentation. None when it cannot be."""
    rule = all_rules().get(name)
    if rule is None or not rule.doc:
        return None
    file = os.path.join(cache_folder(), "rules", f"{name}.md")
    text = f"# {name}\n\n{rule.doc.strip()}\n"
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError:
        return None
    return to_uri(os.path.abspath(file))
