"""`workspace/didChangeConfiguration`, `didChangeWorkspaceFolders`, `didChangeWatchedFiles`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from jaxscope.lsp.convert import to_path
from jaxscope.lsp.session import Session

logger = logging.getLogger(__name__)


def settings_of(options: object) -> dict[str, Any]:
    """The settings in what a client sent: with or without a table `jaxscope` or `settings` around them."""
    found: object = options
    for key in ("jaxscope", "settings", "jaxscope"):
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    return dict(found) if isinstance(found, Mapping) else {}


async def did_change_configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    """Takes other settings. Clients that send none here mean: nothing known."""
    if isinstance(params.settings, Mapping):
        await session.configure(settings_of(params.settings))


def did_change_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders come and go."""
    for folder in params.event.removed or []:
        if path := to_path(folder.uri):
            session.remove_folder(path)
    for folder in params.event.added or []:
        if path := to_path(folder.uri):
            session.add_folder(path)


async def did_change_files(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    """Files changed on disk; those that are open count as their editor has them."""
    logger.debug("changed on disk: %s", ", ".join(change.uri for change in params.changes))
    paths = [path for change in params.changes if (path := to_path(change.uri)) and path.endswith(".py")]
    session.files_changed(paths)
    if any("/.jaxscope/recordings/" in change.uri for change in params.changes):
        session.recordings_changed()
    if any(change.uri.endswith("/pyproject.toml") for change in params.changes):
        await session.reread()
