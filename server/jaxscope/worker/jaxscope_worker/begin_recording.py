"""Begins a recording once the program imports JAX, and not before: the program may set `XLA_FLAGS` first."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
_begun = False


def begin(run: str) -> None:
    """Records this process into the folder `run`. The second time in one process does nothing."""
    global _begun
    if _begun:
        return
    _begun = True
    if "jax" in sys.modules:
        _start(run)
    else:
        sys.meta_path.insert(0, _Hook(run))  # type: ignore[arg-type]


class _Hook:
    """Has Python's own loader import JAX, and starts right after."""

    def __init__(self, run: str) -> None:
        self._run, self._inside = run, False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "jax" or self._inside:
            return None
        self._inside = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._inside = False
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        def exec_module(module: Any) -> None:
            del loader.exec_module
            loader.exec_module(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)  # type: ignore[arg-type]
            _start(self._run)

        loader.exec_module = exec_module


def _start(run: str) -> None:
    try:
        from .recording import Recorder

        Recorder(run, _program()).start()
    except Exception as error:
        sys.stderr.write(f"jaxscope: this process is not recorded: {type(error).__name__}: {error}\n")


def _program() -> str:
    """What Python runs: `train.py`, `-m pkg.train`, `-c`. Not its arguments, which may be secrets."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if argument in _WITH_VALUE:
            next(arguments, None)
        elif not argument.startswith("-"):
            return os.path.basename(argument)
        elif argument.endswith("m") and not argument.startswith("--"):
            return f"-m {next(arguments, '')}"
        elif argument.endswith("c"):
            return "-c"
    return "-"
