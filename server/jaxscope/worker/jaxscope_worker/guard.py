"""Stops accidents while the user's code runs: writing and deleting files, starting processes, connecting out.

An audit hook sees these operations whoever asks for them. It protects from surprises, not from malice: code that
means to get round it can. Files below the temp and cache folders may be written; what JAX and Python do for
themselves passes. Once the user's code has been run the guard stays, for threads that it started may still run.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .sources import UserFiles
from .wire.messages import Denied

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OPERATIONS = {
    "open": "write",
    "os.mkdir": "write",
    "os.truncate": "write",
    "os.link": "write",
    "os.symlink": "write",
    "os.chmod": "write",
    "os.remove": "delete",
    "os.rmdir": "delete",
    "shutil.rmtree": "delete",
    "os.rename": "rename",
    "shutil.move": "rename",
    "subprocess.Popen": "process",
    "os.system": "process",
    "os.exec": "process",
    "os.posix_spawn": "process",
    "os.spawn": "process",
    "os.fork": "process",
    "os.forkpty": "process",
    "pty.spawn": "process",
    "os.startfile": "process",
    "os.startfile/2": "process",
    "socket.connect": "connect",
    "socket.sendto": "connect",
}
_DEEDS = {"write": "write", "delete": "delete", "rename": "rename", "process": "start a process", "connect": "connect"}
_LONGEST_COMMAND = 120
_FOLDER_ARGUMENT = {"os.remove": 1, "os.rmdir": 1, "shutil.rmtree": 1, "os.mkdir": 2, "os.rename": 2, "os.link": 2}
"""Which argument is the descriptor of the folder that a relative path starts from."""
MOST_DENIED = 200
"""Denied operations that are told of: code that tries again and again says nothing new."""
_JAX = ("jax", "jaxlib", "jax_plugins")
_TRUSTED = {
    "process": (*_JAX, "numpy", "scipy"),
    "connect": _JAX,
    # JAX writes its cache of programs; what NumPy writes, `np.save` for one, it writes for whoever calls it.
    "write": _JAX,
    "delete": _JAX,
    "rename": _JAX,
}
"""Packages whose own work passes, by operation."""


class _Guard:
    def __init__(self, files: UserFiles, allowed: tuple[str, ...]) -> None:
        self.files, self.allowed = files, frozenset(allowed)
        self.denied: list[Denied] = []
        self.folders = tuple(os.path.realpath(p) + os.sep for p in _writable_folders())
        self.busy = threading.local()

    def event(self, event: str, args: tuple[Any, ...]) -> None:
        operation = _OPERATIONS[event]
        if operation in self.allowed or getattr(self.busy, "now", False):
            return
        self.busy.now = True
        try:
            denied = self._judged(event, operation, args)
        finally:
            self.busy.now = False
        if denied is not None:
            if len(self.denied) < MOST_DENIED:
                self.denied.append(denied)
            raise PermissionError(errno.EPERM, f"jaxscope does not let traced code {_DEEDS[operation]}", denied.target)

    def _judged(self, event: str, operation: str, args: tuple[Any, ...]) -> Denied | None:
        if event == "open" and not _writes(args):
            return None
        target = _target(event, args)
        if target is None or (operation in ("write", "delete", "rename") and self._may_change(event, args)):
            return None
        frame = sys._getframe(3)
        if _for_a_library(frame, _TRUSTED[operation]):
            return None
        own = self.files.first_of(frame)
        return Denied(operation, target, self.files.frame_place(own) if own is not None else None)  # type: ignore[arg-type]

    def _may_change(self, event: str, args: tuple[Any, ...]) -> bool:
        names = args[:2] if event in ("os.rename", "os.link", "shutil.move") else args[:1]
        if event == "os.symlink":
            names = args[1:2]
        folders = args[_FOLDER_ARGUMENT.get(event, len(args)) :]
        return all(self._is_free(name, folder) for name, folder in itertools.zip_longest(names, folders[: len(names)]))

    def _is_free(self, name: Any, folder: Any) -> bool:
        if isinstance(name, int):
            return True
        try:
            path = os.fsdecode(name)
            if isinstance(folder, int) and folder >= 0 and not os.path.isabs(path):
                path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
            path = os.path.realpath(path)
        except OSError:
            # Where a descriptor does not tell its folder: what opened it for deleting was judged by its path.
            return True
        except (TypeError, ValueError):
            return False
        if path.startswith(self.folders) or "__pycache__" in path.split(os.sep):
            return not self._is_users(path)
        return path.startswith(("/dev/", f"/proc/{os.getpid()}/"))

    def _is_users(self, path: str) -> bool:
        """A project that lies below the temp folder, as in tests of ours or of the user's, stays guarded."""
        return path.startswith(self.files.root) and "__pycache__" not in path.split(os.sep)


def _writable_folders() -> Iterator[str]:
    yield tempfile.gettempdir()
    home = os.path.expanduser("~")
    yield os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    yield os.path.join(home, "Library", "Caches")
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        yield os.environ["JAX_COMPILATION_CACHE_DIR"]
    jax = sys.modules.get("jax")
    folder = getattr(getattr(jax, "config", None), "jax_compilation_cache_dir", None)
    if isinstance(folder, str):
        yield folder


def _writes(args: tuple[Any, ...]) -> bool:
    mode, flags = args[1], args[2]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITING)


def _target(event: str, args: tuple[Any, ...]) -> str | None:
    """What the operation is about, for showing; None when it is nothing to deny."""
    if event == "open" and isinstance(args[0], int):
        return None
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.spawn", "os.system"):
        command = args[1] if len(args) > 1 and args[1] else args[0]
        text = " ".join(map(_text, command)) if isinstance(command, (list, tuple)) else _text(command)
        text = " ".join(text.split())  # a program given with `-c` has many lines
        return text if len(text) <= _LONGEST_COMMAND else text[: _LONGEST_COMMAND - 1] + "…"
    if event in ("socket.connect", "socket.sendto"):
        address = args[1] if len(args) > 1 else ""
        return ":".join(map(str, address[:2])) if isinstance(address, tuple) else _text(address)
    if event in ("os.rename", "shutil.move"):
        return f"{_text(args[0])} → {_text(args[1])}"
    return _text(args[0]) if args else event.rpartition(".")[2]


def _text(value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        return str(value)


def _for_a_library(frame: FrameType | None, trusted: tuple[str, ...]) -> bool:
    """Is the operation the work of a trusted package itself? The innermost frame outside Python's library says."""
    standard = os.path.dirname(os.__file__) + os.sep
    while frame is not None:
        filename = frame.f_code.co_filename
        package = (frame.f_globals.get("__name__") or "").split(".")[0]
        in_library = filename.startswith("<") or (filename.startswith(standard) and "-packages" not in filename)
        if not in_library or package in trusted:
            return package in trusted
        frame = frame.f_back
    return False


_current: _Guard | None = None
_installed = False


def _hook(event: str, args: tuple[Any, ...]) -> None:
    guard = _current
    if guard is not None and event in _OPERATIONS:
        guard.event(event, args)


@contextlib.contextmanager
def watching(files: UserFiles, allowed: tuple[str, ...] = ()) -> Iterator[list[Denied]]:
    """Guards what runs inside, on all threads; yields the list that denied operations are added to.

    Afterwards what was allowed inside stays allowed, and the rest denied, until the next guard.
    """
    global _current, _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    _current = _Guard(files, allowed)
    yield _current.denied
