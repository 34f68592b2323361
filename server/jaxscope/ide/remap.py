"""What a trace of an older text still says about the text as it stands now.

A traced function whose own lines are unchanged keeps its facts, moved to where those lines are now. One whose lines
were edited has lost them, since nobody can tell what the edit did without tracing again; so has one that captures an
array whose binding was edited, in this file or in another.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from itertools import takewhile

from jaxscope.semantics.model import Function
from jaxscope.source.module import Chunk, Module
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Failure, Place, Read, TracedFunction, TraceReply
from jaxscope.worker.jaxscope_worker.wire.retracing import Retraced

FunctionsOf = Callable[[str], tuple[Function, ...]]
MadeAt = Callable[[str, Constant], "tuple[str, range] | None"]
"""Lines of the statement that binds a constant of a function of the file at a path, as the texts are now."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_DIFF_LIMIT = 4000
"""Lines between the first and the last difference above which they all count as changed: a diff would be slow."""


class LineMap:
    """Where each line of `old` is in `new`. Lines count from 1."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = _LINE_END.split(old), _LINE_END.split(new)
        self.same = old == new
        self._blocks = [(0, 0, len(self.old))] if self.same else list(_matching(self.old, self.new))
        self._starts = [block[0] for block in self._blocks]

    def forward(self, line: int) -> int | None:
        """The line of the new text that line `line` of the old one became; None when it was changed."""
        at = bisect_right(self._starts, line - 1) - 1
        if at < 0:
            return None
        old, new, size = self._blocks[at]
        return line - old + new if line - 1 < old + size else None

    def backward(self, line: int) -> int | None:
        """The old line that line `line` of the new text was."""
        for old, new, size in self._blocks:
            if new < line <= new + size:
                return line - new + old
        return None

    @property
    def changed(self) -> tuple[int, ...]:
        """Lines of the new text that are new or edited, or that follow a deletion."""
        lines: list[int] = []
        old_end = new_end = 0
        for old, new, size in [*self._blocks, (len(self.old), len(self.new), 0)]:
            lines += range(new_end + 1, new + 1)
            if old > old_end and new == new_end and (not lines or lines[-1] <= new):
                lines.append(max(min(new + 1, len(self.new)), 1))
            old_end, new_end = old + size, new + size
        return tuple(dict.fromkeys(lines))

    def unchanged(self, function: Function) -> bool:
        """Are all lines of `function` (of the new text) as they were, with none gone from its end?"""
        first, last = function.range.start.line, function.range.end.line
        start = self.backward(first)
        if start is None or any(self.backward(line) != line - first + start for line in range(first, last + 1)):
            return False
        if function.name == "<lambda>" or first == last:
            return True
        indent = _indent(self.new[function.line - 1])
        after = next((text for text in self.old[last - first + start :] if text.strip()), None)
        following = next((text for text in self.new[last:] if text.strip()), None)
        return after is None or after == following or _indent(after) <= indent


def statement_lines(module: Module, line: int) -> range:
    """The lines of the innermost statement around a line; of a compound one its header."""
    for chunk in module.chunks:
        first = module.first_line(chunk)
        if not first <= line <= first + chunk.line_count:
            continue
        nodes = [node for part in chunk.body for node in ast.walk(part) if isinstance(node, ast.stmt)]
        found = [_lines(module, chunk, node) for node in nodes]
        return min((lines for lines in found if line in lines), key=len, default=range(line, line + 1))
    return range(line, line + 1)


def _lines(module: Module, chunk: Chunk, node: ast.stmt) -> range:
    place = module.range(chunk, node)
    body: list[ast.stmt] = getattr(node, "body", [])
    end = max(module.range(chunk, body[0]).start.line - 1, place.start.line) if body else place.end.line
    return range(place.start.line, end + 1)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _matching(old: list[str], new: list[str]) -> Iterable[tuple[int, int, int]]:
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    room = min(len(old), len(new)) - head
    backwards = zip(reversed(old[head:]), reversed(new[head:]), strict=False)
    tail = min(room, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], backwards)))
    yield 0, 0, head
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if middle_old and middle_new and len(middle_old) + len(middle_new) <= _DIFF_LIMIT:
        for match in SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks():
            if match.size:
                yield head + match.a, head + match.b, match.size
    yield len(old) - tail, len(new) - tail, tail


class Remap:
    """Carries a reply over to newer texts."""

    def __init__(self, maps: dict[str, LineMap], functions_of: FunctionsOf, made_at: MadeAt) -> None:
        self._maps = maps
        self._functions_of = functions_of
        self._made_at = made_at

    def reply(self, reply: TraceReply) -> TraceReply:
        """`reply` without what was changed since, its places moved."""
        if all(lines.same for lines in self._maps.values()):
            return reply
        kept = [function for function in map(self._function, reply.functions) if function is not None]
        not_traced = [
            dataclasses.replace(item, line=line, failure=self._failure(item.failure))
            for item in reply.not_traced
            if (line := self._line_of(item.path, item.function, item.line)) is not None
        ]
        return dataclasses.replace(
            reply,
            functions=tuple(kept),
            not_traced=tuple(not_traced),
            denied=tuple(dataclasses.replace(item, place=self._place(item.place)) for item in reply.denied),
            failure=self._failure(reply.failure),
            retraced=tuple(self._retraced(reply)),
        )

    def _retraced(self, reply: TraceReply) -> Iterable[Retraced]:
        for item in reply.retraced:
            line, at = self._line_of(item.path, item.function, item.line), self._place(item.at)
            if line is not None and at is not None:
                yield dataclasses.replace(item, line=line, at=at)

    def edited(self, traced: TracedFunction, line: int) -> TracedFunction:
        """`traced` as it was, now that its lines were edited and its def is on `line`; places that are gone dropped."""
        constants = tuple(
            dataclasses.replace(
                constant,
                bound=self._place(constant.bound),
                reads=tuple(
                    Read(read.primitive, tuple(frame for frame in map(self._place, read.frames) if frame is not None))
                    for read in constant.reads
                    if read.frames and self._place(read.frames[0]) is not None
                ),
            )
            for constant in traced.constants
        )
        return dataclasses.replace(traced, line=line, jitted_at=self._place(traced.jitted_at), constants=constants)

    def _line_of(self, path: str, name: str, line: int) -> int | None:
        """The line where the def of an unchanged function is now; None when it was edited or is gone."""
        lines = self._maps.get(path)
        if lines is None or lines.same:
            return line
        now = lines.forward(line)
        for function in self._functions_of(path) if now else ():
            # A traced function is named by its def line; of a decorated one Python gives the first decorator's.
            if function.qualname == name and function.range.start.line <= (now or 0) <= function.line:
                return now if lines.unchanged(function) else None
        return None

    def _function(self, traced: TracedFunction) -> TracedFunction | None:
        line = self._line_of(traced.path, traced.function, traced.line)
        if line is None:
            return None
        constants = []
        for constant in traced.constants:
            moved = self._constant(constant)
            if moved is None or self._made_anew(traced.path, constant):
                return None
            constants.append(moved)
        return dataclasses.replace(
            traced, line=line, jitted_at=self._place(traced.jitted_at), constants=tuple(constants)
        )

    def _made_anew(self, path: str, constant: Constant) -> bool:
        """Was the statement edited that says how large it is?"""
        path, lines = self._made_at(path, constant) or (path, range(0))
        known = self._maps.get(path)
        return known is not None and not known.same and any(known.backward(line) is None for line in lines)

    def _constant(self, constant: Constant) -> Constant | None:
        reads = []
        for read in constant.reads:
            frames = [self._place(frame) for frame in read.frames]
            if frames and frames[0] is None:
                return None
            reads.append(Read(read.primitive, tuple(frame for frame in frames if frame is not None)))
        return dataclasses.replace(constant, bound=self._place(constant.bound), reads=tuple(reads))

    def _place(self, place: Place | None) -> Place | None:
        lines = self._maps.get(place.path) if place else None
        if place is None or lines is None or lines.same:
            return place
        line = lines.forward(place.line)
        end = lines.forward(place.end_line) if place.end_line is not None else None
        return dataclasses.replace(place, line=line, end_line=end) if line is not None else None

    def _failure(self, failure: Failure | None) -> Failure | None:
        return dataclasses.replace(failure, place=self._place(failure.place)) if failure else None
