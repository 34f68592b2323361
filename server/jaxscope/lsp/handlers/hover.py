"""`textDocument/hover`."""

from __future__ import annotations

from lsprotocol import types

from jaxscope.ide.hover import hover
from jaxscope.lsp.convert import to_path
from jaxscope.lsp.session import Session
from jaxscope.text.span import LineIndex


def handle(session: Session, params: types.HoverParams) -> types.Hover | None:
    """What is known at the place pointed at."""
    path = to_path(params.text_document.uri)
    document = session.documents.get(path) if path else None
    if document is None:
        return None
    lines, columns = LineIndex(document.text), session.client.columns
    position = columns.from_lsp(lines, params.position)
    style = session.client.hover_style(document.uri)
    workspace = session.folder(document.path).workspace
    found = hover(workspace, document.path, position, session.situation(document.path), style)
    if found is None:
        return None
    place = columns.range_to_lsp(lines, found.range) if found.range else None
    return types.Hover(types.MarkupContent(session.client.markup, found.markdown), place)
