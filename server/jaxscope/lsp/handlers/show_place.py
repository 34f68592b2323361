"""`jaxscope.showPlace`: takes the user to the place that prevents a fix, and says how it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from jaxscope.ide import fix
from jaxscope.lsp.convert import to_uri
from jaxscope.lsp.session import Session
from jaxscope.refactor.change import Refusal
from jaxscope.text.span import LineIndex, Position, Range


async def handle(session: Session, place: Mapping[str, Any]) -> None:
    """`place` has the `path`, the `line` from 1, and the `reason`."""
    refusal = Refusal(str(place["reason"]), str(place["path"]), int(place["line"]))
    document = session.documents.get(refusal.path)
    lines = LineIndex(session.folder(refusal.path).workspace.text(refusal.path) or "")
    text = lines.line(refusal.line).rstrip("\r\n")
    start = Position(refusal.line, len(text) - len(text.lstrip()) + 1)
    selection = session.client.columns.range_to_lsp(lines, Range(start, Position(refusal.line, len(text) + 1)))
    await session.client.show(document.uri if document else to_uri(refusal.path), selection)
    session.client.message(fix.refused(refusal, ""), types.MessageType.Info)
