"""Whether the value that a name has can still be read after a statement, along the control flow of its function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from jaxscope.semantics.names.loops import LOOPS

_WRITES = ast.Store | ast.Del


@dataclass(frozen=True, slots=True)
class _Goes:
    """Is the value read later, where control goes on from a statement?"""

    on: bool = False
    out: bool = False
    """By `break`."""
    again: bool = False
    """By `continue`."""
    up: bool = False
    """By an exception."""
    back: bool = False
    """By `return`."""

    def through(self, live: _Live, body: list[ast.stmt]) -> _Goes:
        """The same if `body` runs before, as a `finally` does."""
        ways = (self.on, self.out, self.again, self.up, self.back)
        return _Goes(*(live.before(body, replace(self, on=way)) for way in ways)) if body else self


class _Live:
    """Walks backwards from the end of a body."""

    def __init__(self, name: str, reading: frozenset[int], statement: ast.stmt) -> None:
        self.name = name
        self.reading = reading
        """`id`s of the trees in which the name is read."""
        self.statement = statement
        self.found = False

    def before(self, body: Iterable[ast.stmt], goes: _Goes) -> bool:
        """Is the value that the name has before a body read, in it or later?"""
        for statement in reversed(list(body)):
            if statement is self.statement:
                self.found = self.found or goes.on
            goes = replace(goes, on=self._before(statement, goes) or goes.up)
        return goes.on

    def _before(self, node: ast.stmt, goes: _Goes) -> bool:
        if isinstance(node, LOOPS):
            return self._loop(node, goes)
        if isinstance(node, ast.If):
            return any([self._reads(node.test), self.before(node.body, goes), self.before(node.orelse, goes)])
        if isinstance(node, ast.With | ast.AsyncWith):
            inside = self.before(node.body, replace(goes, up=goes.up or goes.on))
            return any(self._reads(item.context_expr) for item in node.items) or inside
        if isinstance(node, ast.Match):
            cases = [self.before(case.body, goes) for case in node.cases]
            guards = (case.guard for case in node.cases if case.guard is not None)
            return self._reads(node.subject) or any(map(self._reads, guards)) or goes.on or any(cases)
        if hasattr(node, "handlers"):
            return self._try(node, goes)
        return self._simple(node, goes)

    def _simple(self, node: ast.stmt, goes: _Goes) -> bool:
        if self._reads(node):
            return True
        if isinstance(node, ast.Return):
            return goes.back
        if isinstance(node, ast.Raise):
            return goes.up
        if isinstance(node, ast.Break):
            return goes.out
        if isinstance(node, ast.Continue):
            return goes.again
        return goes.on and not self._binds(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, goes: _Goes) -> bool:
        head = self.before(node.orelse, goes)
        if isinstance(node, ast.While):
            head, binds, over = head or self._reads(node.test), False, False
        else:
            binds, over = self._binds(node.target), self._reads(node.iter)
        for _ in range(2):  # what the first round finds, the second takes back to the loop's end
            body = self.before(node.body, replace(goes, on=head, out=goes.on, again=head))
            head = head or (body and not binds)
        return head or over

    def _try(self, node: ast.stmt, goes: _Goes) -> bool:
        parts = {part: getattr(node, part) for part in ("body", "handlers", "orelse", "finalbody")}
        after = goes.through(self, parts["finalbody"])
        handled = [self.before(handler.body, after) for handler in parts["handlers"]]
        caught = after.up or any(handled)
        otherwise = self.before(parts["orelse"], after)
        return self.before(parts["body"], replace(after, on=otherwise, up=caught))

    def _reads(self, node: ast.AST) -> bool:
        return id(node) in self.reading

    def _binds(self, node: ast.AST) -> bool:
        """Does a statement that is no compound one, or a loop's target, give the name another value?"""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return node.name == self.name
        names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
        return any(one.id == self.name and isinstance(one.ctx, _WRITES) for one in names)


def is_read_after(
    body: Iterable[ast.stmt], statement: ast.stmt, name: str, reads: Iterable[ast.AST], parents: Mapping[int, ast.AST]
) -> bool:
    """Can the value that `name` has when `statement` of a function's `body` has run be read by one of `reads`, trees in
    that function? `parents`: what stands around a tree, by its `id`, up to its statement."""
    reading: set[int] = set()
    for read in reads:
        at = read
        while not isinstance(at, ast.stmt):
            reading.add(id(at))
            if id(at) not in parents:
                return True  # which is what may be, where it is not known
            at = parents[id(at)]
        reading.add(id(at))
    live = _Live(name, frozenset(reading), statement)
    live.before(body, _Goes())
    return live.found
