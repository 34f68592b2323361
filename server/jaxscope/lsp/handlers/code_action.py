"""`textDocument/codeAction`."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from jaxscope.ide.actions import Action, actions
from jaxscope.lsp.convert import to_path, workspace_edit
from jaxscope.lsp.documents import Document
from jaxscope.lsp.session import Session
from jaxscope.text.span import LineIndex

APPLY_FIX = "jaxscope.applyFix"
MEASURE = "jaxscope.measure"
KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.Source)


def handle(session: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    """What can be done about the findings in the selection."""
    path = to_path(params.text_document.uri)
    document = session.documents.get(path) if path else None
    if document is None:
        return []
    place = session.client.columns.range_from_lsp(LineIndex(document.text), params.range)
    workspace = session.folder(document.path).workspace
    found = actions(workspace, document.path, place, session.situation(document.path))
    shown = [_action(session, document, item, params.context.diagnostics) for item in found]
    return [item for item in shown if item is not None and _wanted(item, params.context.only)]


def _wanted(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Kinds are a tree: who asks for `source` wants `source.x` too."""
    kind = str(action.kind.value if isinstance(action.kind, types.CodeActionKind) else action.kind)
    names = [str(item.value if isinstance(item, types.CodeActionKind) else item) for item in only or ()]
    return not names or any(kind == name or kind.startswith(f"{name}.") or not name for name in names)


def _action(
    session: Session, document: Document, item: Action, sent: Sequence[types.Diagnostic]
) -> types.CodeAction | None:
    client = session.client
    action = types.CodeAction(
        title=item.title,
        kind=types.CodeActionKind.Source if item.kind == "source" else types.CodeActionKind.QuickFix,
        diagnostics=_about(session, document, item, sent) or None,
        is_preferred=True if item.preferred else None,
    )
    if item.disabled:
        if not client.disabled_actions:
            return None
        action.disabled = types.CodeActionDisabled(reason=item.disabled)
    elif item.change is not None:
        action.edit = workspace_edit(item.change, client.columns, session.versions(), client.versioned_edits)
    elif item.measures:
        if not client.commands:
            return None
        action.command = types.Command(item.title, MEASURE, arguments=[document.uri, item.measures])
    else:
        action.command = types.Command(item.title, APPLY_FIX, arguments=[_target(document, item)])
    return action


def _target(document: Document, item: Action) -> dict[str, object]:
    first = item.findings[0]
    target: dict[str, object] = {
        "uri": document.uri,
        "version": document.version,
        "rule": first.rule,
        "name": first.name,
        "function": first.function,
        "line": first.range.start.line,
    }
    if len(item.findings) > 1:
        target["names"] = [finding.name for finding in item.findings]
    return target


def _about(
    session: Session, document: Document, item: Action, sent: Sequence[types.Diagnostic]
) -> list[types.Diagnostic]:
    """Those of the client's diagnostics that the action is about."""
    lines, columns = LineIndex(document.text), session.client.columns
    places = {(finding.rule, columns.range_to_lsp(lines, finding.range).start.line) for finding in item.findings}
    return [diagnostic for diagnostic in sent if (diagnostic.code, diagnostic.range.start.line) in places]
