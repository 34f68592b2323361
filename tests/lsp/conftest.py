"""Editors with a server each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from editor import Editor, Start


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts an editor in a fresh folder; its server is ended after the test."""
    editors: list[Editor] = []

    async def begin(options: dict[str, Any] | None = None, capabilities: Any = None) -> Editor:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").touch()
        editor = await Editor.start(folder, options, capabilities)
        editors.append(editor)
        return editor

    yield begin
    for editor in editors:
        await editor.stop()
