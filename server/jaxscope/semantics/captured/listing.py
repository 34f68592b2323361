"""The captures that were found so far of one compiled function: each array once, at the read to show."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.captured.capture import Capture, Mark
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.evaluation.arrays import most_bytes
from jaxscope.semantics.evaluation.values import Array, Value, leaves
from jaxscope.semantics.names.scopes import Scope
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel


class CaptureList:
    """Of several reads of one thing the first is shown, one in the compiled function's own body before any other."""

    def __init__(self, model: FileModel, site: Site) -> None:
        self.model = model
        self.site = site
        self.found: dict[object, Capture] = {}
        self.kept = 0
        """How many reads were taken down."""

    def keep(
        self,
        key: object,
        name: str,
        at: Mark,
        via: str,
        value: Value,
        *,
        inner: Scope | None = None,
        bound: Mark | None = None,
        part_of: tuple[str, Mark] | None = None,
        read_at: Mark | None = None,
        steps: str = "",
    ) -> None:
        """Takes a capture down; of several reads of one thing the first is shown.

        With `steps`, the value is what one gets to by these from what is called `name`, and joins other parts of that.
        """
        found = tuple(leaves(value, steps))
        if not found:
            return
        self.kept += 1
        container = bool(steps) or not isinstance(value, Array)
        also = [] if read_at is None else [read_at]
        capture = Capture(self.site, name, at, via, found, container, inner, bound, part_of, also)
        kept = self.found.get(key)
        if kept is None:
            self.found[key] = capture
            return
        first, later = (kept, capture) if self._goes_before(kept, capture) else (capture, kept)
        earliest = kept.first or kept.at
        first.first = earliest if self._before(earliest, at) else at
        if steps:
            first.leaves = tuple({leaf[0]: leaf for leaf in (*later.leaves, *first.leaves)}.values())
        for mark in () if self._is_part(later, first) else (later.at, *later.also):
            if mark.node is not first.at.node and mark not in first.also and mark.chunk.facts["model"] is self.model:
                first.also.append(mark)
        self.found[key] = first

    def _goes_before(self, one: Capture, other: Capture) -> bool:
        """Is `one` to be shown? What a read takes in whole, before one that NumPy takes a part of at once."""
        parts = [self._is_part(capture, of) for capture, of in ((one, other), (other, one))]
        return parts[1] if parts[0] != parts[1] else self._before(one.at, other.at)

    def _is_part(self, one: Capture, whole: Capture) -> bool:
        if one.container or whole.container:
            return False
        least, most = (most_bytes(capture.leaves[0][1]) for capture in (one, whole))
        return least is not None and (most is None or least < most)

    def _before(self, one: Mark, other: Mark) -> bool:
        """Does `one` come first? The compiled function's own body before what it calls."""
        body = self.site.function
        own = [self._within(mark, body) for mark in (one, other)]
        if own[0] != own[1]:
            return own[0]
        if one.chunk is not other.chunk:
            return True
        return _order(one.node) <= _order(other.node)

    def _within(self, mark: Mark, body: Scope) -> bool:
        node = body.function_node
        if mark.chunk is not body.chunk:
            return False
        return _order(node) <= _order(mark.node) <= (node.end_lineno or 0, node.end_col_offset or 0)

    def inner(self, scope: Scope) -> Scope | None:
        """The function that `scope` is the code of, when it is not the compiled one."""
        at: Scope | None = scope.owner()
        while at is not None and not at.is_function:
            at = at.parent
        return None if at is None or at is self.site.function else at


def _order(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def written(chunk: Chunk, node: ast.expr) -> str:
    """The expression as the user wrote it, on one line."""
    model: FileModel = chunk.facts["model"]
    text = ast.unparse(node) if chunk.broken else model.module.source(model.module.range(chunk, node))
    return " ".join(text.split())
