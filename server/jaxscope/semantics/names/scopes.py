"""Python's scopes, chunk by chunk: types, and the facts of a chunk, which are built once and kept with it."""

from __future__ import annotations

from jaxscope.semantics.names.scope_builder import Builder
from jaxscope.semantics.names.scope_types import AttributeWrite as AttributeWrite
from jaxscope.semantics.names.scope_types import Binding as Binding
from jaxscope.semantics.names.scope_types import BindingKind as BindingKind
from jaxscope.semantics.names.scope_types import Block as Block
from jaxscope.semantics.names.scope_types import ChunkFacts as ChunkFacts
from jaxscope.semantics.names.scope_types import FunctionNode as FunctionNode
from jaxscope.semantics.names.scope_types import Read as Read
from jaxscope.semantics.names.scope_types import Scope as Scope
from jaxscope.semantics.names.scope_types import ScopeKind as ScopeKind
from jaxscope.source.module import Chunk


def facts_of(chunk: Chunk) -> ChunkFacts:
    """Scopes of `chunk`, built at the first call."""
    found: ChunkFacts | None = chunk.facts.get("scopes")
    if found is None:
        try:
            found = Builder(chunk).build()
        except RecursionError:
            # Nested deeper than Python's stack: only machines write that. The rest of the file is still looked at.
            found = Builder(Chunk(chunk.text, [], chunk.origin)).build()
            found.module.chunk = chunk
        chunk.facts["scopes"] = found
    return found
