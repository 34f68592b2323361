"""`textDocument/codeAction`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

from lsprotocol import types

from jaxscope.ide import actions, fix
from jaxscope.ide.actions import Action
from jaxscope.lsp.convert import to_path, workspace_edit
from jaxscope.lsp.documents import Document
from jaxscope.lsp.session import Session
from jaxscope.rules.finding import Finding
from jaxscope.text.span import LineIndex

APPLY_FIX = "jaxscope.applyFix"
FIX_ALL = "jaxscope.fixAll"
SHOW_PLACE = "jaxscope.showPlace"
MEASURE = "jaxscope.measure"
KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.Source, actions.FIX_ALL)


def handle(session: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    """What can be done about the findings in the selection."""
    path = to_path(params.text_document.uri)
    document = session.documents.get(path) if path else None
    if document is None:
        return []
    context = params.context
    workspace, only = session.folder(document.path).workspace, _names(context.only)
    found = actions.fix_all(workspace, document.path)
    if not only or not all(name.startswith("source.fixAll") for name in only):  # on save nothing else is wanted
        place = session.client.columns.range_from_lsp(LineIndex(document.text), params.range)
        found = actions.actions(workspace, document.path, place, session.situation(document.path)) + found
    wanted = [item for item in found if _wanted(item.kind, only)]
    if unplanned := {item.findings[0] for item in wanted if not item.planned}:
        session.spawn(_plan_ahead(session, document.path, unplanned))
    return [action for item in wanted if (action := _action(session, document, item, context)) is not None]


async def _plan_ahead(session: Session, path: str, findings: Iterable[Finding]) -> None:
    """Looks whether the fixes can be made. Editors ask again before the user has chosen one."""
    workspace = session.folder(path).workspace
    texts = workspace.open_texts()
    for finding in set(findings) - session.planning:
        plans = workspace.plans(path)
        plan = partial(fix.prepare_apart, workspace.root, texts, finding)
        session.planning.add(finding)
        try:
            planned = await asyncio.get_running_loop().run_in_executor(None, plan)
        finally:
            session.planning.discard(finding)
        if workspace.plans(path) is not plans:  # something has changed meanwhile
            return
        plans[finding] = planned


def _names(only: Sequence[types.CodeActionKind | str] | None) -> list[str]:
    return [str(item.value if isinstance(item, types.CodeActionKind) else item) for item in only or ()]


def _wanted(kind: str, only: Sequence[str]) -> bool:
    """Kinds are a tree: who asks for `source` wants `source.x` too."""
    return not only or any(kind == name or kind.startswith(f"{name}.") or not name for name in only)


def _action(
    session: Session, document: Document, item: Action, context: types.CodeActionContext
) -> types.CodeAction | None:
    client = session.client
    action = types.CodeAction(
        title=item.title,
        kind=item.kind,
        diagnostics=_about(session, document, item, context.diagnostics) or None,
        is_preferred=True if item.preferred else None,
    )
    if item.disabled:
        action.disabled = types.CodeActionDisabled(reason=item.disabled)
        return action if client.disabled_actions else None
    if item.change is not None:
        action.edit = workspace_edit(item.change, client.columns, session.versions(), client.versioned_edits)
        return action
    if (item.measures and not client.commands) or (item.preview and not client.annotated_edits):
        return None
    action.command = _command(document, item, context)
    return action


def _command(document: Document, item: Action, context: types.CodeActionContext) -> types.Command:
    if item.measures:
        return types.Command(item.title, MEASURE, arguments=[document.uri, item.measures])
    if item.shows:
        place = {"path": item.shows.path, "line": item.shows.line, "reason": item.shows.reason}
        return types.Command(item.title, SHOW_PLACE, arguments=[place])
    if item.fixes_all:
        automatic = context.trigger_kind == types.CodeActionTriggerKind.Automatic
        target = {"uri": document.uri, "version": document.version, "automatic": automatic}
        return types.Command(item.title, FIX_ALL, arguments=[target])
    return types.Command(item.title, APPLY_FIX, arguments=[_target(document, item)])


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
    if item.preview:
        target["preview"] = True
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
