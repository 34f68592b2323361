"""Which Python runs the user's code."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys


def find_interpreter(setting: str, root: str, top: str = "") -> str:
    """Path of the interpreter for files under the project's folder `root`; `top` is the folder one works in.

    The setting (a path, a virtual environment's folder, or a command on PATH), else the active virtual environment,
    else a `.venv` or `venv` in `root`, or in a folder above it up to `top` where that is one, else the interpreter
    that runs jaxscope if it has JAX, else `python3`. A setting that does not exist is returned as it is: starting it
    says what is wrong.
    """
    if setting:
        return _from_setting(os.path.expanduser(setting), root)
    active = os.environ.get("VIRTUAL_ENV")
    if active and (found := _of_environment(active)):
        return found
    for folder in _up_to(os.path.abspath(root), os.path.abspath(top or root)):
        for name in (".venv", "venv"):
            if found := _of_environment(os.path.join(folder, name)):
                return found
    if importlib.util.find_spec("jax") is not None:
        return sys.executable
    return shutil.which("python3") or shutil.which("python") or sys.executable


def _up_to(folder: str, top: str) -> list[str]:
    """`folder` and those above it, up to `top`; `folder` alone where `top` is not above it: the rest is not ours."""
    found = [folder]
    while folder != top:
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return found[:1]
        found.append(folder)
    return found


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
