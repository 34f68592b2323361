"""What the client at the other end can do, and everything that is sent to it."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lsprotocol import types

from jaxscope.ide.hover import Style
from jaxscope.ide.lens import Link
from jaxscope.lsp.convert import Columns, choose_encoding, to_camel

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)


class Client:
    """The client of one connection."""

    def __init__(self, server: LanguageServer, params: types.InitializeParams, commands: bool) -> None:
        self._server = server
        self.commands = commands
        """Has it the extension's own commands, for lenses and links to call?"""
        capabilities = params.capabilities
        general = capabilities.general
        workspace, window = capabilities.workspace, capabilities.window
        document = capabilities.text_document
        self.columns = Columns(choose_encoding(general.position_encodings if general else None))
        edit = workspace.workspace_edit if workspace else None
        self.versioned_edits = bool(edit and edit.document_changes)
        self.annotated_edits = bool(self.versioned_edits and edit and edit.change_annotation_support)
        """Does it show what each edit is for, and ask before those that want to be confirmed?"""
        self._refactorings = bool(edit and edit.metadata_support)
        show = window.show_document if window else None
        self.shows_documents = bool(show and show.support)
        self.applies_edits = bool(workspace and workspace.apply_edit)
        self.work_done_progress = bool(window and window.work_done_progress)
        self._refreshes = bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
        watched = workspace.did_change_watched_files if workspace else None
        self.watches_files = bool(watched and watched.dynamic_registration)
        action = document.code_action if document else None
        self.disabled_actions = bool(action and action.disabled_support)
        markdown = general.markdown if general else None
        self._details = "details" in ((markdown.allowed_tags if markdown else None) or ())
        formats = document.hover.content_format if document and document.hover else None
        self.markup = types.MarkupKind.Markdown
        if formats and types.MarkupKind.Markdown not in formats:
            self.markup = types.MarkupKind.PlainText

    def hover_style(self, uri: str) -> Style:
        """How hovers are drawn for a document."""

        def link(title: str, target: Link) -> str:
            if not self.commands:
                return ""
            arguments = quote(json.dumps([uri, *target.arguments]), safe="")
            return f"[{title}](command:{target.command}?{arguments})"

        return Style(link, self._details)

    def notify(self, method: str, value: Any) -> None:
        """One of the extension's own notifications, with a dataclass of the engine as its parameters."""
        self._server.protocol.notify(method, to_camel(value))

    def publish(self, uri: str, version: int | None, diagnostics: Sequence[types.Diagnostic]) -> None:
        """Replaces the diagnostics of a document."""
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=list(diagnostics), version=version)
        )

    def refresh_lenses(self) -> None:
        """Has the client ask for the lenses again."""
        if self._refreshes:
            self._server.workspace_code_lens_refresh(None)

    def message(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Shows a message."""
        self._server.window_show_message(types.ShowMessageParams(type=kind, message=text))

    async def ask(self, question: str, answers: Sequence[str]) -> str | None:
        """The title of the button that was pressed, None when the question was dismissed or cannot be shown."""
        actions = [types.MessageActionItem(title=title) for title in answers]
        try:
            chosen = await self._server.window_show_message_request_async(
                types.ShowMessageRequestParams(type=types.MessageType.Info, message=question, actions=actions)
            )
        except Exception as error:
            logger.warning("the question could not be asked: %s", error)
            return None
        return chosen.title if chosen else None

    async def apply(self, edit: types.WorkspaceEdit, label: str, refactoring: bool = True) -> str | None:
        """Has the client make an edit. None when it did, else why it did not, as far as it says.

        A `refactoring` is one that the user asked for: editors may save its files together.
        """
        if not self.applies_edits:
            return "this editor makes no edits for a server"
        metadata = types.WorkspaceEditMetadata(is_refactoring=refactoring) if self._refactorings else None
        params = types.ApplyWorkspaceEditParams(edit=edit, label=label, metadata=metadata)
        reply = await self._server.workspace_apply_edit_async(params)
        return None if reply.applied else reply.failure_reason or "the editor did not make the edit"

    async def show(self, uri: str, selection: types.Range) -> None:
        """Takes the user to a place."""
        if self.shows_documents:
            params = types.ShowDocumentParams(uri=uri, take_focus=True, selection=selection)
            await self._server.window_show_document_async(params)

    async def register_watchers(self, patterns: Sequence[str]) -> None:
        """Has the client tell of files that change on disk."""
        if not self.watches_files:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions(
            watchers=[types.FileSystemWatcher(glob_pattern=pattern) for pattern in patterns]
        )
        registration = types.Registration(
            id="jaxscope.files", method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES, register_options=options
        )
        await self._server.client_register_capability_async(types.RegistrationParams(registrations=[registration]))

    async def progress(self, title: str, on_cancel: Callable[[], None]) -> ProgressBar | None:
        """Begins a progress bar with a cancel button; None where the client shows none."""
        if not self.work_done_progress:
            return None
        token, bars = str(uuid.uuid4()), self._server.work_done_progress
        try:
            await bars.create_async(token)
        except Exception as error:
            logger.info("no progress bar: %s", error)
            return None
        loop = asyncio.get_running_loop()

        def pressed(future: Any) -> None:
            if future.cancelled():
                loop.call_soon_threadsafe(on_cancel)

        bars.tokens[token].add_done_callback(pressed)
        bars.begin(token, types.WorkDoneProgressBegin(title=title, cancellable=True))
        return ProgressBar(self._server, token)


class ProgressBar:
    """A progress bar that is shown."""

    def __init__(self, server: LanguageServer, token: str) -> None:
        self._bars, self._token = server.work_done_progress, token

    def report(self, message: str, done: float | None) -> None:
        """Says how far the work is; `done` is its share from 0 to 1."""
        percentage = round(done * 100) if done is not None else None
        self._bars.report(self._token, types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self) -> None:
        """Takes the bar away."""
        self._bars.end(self._token, types.WorkDoneProgressEnd())
        self._bars.tokens.pop(self._token, None)
