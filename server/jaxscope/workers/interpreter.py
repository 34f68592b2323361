"""Which Python runs the user's code."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys


def find_interpreter(setting: str, root: str) -> str:
    """Path of the interpreter for files under `root`.

    The setting (a path, a virtual environment's folder, or a command on PATH), else the active virtual environment,
    else a `.venv` or `venv` in `root` or a folder above it, else the interpreter that runs jaxscope if it has JAX,
    else `python3`. A setting that does not exist is returned as it is: starting it says what is wrong.
    """
    if setting:
        return _from_setting(os.path.expanduser(setting), root)
    active = os.environ.get("VIRTUAL_ENV")
    if active and (found := _of_environment(active)):
        return found
    folder = os.path.abspath(root)
    while True:
        for name in (".venv", "venv"):
            if found := _of_environment(os.path.join(folder, name)):
                return found
        parent = os.path.dirname(folder)
        # A project ends where its version control does; what lies above is somebody else's.
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            break
        folder = parent
    if importlib.util.find_spec("jax") is not None:
        return sys.executable
    return shutil.which("python3") or shutil.which("python") or sys.executable


def _from_setting(setting: str, root: str) -> str:
    path = setting if os.path.isabs(setting) else os.path.join(root, setting)
    if os.path.isdir(path):
        return _of_environment(path) or path
    if os.path.exists(path):
        return path
    return shutil.which(setting) or setting


def _of_environment(folder: str) -> str | None:
    for name in (("Scripts", "python.exe"), ("bin", "python"), ("bin", "python3")):
        path = os.path.join(folder, *name)
        if os.path.isfile(path):
            return path
    return None
