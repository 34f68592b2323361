"""What a command is to look at: files, folders, and `FILE::QUALNAME`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxscope.cli.problem import Problem
from jaxscope.semantics import prefilter
from jaxscope.semantics.project import Project

_LEAST = 50_000
"""Bytes of source that are worth handing to another process."""


@dataclass(frozen=True, slots=True)
class Target:
    """One file."""

    path: str
    """Absolute and without links, as traces give paths too."""
    named: bool
    """Was it named itself, not found in a folder?"""
    relevant: bool
    """Can there be anything to say of it? Files that never mention JAX are not read closely."""
    compiles: bool = True
    """Can it have findings of its own, without a trace? Files that compile nothing are not parsed."""
    reached: bool = False
    """Is it here only since a run that was asked for came to it? Then nothing counts but what that run showed."""


def targets(paths: Sequence[str]) -> list[Target]:
    """The files meant by `paths`, each once, in order. Raises Problem for what is not there."""
    found: dict[str, Target] = {}
    for path in paths:
        full = os.path.realpath(path)
        if os.path.isdir(full):
            for target in _in_folder(full):
                found.setdefault(target.path, target)
        elif os.path.isfile(full):
            found[full] = Target(full, True, True, True)
        else:
            raise Problem(f"no such file or folder: {path}")
    return list(found.values())


def _in_folder(folder: str) -> Iterator[Target]:
    looks = {}
    files = sorted(map(os.path.realpath, Project(folder).python_files()))
    for file in files:
        with contextlib.suppress(OSError), open(file, "rb") as stream:
            looks[file] = prefilter.look(stream.read())
    compiling = prefilter.compiling(looks)
    for file in files:
        yield Target(file, False, file not in looks or looks[file].mentions_jax, file not in looks or file in compiling)


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


def parts(items: Sequence[Target], most: float) -> list[list[Target]]:
    """`items` in order, cut into parts of about `most` bytes that are read closely, none of them tiny."""
    most = max(most, _LEAST)
    found: list[list[Target]] = [[]]
    load = 0.0
    for item in items:
        if load >= most:
            found.append([])
            load -= most
        found[-1].append(item)
        load += work(item)
    return found


def work(item: Target) -> float:
    """Bytes of the file, as far as they are read closely: a file that compiles nothing costs a tenth."""
    return size(item.path) if item.compiles else size(item.path) / 10


def size(path: str) -> int:
    """Bytes of the file; 0 where that cannot be told."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
