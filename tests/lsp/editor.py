"""A small editor for tests: it keeps texts, applies the server's edits as real editors do, answers its questions."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

PATIENCE = 60.0
"""Seconds after which something that should have come is missed. Other work may share the machine."""
SERVE = [sys.executable, "-m", "jaxscope.cli.main", "serve"]


@dataclass
class Text:
    """An open document."""

    uri: str
    text: str
    version: int = 1
    published: list[types.PublishDiagnosticsParams] = field(default_factory=list)


def capabilities(
    *, utf: Sequence[str] = (), versioned: bool = True, tags: Sequence[str] = (), annotated: bool = True
) -> types.ClientCapabilities:
    """What a full editor says of itself."""
    annotations = types.ChangeAnnotationsSupportOptions(groups_on_label=True) if annotated else None
    markdown = types.MarkdownClientCapabilities(parser="marked", allowed_tags=list(tags))
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(
            position_encodings=list(utf) or None, markdown=markdown if tags else None
        ),
        window=types.WindowClientCapabilities(
            work_done_progress=True,
            show_message=types.ShowMessageRequestClientCapabilities(),
            show_document=types.ShowDocumentClientCapabilities(support=True),
        ),
        workspace=types.WorkspaceClientCapabilities(
            apply_edit=True,
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=versioned, change_annotation_support=annotations, metadata_support=True
            ),
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
            execute_command=types.ExecuteCommandClientCapabilities(),
        ),
        text_document=types.TextDocumentClientCapabilities(
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
            code_lens=types.CodeLensClientCapabilities(),
            code_action=types.CodeActionClientCapabilities(
                disabled_support=True,
                is_preferred_support=True,
                data_support=True,
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.Source])
                ),
            ),
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                related_information=True, version_support=True, code_description_support=True, data_support=True
            ),
        ),
    )


class Editor:
    """One editor with one server of its own."""

    def __init__(self, folder: Path, client: LanguageClient) -> None:
        self.folder, self.client = folder, client
        self.texts: dict[str, Text] = {}
        self.questions: list[types.ShowMessageRequestParams] = []
        self.answer: str | None = None
        """Button to press when asked."""
        self.messages: list[str] = []
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        """What the server wanted to have edited."""
        self.discards = False
        """Does the user close previews without applying them?"""
        self.shown: list[types.ShowDocumentParams] = []
        self.refreshes = 0
        self.watched: list[str] = []
        """Patterns of the files that the server wants to be told of."""
        self.notified: dict[str, list[Any]] = {}
        self.before_applying: Callable[[], None] = lambda: None
        """Called when the server wants an edit made."""

    @classmethod
    async def start(
        cls,
        folder: Path,
        options: dict[str, Any] | None = None,
        client_capabilities: types.ClientCapabilities | None = None,
    ) -> Editor:
        """Starts a server for a folder. Its state and caches are kept in the folder, too."""
        env = os.environ | {"XDG_STATE_HOME": str(folder / ".state"), "XDG_CACHE_HOME": str(folder / ".cache")}
        env.pop("VIRTUAL_ENV", None)
        client = await ClientServerConfig(SERVE, make_client, env).start()
        assert isinstance(client, LanguageClient)
        editor = cls(folder, client)
        editor._listen()
        await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities or capabilities(),
                root_uri=folder.as_uri(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
                initialization_options={"interpreter": sys.executable} | (options or {}),
            )
        )
        return editor

    async def stop(self) -> None:
        """Ends the session as the protocol says."""
        await asyncio.wait_for(self.client.shutdown_session(), PATIENCE)
        await self.client.stop()

    # ------------------------------------------------------------ what the server asks and says

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            if params.uri in self.texts:
                self.texts[params.uri].published.append(params)

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def question(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.questions.append(params)
            return types.MessageActionItem(self.answer) if self.answer else None

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def refresh(params: None) -> None:
            self.refreshes += 1

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.before_applying()
            self.edits.append(params)
            notes = (params.edit.change_annotations or {}).values()
            if self.discards and any(note.needs_confirmation for note in notes):
                return types.ApplyWorkspaceEditResult(False)
            reason = self.apply(params.edit)
            return types.ApplyWorkspaceEditResult(reason is None, reason)

        @client.feature(types.WINDOW_SHOW_DOCUMENT)
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown.append(params)
            return types.ShowDocumentResult(True)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            for item in params.registrations:
                options: Any = item.register_options
                self.watched += [watcher["globPattern"] for watcher in options["watchers"]]

        for method in ("jaxscope/status", "jaxscope/didTrace", "jaxscope/didRecord", "jaxscope/stage"):
            self._collect(method)

    def _collect(self, method: str) -> None:
        @self.client.feature(method)
        def notified(params: Any) -> None:
            self.notified.setdefault(method, []).append(params)

    def apply(self, edit: types.WorkspaceEdit) -> str | None:
        """Makes an edit; why not, when it was made for another version."""
        found: list[tuple[str, int | None, Sequence[Any]]] = []
        for change in edit.document_changes or []:
            assert isinstance(change, types.TextDocumentEdit)
            found.append((change.text_document.uri, change.text_document.version, change.edits))
        found += [(uri, None, edits) for uri, edits in (edit.changes or {}).items()]
        for uri, version, _ in found:
            if uri not in self.texts:
                self.open(str(self._path(uri).relative_to(self.folder)))
            if version is not None and self.texts[uri].version != version:
                return "the document has changed"
        for uri, _, edits in found:
            text = self.texts[uri].text
            for item in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
                text = replaced(text, item.range, item.new_text)
            self.change(uri, text)
        return None

    # ------------------------------------------------------------ what the user does

    def open(self, name: str, text: str | None = None) -> str:
        """Opens a file of the folder, written first if a text is given. Its address."""
        file = self.folder / name
        if text is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        uri = file.as_uri()
        content = file.read_bytes().decode()
        self.texts[uri] = Text(uri, content)
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, content))
        )
        return uri

    def change(self, uri: str, text: str, edit: types.TextDocumentContentChangePartial | None = None) -> None:
        """Types: the text is now `text`, told whole or as `edit`."""
        item = self.texts[uri]
        item.text, item.version = text, item.version + 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(item.version, uri),
                [edit or types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def type(self, uri: str, place: types.Range, new: str) -> None:
        """Types `new` over a place, told as an incremental edit."""
        text = replaced(self.texts[uri].text, place, new)
        self.change(uri, text, types.TextDocumentContentChangePartial(place, new))

    def save(self, uri: str) -> None:
        """Saves a document."""
        self._path(uri).write_bytes(self.texts[uri].text.encode())
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def _path(self, uri: str) -> Path:
        return next(path for path in self.folder.rglob("*.py") if path.as_uri() == uri)

    async def diagnostics(
        self, uri: str, wanted: Callable[[list[types.Diagnostic]], bool], patience: float = PATIENCE
    ) -> list[types.Diagnostic]:
        """The diagnostics of the present version, once they are as wanted."""

        def now() -> list[types.Diagnostic] | None:
            item = self.texts[uri]
            last = next((one for one in reversed(item.published) if one.version == item.version), None)
            return list(last.diagnostics) if last and wanted(list(last.diagnostics)) else None

        return await self.until(now, lambda: f"diagnostics were {self.texts[uri].published[-1:]}", patience)

    async def traced(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics once a trace of the file has come."""
        await self.until(
            lambda: any(item.uri == uri for item in self.notified.get("jaxscope/didTrace", [])) or None,
            lambda: f"no trace of {uri}; {self.notified.get('jaxscope/status')}",
        )
        return await self.diagnostics(uri, lambda found: True)

    async def until(self, look: Callable[[], Any], say: Callable[[], str], patience: float = PATIENCE) -> Any:
        """What `look` finds, as soon as it finds something."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if (found := look()) is not None:
                return found
            await asyncio.sleep(0.02)
        raise AssertionError(say())

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        """The Markdown of the hover at a place, counted as LSP does."""
        found = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        )
        return found.contents.value if found and isinstance(found.contents, types.MarkupContent) else None

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        """The lenses of a document."""
        found = await self.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
        return list(found or [])

    async def actions(
        self, uri: str, place: types.Range, only: Sequence[str] = (), saving: bool = False
    ) -> list[types.CodeAction]:
        """The code actions at a place; `saving`: as editors ask for them before a save."""
        trigger = types.CodeActionTriggerKind.Automatic if saving else types.CodeActionTriggerKind.Invoked
        context = types.CodeActionContext([], list(only) or None, trigger)
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        )
        return [item for item in found or [] if isinstance(item, types.CodeAction)]

    async def execute(self, command: types.Command) -> Any:
        """Runs a command of the server."""
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command.command, list(command.arguments or []))
        )

    async def ask(self, method: str, **params: Any) -> Any:
        """One of the server's own requests."""
        return await self.client.protocol.send_request_async(method, params)


