"""The globals of a file by name, without looking into its functions and classes before one of them is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from jaxscope.semantics.names.scopes import Binding, facts_of
from jaxscope.source.module import Chunk

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Globals(Mapping[str, list[Binding]]):
    """From each global to its bindings, in order."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            for name in _names(chunk):
                self._chunks.setdefault(name, []).append(chunk)
        self._found: dict[str, list[Binding]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._chunks

    def __getitem__(self, name: str) -> list[Binding]:
        found = self._found.get(name)
        if found is None:
            near = self._chunks[name]
            found = [binding for chunk in near for binding in facts_of(chunk).module.bindings.get(name, ())]
            self._found[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._chunks)

    def __len__(self) -> int:
        return len(self._chunks)


def _names(chunk: Chunk) -> frozenset[str]:
    """Globals that a part of the file binds."""
    known: frozenset[str] | None = chunk.facts.get("names")
    if known is None:
        definitions = [statement for statement in chunk.body if isinstance(statement, _DEFINITIONS)]
        if len(definitions) == len(chunk.body) and not _binds_elsewhere(chunk.good_text):
            known = frozenset(statement.name for statement in definitions)
        else:
            known = frozenset(facts_of(chunk).module.bindings)
        chunk.facts["names"] = known
    return known


def _binds_elsewhere(text: str) -> bool:
    """May a global be bound within a function?"""
    return "global" in text or ":=" in text
