"""What a command is to look at: files, folders, and `FILE::QUALNAME`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxscope.cli.problem import Problem
from jaxscope.semantics.project import Project

_MENTIONS_JAX = re.compile(rb"jax|flax|equinox|haiku|optax|numpyro")


@dataclass(frozen=True, slots=True)
class Target:
    """One file."""

    path: str
    """Absolute and without links, as traces give paths too."""
    named: bool
    """Was it named itself, not found in a folder?"""
    relevant: bool
    """Can there be anything to say of it? Files that never mention JAX are not parsed."""


def targets(paths: Sequence[str]) -> list[Target]:
    """The files meant by `paths`, each once, in order. Raises Problem for what is not there."""
    found: dict[str, Target] = {}
    for path in paths:
        full = os.path.realpath(path)
        if os.path.isdir(full):
            for file in sorted(map(os.path.realpath, Project(full).python_files())):
                found.setdefault(file, Target(file, False, mentions_jax(file)))
        elif os.path.isfile(full):
            found[full] = Target(full, True, True)
        else:
            raise Problem(f"no such file or folder: {path}")
    return list(found.values())


def mentions_jax(path: str) -> bool:
    """Does the file's text have the name of JAX or of a library around it? True where it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return _MENTIONS_JAX.search(stream.read()) is not None
    except OSError:
        return True


def split_target(text: str) -> tuple[str, str]:
    """(absolute path, qualified name) of `FILE::QUALNAME`. Raises Problem."""
    path, separator, name = text.rpartition("::")
    if not separator or not path or not name:
        raise Problem(f"not FILE::QUALNAME: {text}")
    full = os.path.realpath(path)
    if not os.path.isfile(full):
        raise Problem(f"no such file: {path}")
    return full, name


def shown_path(path: str) -> str:
    """`path` as it is printed: from the current folder where it is below it, with forward slashes."""
    relative = os.path.relpath(path, os.path.realpath(os.getcwd())) if _below(path) else path
    return relative.replace(os.sep, "/")


def _below(path: str) -> bool:
    here = os.path.realpath(os.getcwd())
    return path == here or path.startswith(here.rstrip(os.sep) + os.sep)


def chunks(items: Sequence[Target], count: int) -> Iterable[list[Target]]:
    """`items` dealt out into `count` lists of about the same work."""
    lists: list[list[Target]] = [[] for _ in range(count)]
    loads = [0] * count
    for item in sorted(items, key=lambda target: -_bytes(target.path)):
        least = loads.index(min(loads))
        lists[least].append(item)
        loads[least] += _bytes(item.path) + 1
    return lists


def _bytes(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
