"""Running blocking work in threads, so that it can be cancelled and is shown when it takes long."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from jaxscope.ide.numbers import readable_detail
from jaxscope.ide.panel_model import StageProgress
from jaxscope.ide.situation import Activity
from jaxscope.lsp.client import Client, ProgressBar
from jaxscope.tracing.cancellation import Cancellation
from jaxscope.worker.jaxscope_worker.wire.messages import Progress
from jaxscope.workers.client import OnProgress

T = TypeVar("T")
Call = Callable[[OnProgress, Cancellation], T]

SHOW_STAGES_AFTER = 0.3
SHOW_PROGRESS_AFTER = 1.0
"""Seconds before anything is said of the work in the panel, and before a progress bar is shown."""


@dataclass(slots=True)
class _Running:
    title: str
    activity: Activity
    begun: float
    cancellation: Cancellation
    done: float | None = None
    bar: ProgressBar | None = None

    def now(self) -> Activity:
        return replace(self.activity, seconds=time.monotonic() - self.begun)


class Works:
    """The work of one folder that is under way."""

    def __init__(self, client: Client, executor: ThreadPoolExecutor, changed: Callable[[str], None]) -> None:
        """`changed` is called with a path when what is under way for it begins to be shown, goes on, or ends."""
        self._client, self._executor, self._changed = client, executor, changed
        self._running: list[_Running] = []

    def activity(self, path: str) -> Activity | None:
        """What is being done on a file."""
        return next((item.now() for item in reversed(self._running) if item.activity.path == path), None)

    def longest(self) -> Activity | None:
        """What has been under way longest, on any file."""
        return max((item.now() for item in self._running), key=lambda item: item.seconds, default=None)

    def cancel(self, path: str | None = None) -> None:
        """Ends the work on a file, or all of it."""
        for item in list(self._running):
            if path in (None, item.activity.path):
                item.cancellation.cancel()

    async def run(self, title: str, activity: Activity, call: Call[T], discard: Callable[[T], None] | None = None) -> T:
        """The result of `call`, run in a thread. Cancelling the awaiting task cancels the call.

        `discard` gets a result that came although nobody waits for it any more.
        """
        loop = asyncio.get_running_loop()
        item = _Running(title, activity, time.monotonic(), Cancellation())
        self._running.append(item)

        def on_progress(progress: Progress) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(self._progress, item, progress)

        future = self._executor.submit(call, on_progress, item.cancellation)
        ticker = asyncio.ensure_future(self._tick(item))
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            _abandon(future, item.cancellation, discard)
            raise
        finally:
            ticker.cancel()
            self._running.remove(item)
            if item.bar:
                item.bar.end()
            self._changed(activity.path)

    def _progress(self, item: _Running, progress: Progress) -> None:
        stage = item.activity.stage if progress.stage == "alarm" else progress.stage
        item.activity = replace(item.activity, stage=stage, detail=readable_detail(progress.detail))
        item.done = progress.done
        if item.now().seconds >= SHOW_STAGES_AFTER:
            self._show(item)

    async def _tick(self, item: _Running) -> None:
        await asyncio.sleep(SHOW_STAGES_AFTER)
        self._show(item)
        await asyncio.sleep(SHOW_PROGRESS_AFTER - SHOW_STAGES_AFTER)
        item.bar = await self._client.progress(item.title, item.cancellation.cancel)
        while True:
            self._show(item)
            self._changed(item.activity.path)
            await asyncio.sleep(1.0)

    def _show(self, item: _Running) -> None:
        now = item.now()
        if item.bar:
            item.bar.report(f"{now.stage} {now.detail}".strip(), item.done)
        self._client.notify(
            "jaxscope/stage",
            StageProgress(now.path, now.function, now.stage, now.detail, item.done, round(now.seconds, 1)),
        )


def _abandon(future: Future[T], cancellation: Cancellation, discard: Callable[[T], None] | None) -> None:
    cancellation.cancel()
    if future.cancel() or discard is None:
        return

    def late(ended: Future[T]) -> None:
        if not ended.cancelled() and ended.exception() is None:
            discard(ended.result())

    future.add_done_callback(late)
