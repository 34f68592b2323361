"""What a worked-out fact rests on, so that an edit drops only the facts that it touches."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxscope.semantics.names.changes import in_place
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.names.scopes import ChunkFacts


ANY_FILE = "*"


@dataclass(slots=True)
class Dependencies:
    """Everything that was looked at in one evaluation."""

    chunks: set[Chunk] = field(default_factory=set)
    """Parts of the file whose trees were evaluated."""
    names: set[str] = field(default_factory=set)
    """Globals of the file that were looked up, also those that it lacks."""
    calls: set[str] = field(default_factory=set)
    """Names whose calls, or whose other names, were searched for in the file."""
    attributes: set[str] = field(default_factory=set)
    """Names of which it was asked whether an object may hold something under them, other than a plain method."""
    outside: set[str] = field(default_factory=set)
    """Attributes of which it was asked who assigns them, other than methods to their own object."""
    paths: set[str] = field(default_factory=set)
    """Other files of the project; ANY_FILE where all were searched."""

    def add(self, other: Dependencies) -> None:
        """Takes in what another evaluation looked at."""
        self.chunks |= other.chunks
        self.names |= other.names
        self.calls |= other.calls
        self.attributes |= other.attributes
        self.outside |= other.outside
        self.paths |= other.paths


@dataclass(slots=True)
class Change:
    """What differs between two versions of a file."""

    chunks: set[Chunk]
    """Chunks that are gone."""
    names: set[str]
    """Globals bound in chunks that are gone or new, and what they change in place."""
    calls: set[str]
    """Names called or wrapped in them, or of methods that decorate."""
    attributes: set[str]
    """Such names in them."""
    outside: set[str]
    """Attributes assigned in them, other than by methods to their own object."""

    def touches(self, found: Dependencies) -> bool:
        """May a fact that rests on `found` be different now?"""
        return not (
            self.chunks.isdisjoint(found.chunks)
            and self.names.isdisjoint(found.names)
            and self.calls.isdisjoint(found.calls)
            and self.attributes.isdisjoint(found.attributes)
            and self.outside.isdisjoint(found.outside)
        )


def change_between(old: Iterable[tuple[Chunk, ChunkFacts]], new: Iterable[tuple[Chunk, ChunkFacts]]) -> Change:
    """The change from one version's chunks to the next one's."""
    before, after = dict(old), dict(new)
    gone = {chunk: facts for chunk, facts in before.items() if chunk not in after}
    come = {chunk: facts for chunk, facts in after.items() if chunk not in before}
    names: set[str] = set()
    calls: set[str] = set()
    attributes: set[str] = set()
    outside: set[str] = set()
    for chunk, facts in (*gone.items(), *come.items()):
        names |= in_place(chunk).keys()
        names |= facts.module.bindings.keys()
        attributes |= facts.attributes
        outside |= facts.outside.keys()
        calls |= facts.calls.keys()
        calls |= facts.aliases.keys()
        decorators = (d for binding, _ in facts.decorated for d in getattr(binding.node, "decorator_list", ()))
        calls |= {decorator.attr for decorator in decorators if isinstance(decorator, ast.Attribute)}
    return Change(set(gone), names, calls, attributes, outside)