def make_client() -> LanguageClient:
    """A client without the handlers that `Editor` brings."""
    client = LanguageClient(converter_factory=_converter)
    ours = (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, types.WINDOW_SHOW_MESSAGE, types.WINDOW_SHOW_DOCUMENT)
    kept = {key: value for key, value in DEFAULT_CLIENT_FEATURES.items() if key not in ours}
    register_lsp_features(client, kept)
    return client


def _converter() -> Any:
    """The converter of pygls, mended: it takes every code action that has a command for a mere command."""
    converter = default_converter()

    def structure(data: Any, _: type) -> types.Command | types.CodeAction:
        kind = types.Command if isinstance(data.get("command"), str) else types.CodeAction
        return converter.structure(data, kind)

    converter.register_structure_hook(Union[types.Command, types.CodeAction], structure)  # noqa: UP007
    return converter


def replaced(text: str, place: types.Range, new: str) -> str:
    """`text` with `new` at a place given in UTF-16 units. Lines end at LF, CR and CRLF."""
    return text[: offset(text, place.start)] + new + text[offset(text, place.end) :]


def offset(text: str, position: types.Position) -> int:
    """Index of a place given in UTF-16 units."""
    at = 0
    for _ in range(position.line):
        at = min(
            (end + len(mark) for mark in ("\r\n", "\n", "\r") if (end := text.find(mark, at)) >= 0), default=len(text)
        )
        if text[at - 1 : at + 1] == "\r\n":
            at += 1
    units = 0
    while units < position.character and at < len(text):
        units += len(text[at].encode("utf-16-le")) // 2
        at += 1
    return at


Start = Callable[..., Awaitable[Editor]]
"""Starts an editor in a fresh folder: the fixture `start`."""
