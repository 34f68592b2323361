"""`textDocument/codeLens`."""

from __future__ import annotations

from lsprotocol import types

from jaxscope.ide.lens import Lens, lenses
from jaxscope.lsp.convert import to_path
from jaxscope.lsp.session import Session

SERVER_COMMANDS = ("jaxscope.cancel",)
"""What the server itself answers, whatever the client."""
PLAIN_COMMANDS = ("jaxscope.traceNow",)
"""What the server answers for clients that do not bring the extension's commands."""


def handle(session: Session, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The line over each traced function. A lens that the client cannot act on is only text."""
    path = to_path(params.text_document.uri)
    document = session.documents.get(path) if path else None
    if document is None:
        return []
    folder = session.folder(document.path)
    if not folder.config.code_lens:
        return []
    found = lenses(folder.workspace, document.path, session.situation(document.path))
    shown = [_lens(item, document.uri, session.client.commands) for item in found]
    return [item for item in shown if item is not None]


def _lens(item: Lens, uri: str, commands: bool) -> types.CodeLens | None:
    at = types.Position(item.line - 1, 0)
    place = types.Range(at, at)
    link = item.link
    known = link is not None and (link.command in SERVER_COMMANDS or commands or link.command in PLAIN_COMMANDS)
    if link is not None and known:
        return types.CodeLens(place, types.Command(item.title, link.command, arguments=[uri, *link.arguments]))
    # A mere action is of no use without its command; what a lens tells still is.
    return types.CodeLens(place, types.Command(item.title, "")) if item.tells else None
