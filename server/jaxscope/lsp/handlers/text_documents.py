"""`textDocument/didOpen`, `didChange`, `didSave`, `didClose`: keeps the texts, publishes diagnostics at once."""

from __future__ import annotations

from lsprotocol import types

from jaxscope.lsp.convert import to_path
from jaxscope.lsp.documents import Document
from jaxscope.lsp.session import Session

PYTHON = "python"


def did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Only Python files on disk are looked at; not notebook cells, not unnamed documents."""
    item = params.text_document
    path = to_path(item.uri)
    if path is not None and item.language_id == PYTHON:
        session.open(Document(item.uri, path, item.version, item.text))


def did_change(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """Applies the edits."""
    item = params.text_document
    path = to_path(item.uri)
    document = session.documents.get(path) if path else None
    if document is not None:
        session.change(document.changed(item.version, params.content_changes, session.client.columns))


def did_save(session: Session, params: types.DidSaveTextDocumentParams) -> None:
    """A save is when code is run, unless the user chose otherwise."""
    if path := to_path(params.text_document.uri):
        session.save(path)


def did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """Takes the diagnostics away."""
    if path := to_path(params.text_document.uri):
        session.close(path)
