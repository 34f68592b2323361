"""Where the server keeps files of its own: in the user's folders, never in a project's."""

from __future__ import annotations

import os
import tempfile


def state_folder() -> str:
    """For what must be kept."""
    return _folder("XDG_STATE_HOME", "~/.local/state")


def cache_folder() -> str:
    """For what can be made anew."""
    return _folder("XDG_CACHE_HOME", "~/.cache")


def _folder(variable: str, usual: str) -> str:
    of_system = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.path.expanduser(usual)
    return os.path.join(os.environ.get(variable) or of_system or tempfile.gettempdir(), "jaxscope")
