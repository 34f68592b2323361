"""The state of one connection: the folders, the open documents, and what is published of them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from lsprotocol import types

from jaxscope.config import WHEN
from jaxscope.ide.panel_model import Status
from jaxscope.ide.situation import Situation, status
from jaxscope.lsp.client import Client
from jaxscope.lsp.convert import to_uri
from jaxscope.lsp.diagnostics import diagnostics
from jaxscope.lsp.documents import Document
from jaxscope.lsp.folder import Folder, read_config
from jaxscope.lsp.tracing import Tracing
from jaxscope.lsp.trust import ANSWERS, QUESTION
from jaxscope.lsp.workers import environment_of
from jaxscope.rules.finding import Finding
from jaxscope.tracing.locations import project_root

logger = logging.getLogger(__name__)

THREADS = 6
RELATED_PAUSE = 0.15
"""Seconds after an edit before the other open files are looked at again."""
RECORDINGS_PAUSE = 0.3
"""Seconds in which what a run records is gathered before it is read."""
RECORDINGS_INTERVAL = 2.0
"""Seconds between two looks for recordings that the client has not told of. A look takes 0.2 ms for an open file."""
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}


class Session:
    """What handlers work with. Lives on the event loop's thread."""

    def __init__(self, client: Client, roots: list[str], settings: Mapping[str, Any], trusted: bool) -> None:
        self.client = client
        self.documents: dict[str, Document] = {}
        """By path."""
        self.folders: dict[str, Folder] = {}
        self.planning: set[Finding] = set()
        """Findings whose fixes are being planned ahead."""
        self._tracing: dict[str, Tracing] = {}
        self._settings, self._trusted = dict(settings), trusted
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="jaxscope")
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._status: Status | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._related: asyncio.TimerHandle | None = None
        self._recordings: asyncio.TimerHandle | None = None
        for root in roots:
            self._add(root)
        self._apply_log_level()

    # ------------------------------------------------------------ folders

    def _add(self, root: str) -> Folder:
        config, problems = read_config(root, self._settings)
        for problem in problems:
            logger.error("%s", problem)
        folder = Folder(root, config, self._trusted, self._explicit_when())
        self.folders[root] = folder
        self._tracing[root] = self._new_tracing(folder)
        return folder

    def _new_tracing(self, folder: Folder) -> Tracing:
        tracing = Tracing(
            folder, self.client, self._executor, lambda: self._documents_of(folder), self._situation_changed
        )
        tracing.on_traced(lambda path: self._traced(folder, path))
        return tracing

    def _documents_of(self, folder: Folder) -> Iterator[Document]:
        return (item for item in list(self.documents.values()) if self.folder(item.path) is folder)

    def _explicit_when(self) -> str | None:
        trace = self._settings.get("trace")
        when = trace.get("when") if isinstance(trace, Mapping) else None
        return when if when in WHEN else None

    def folder(self, path: str) -> Folder:
        """The folder that a file belongs to: the innermost of the client's, else its project's own."""
        inside = [root for root in self.folders if path == root or path.startswith(root.rstrip(os.sep) + os.sep)]
        if inside:
            return self.folders[max(inside, key=len)]
        root = project_root(path)
        return self.folders.get(root) or self._add(root)

    def tracing(self, path: str) -> Tracing:
        """What traces the files of this file's folder."""
        return self._tracing[self.folder(path).root]

    def situation(self, path: str) -> Situation:
        """The state of affairs for a file."""
        return replace(self.folder(path).situation(path), activity=self.tracing(path).works.activity(path))

    def add_folder(self, root: str) -> None:
        """The client opened another folder."""
        if root not in self.folders:
            self._add(root)
            self.spawn(self._tracing[root].start())

    def remove_folder(self, root: str) -> None:
        """The client closed a folder."""
        if root in self.folders:
            self._tracing.pop(root).stop()
            del self.folders[root]

    # ------------------------------------------------------------ documents

    def open(self, document: Document) -> None:
        """A document was opened."""
        self.look_for_recordings()
        self.documents[document.path] = document
        folder = self.folder(document.path)
        folder.workspace.set_text(document.path, document.text)
        self.publish(document.path)
        self._check_others(document.path)
        model = folder.workspace.model(document.path)
        if model and model.traced:
            self._ask(folder)
        self.tracing(document.path).opened(document.path)

    def change(self, document: Document) -> None:
        """A document was edited."""
        begun = time.perf_counter()
        self.documents[document.path] = document
        self.folder(document.path).workspace.set_text(document.path, document.text)
        self.publish(document.path)
        logger.debug("edit of %s: %.1f ms", document.path, (time.perf_counter() - begun) * 1e3)
        self._check_others(document.path)
        self.tracing(document.path).edited(document.path)

    def save(self, path: str) -> None:
        """A document was saved."""
        self.look_for_recordings()
        if document := self.documents.get(path):
            self.documents[path] = replace(document, dirty=False)
            self.tracing(path).saved(path)

    def close(self, path: str) -> None:
        """A document was closed: its diagnostics go, and what is on disk counts again."""
        document = self.documents.pop(path, None)
        if document is None:
            return
        self.folder(path).workspace.forget(path)
        self._published.pop(path, None)
        self.client.publish(document.uri, None, [])
        self.tracing(path).closed(path)
        self._check_others(path)

    def files_changed(self, paths: list[str]) -> None:
        """Files changed on disk."""
        for path in paths:
            self.folder(path).workspace.reload(path)
            if path not in self.documents:
                self.tracing(path).changed_on_disk(path)
        self._publish_all()

    def versions(self) -> dict[str, tuple[str, int]]:
        """Address and version of each open document, by path."""
        return {path: (item.uri, item.version) for path, item in self.documents.items()}

    def publish(self, path: str, always: bool = True) -> None:
        """Sends the diagnostics of an open document; unless `always`, only when they differ from those sent last."""
        document = self.documents.get(path)
        if document is None:
            return
        found = diagnostics(self.folder(path).workspace, path, self.client.columns)
        if always or self._published.get(path) != found:
            self._published[path] = found
            self.client.publish(document.uri, document.version, found)

    def _publish_all(self) -> None:
        for path in list(self.documents):
            self.publish(path, always=False)

    def _check_others(self, path: str) -> None:
        """The other open files may use what was edited: they are looked at again once typing pauses."""
        if self._related:
            self._related.cancel()
        if len(self.documents) > (path in self.documents):
            self._related = asyncio.get_running_loop().call_later(RELATED_PAUSE, self._publish_all)

    # ------------------------------------------------------------ recorded runs

    def recordings_changed(self) -> None:
        """A run that is being recorded has written something. It does so often: what it writes is read together."""
        if self._recordings is None:
            self._recordings = asyncio.get_running_loop().call_later(RECORDINGS_PAUSE, self.look_for_recordings)

    def watch_recordings(self) -> None:
        """Looks by itself, too: clients tell late, or nothing, of folders that are new or that lie above theirs."""
        self.look_for_recordings()
        asyncio.get_running_loop().call_later(RECORDINGS_INTERVAL, self.watch_recordings)

    def look_for_recordings(self) -> None:
        """Takes what was recorded meanwhile. Reading it runs nothing, so that it is done in Restricted Mode, too."""
        if self._recordings:
            self._recordings.cancel()
            self._recordings = None
        changed = [path for folder in self.folders.values() for path in folder.workspace.look_for_recordings()]
        for path in changed:
            self.publish(path, always=False)
            self.client.notify("jaxscope/didRecord", {"uri": self._uri(path)})
        if changed:
            self.client.refresh_lenses()

    # ------------------------------------------------------------ traces

    def _traced(self, folder: Folder, path: str) -> None:
        evidence = folder.workspace.evidence(path)
        for other in dict.fromkeys((path, *(evidence.reply.imported if evidence else ()))):
            self.publish(other, always=other == path)
        self._situation_changed(path)
        self.client.notify("jaxscope/didTrace", {"uri": self._uri(path)})

    def _uri(self, path: str) -> str:
        from_client = self.documents.get(path)
        return from_client.uri if from_client else to_uri(path)

    def _situation_changed(self, path: str) -> None:
        self.client.refresh_lenses()
        self.send_status()

    def send_status(self) -> None:
        """Tells the client what its status bar is to show, if that changed."""
        folder = next(iter(self.folders.values()), None)
        if folder is None:
            return
        activity = self._tracing[folder.root].works.longest()
        now = status(replace(folder.situation(), activity=activity))
        if now != self._status:
            self._status = now
            self.client.notify("jaxscope/status", now)

    # ------------------------------------------------------------ what is allowed

    async def start(self) -> None:
        """The client is ready: begins what may begin."""
        self.send_status()
        for tracing in list(self._tracing.values()):
            await tracing.start()

    def _ask(self, folder: Folder) -> None:
        if folder.trust.permission == "consent" and not folder.trust.asked:
            folder.trust.asked = True
            self.spawn(self._ask_and_take(folder))

    async def _ask_and_take(self, folder: Folder) -> None:
        chosen = await self.client.ask(QUESTION, list(ANSWERS))
        if chosen in ANSWERS and folder.trust.permission == "consent":
            await self.answer(folder, ANSWERS[chosen])

    async def answer(self, folder: Folder, answer: str) -> None:
        """The user said when code may be run in a folder."""
        folder.trust.take(answer)
        if answer == "off":
            self._tracing[folder.root].stop()
            self._tracing[folder.root] = self._new_tracing(folder)
        self._situation_changed("")
        await self._tracing[folder.root].start()

    async def grant_trust(self) -> None:
        """The workspace became trusted."""
        self._trusted = True
        for folder in self.folders.values():
            folder.trust.trusted = True
            if any(
                (model := folder.workspace.model(item.path)) and model.traced for item in self._documents_of(folder)
            ):
                self._ask(folder)
        self._situation_changed("")
        await self.start()

    async def configure(self, settings: Mapping[str, Any]) -> None:
        """The client's settings changed."""
        self._settings = dict(settings)
        self._apply_log_level()
        for root, folder in list(self.folders.items()):
            config, problems = read_config(root, self._settings)
            for problem in problems:
                self.client.message(problem, types.MessageType.Warning)
            before = environment_of(folder.config), folder.when
            folder.trust.set(self._explicit_when())
            folder.workspace.configure(config)
            if before != (environment_of(config), folder.when):
                await self.restart(folder)
        self._publish_all()
        self._situation_changed("")

    async def reread(self) -> None:
        """A project's own settings changed."""
        await self.configure(self._settings)

    async def restart(self, folder: Folder) -> None:
        """Ends the workers of a folder and starts again."""
        self._tracing[folder.root].stop()
        folder.hello = folder.no_jax = None
        folder.stopped.clear()
        self._tracing[folder.root] = self._new_tracing(folder)
        self._situation_changed("")
        await self._tracing[folder.root].start()

    def _apply_log_level(self) -> None:
        log = self._settings.get("log")
        level = log.get("level") if isinstance(log, Mapping) else None
        logging.getLogger("jaxscope").setLevel(_LEVELS.get(str(level), logging.INFO))

    # ------------------------------------------------------------ running

    def spawn(self, work: Any) -> None:
        """Runs a coroutine by itself; what goes wrong in it is logged."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("in the background", exc_info=error)

    def stop(self) -> None:
        """Ends every worker."""
        for tracing in self._tracing.values():
            tracing.stop()
        self._executor.shutdown(wait=False, cancel_futures=True)
