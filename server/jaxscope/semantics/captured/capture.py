"""A captured array, in terms that outlive an edit elsewhere in the file."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxscope.semantics.compiled.functions import Place
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.evaluation.values import Array
from jaxscope.semantics.names.scopes import Scope
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel


@dataclass(frozen=True, slots=True)
class Mark:
    """A tree and the chunk that it stands in: a place that stays right when the chunk moves."""

    chunk: Chunk
    node: ast.AST

    @property
    def place(self) -> Place:
        """Where that is now."""
        model: FileModel = self.chunk.facts["model"]
        return model.place_in(self.chunk, self.node)


@dataclass(slots=True)
class Capture:
    """One array, or container of arrays, that a compiled function takes in as a constant."""

    site: Site
    name: str
    """As written at `at`."""
    at: Mark
    via: str
    leaves: tuple[tuple[str, Array, int | None], ...]
    """The arrays: how one gets there from the name, the array, how many alike."""
    container: bool
    """Is the value itself no array?"""
    inner: Scope | None
    """The function that does the read, when it is not the compiled one."""
    bound: Mark | None
    part_of: tuple[str, Mark] | None = None
    """The container that it was taken out of by a known key, as written there."""
    also: list[Mark] = field(default_factory=list)
    """Further reads in the same file."""
    first: Mark | None = None
    """The first of several reads, also one of which NumPy leaves no more than a part."""

    @property
    def stale(self) -> bool:
        """Does the read stand in text that does not parse now?"""
        return self.at.chunk.broken
