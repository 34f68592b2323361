"""What traced code does to things outside of it: objects that it changes, calls that reach out of the program.

Each effect happens once per trace, not once per call. What is stored may be a tracer, which is of no use after the
trace. Containers that the traced code itself makes, and arguments, which JAX takes apart and puts together again, are
not outside.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.captured.captures import traced_code_of
from jaxscope.semantics.captured.listing import written
from jaxscope.semantics.captured.visits import TracedCode
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.effects.calls import Calls
from jaxscope.semantics.effects.candidates import Candidate, candidates_of, is_guarded, is_put_back
from jaxscope.semantics.effects.impure import Impurity
from jaxscope.semantics.effects.owners import Outer, Owners
from jaxscope.semantics.effects.traced_frames import TracedFrames
from jaxscope.semantics.effects.values import Stored, Values
from jaxscope.semantics.evaluation import branches
from jaxscope.semantics.names.scopes import Block, Scope, facts_of
from jaxscope.semantics.names.variables import begins_with

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel
    from jaxscope.source.module import Chunk

EffectKind = Literal["assign", "fill", "call", "yield", "cache"]
_OWN_STATE = frozenset(("__init__", "__post_init__", "__new__", "setup", "__setattr__", "__setstate__"))


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of one compiled function. Holds no values: it outlives the evaluation that found it."""

    kind: EffectKind
    site: Site
    at: Mark
    """The expression that names what is changed or called."""
    name: str
    """That, as the user wrote it where it lives outside: `self.cache` where a helper calls it `store`."""
    inner: Scope | None
    """The function that does it, when it is not the compiled one."""
    stored: Stored
    sure: bool
    """Is it known what is changed?"""
    candidate: Candidate
    bound: Mark | None = None
    through: Mark | None = None
    """The call that hands the object to a helper."""
    guarded: bool = False
    """Does it happen only where it has not happened before, as in a memo? Of a call: only under a condition?"""
    read: bool = False
    """Does traced code read what it changes?"""
    call: Impurity | None = None
    shown: bool = False
    """Could the running program show all that a call is given?"""
    owner: tuple[object, str] | None = None
    """Tells one outer object from another."""
    how: str = ""
    """How it is reached: `module-global`, `enclosing-scope`, `self`, `default-argument`, `static-argument`."""


@dataclass(slots=True)
class _Found:
    codes: tuple[TracedCode, ...]
    effects: list[Effect]


def effects_of(model: FileModel) -> list[Effect]:
    """The effects of every compiled function of the file."""
    return model.once("effects", lambda: _of_file(model))


def _of_file(model: FileModel) -> list[Effect]:
    codes: dict[Chunk, list[TracedCode]] = {}
    for code in traced_code_of(model):
        if any(candidates_of(scope) for scope in code.scopes if scope.is_function):
            codes.setdefault(code.site.scope.chunk, []).append(code)
    return [effect for chunk, some in codes.items() for effect in _of_chunk(model, chunk, tuple(some))]


def _of_chunk(model: FileModel, chunk: Chunk, codes: tuple[TracedCode, ...]) -> list[Effect]:
    known = chunk.facts.get("effects")
    if known is not None and known.result.codes != codes:
        del chunk.facts["effects"]

    def work(ev: Evaluator) -> _Found:
        return _Found(codes, [effect for code in codes for effect in _Effects(ev, model, code).run()])

    found: _Found = model.kept(chunk, "effects", work)
    return found.effects


class _Effects:
    """Those of one compiled function."""

    def __init__(self, ev: Evaluator, model: FileModel, code: TracedCode) -> None:
        self.ev = ev
        self.code = code
        self.frames = TracedFrames(ev, model, code)
        self.owners = Owners(ev, self.frames)
        self.values = Values(ev, self.frames)
        self.handed = Values(ev, self.frames, strict=True)
        self.calls = Calls(ev, self.frames, self.owners)

    def run(self) -> Iterator[Effect]:
        for scope in self.frames.scopes:
            if scope in self.frames.frames:
                self.ev.look_at(scope)
                for candidate in candidates_of(scope):
                    effect = self._effect(candidate, scope)
                    if effect is not None and not self._never_runs(candidate, scope):
                        yield effect

    def _effect(self, candidate: Candidate, function: Scope) -> Effect | None:
        if candidate.kind == "yield":
            return self._yielded(candidate, function)
        if candidate.kind == "cache":
            return self._cached(candidate, function)
        if candidate.kind == "call":
            return self._called(candidate, function)
        return self._changed(candidate, function)

    def _never_runs(self, candidate: Candidate, function: Scope) -> bool:
        return branches.never_runs(self.ev, _block(candidate), candidate.scope, self.frames.frame(candidate.scope))

    # -- the kinds

    def _changed(self, candidate: Candidate, function: Scope) -> Effect | None:
        target: ast.expr = candidate.target
        if candidate.kind == "name":
            outer = self.owners.of_declared(candidate.target, candidate.scope)
        elif candidate.kind == "attribute":
            holder = target.value if isinstance(target, ast.Attribute) else target
            if function.name in _OWN_STATE and isinstance(holder, ast.Name):
                return None
            outer = self.owners.of_object(holder, candidate.scope)
            if outer is not None and isinstance(target, ast.Attribute):
                outer = outer.member(target.attr)
        else:
            outer = self.owners.of_container(target, candidate.scope, candidate.method)
        if outer is None or is_put_back(candidate, function):
            return None
        kind: EffectKind = "assign" if candidate.kind in ("name", "attribute") else "fill"
        return self._made(kind, candidate, function, outer)

    def _made(self, kind: EffectKind, candidate: Candidate, function: Scope, outer: Outer) -> Effect:
        return Effect(
            kind,
            self.code.site,
            Mark(function.chunk, candidate.target),
            outer.name,
            self._inner(function),
            self.values.stored(candidate),
            outer.sure,
            candidate,
            outer.bound,
            outer.through,
            is_guarded(candidate, function),
            self._is_read(candidate, outer),
            owner=outer.key,
            how=outer.how,
        )

    def _is_read(self, candidate: Candidate, outer: Outer) -> bool:
        """Does traced code read the object, other than to change it here?"""
        if candidate.augmented and candidate.kind == "name":
            return True
        root = outer.key[1].replace("[", ".").partition(".")[0]
        for scope in self.frames.scopes:
            for inner in scope.walk():
                for read in inner.reads:
                    if read.name == root and not _is_within(read.node, candidate.target):
                        whole: ast.expr = read.links[-1] if read.links else read.node
                        if begins_with(written(inner.chunk, whole), outer.name) or outer.name == root:
                            return True
        return False

    def _yielded(self, candidate: Candidate, function: Scope) -> Effect | None:
        if function is not self.frames.function:
            return None
        stored = self.values.stored(candidate)
        if stored != "tracer":
            return None
        name = written(function.chunk, candidate.target)
        at = Mark(function.chunk, candidate.target)
        return Effect("yield", self.code.site, at, name, None, stored, True, candidate)

    def _cached(self, candidate: Candidate, function: Scope) -> Effect | None:
        """A function whose results are kept, and are tracers when it is called while tracing."""
        if function is self.frames.function or self.values.computes_at_once(function):
            return None
        if not self.values.returns_tracers(function):
            return None
        at = Mark(function.chunk, function.function_node)
        return Effect("cache", self.code.site, at, function.name, self._inner(function), "tracer", True, candidate)

    def _called(self, candidate: Candidate, function: Scope) -> Effect | None:
        found = self.calls.of(candidate)
        if found is None:
            return None
        stored = self.handed.stored(candidate)
        at = Mark(function.chunk, candidate.target)
        name = written(function.chunk, candidate.target)
        return Effect(
            "call",
            self.code.site,
            at,
            name,
            self._inner(function),
            stored,
            True,
            candidate,
            guarded=not facts_of(function.chunk).conditions.keys().isdisjoint(_block(candidate)),
            call=found,
            shown=self.handed.are_shown(candidate.values, candidate.scope),
        )

    def _inner(self, function: Scope) -> Scope | None:
        return None if function is self.frames.function else function


def _block(candidate: Candidate) -> Block:
    blocks = facts_of(candidate.scope.chunk).blocks
    names = (blocks.get(id(node)) for node in ast.walk(candidate.node) if isinstance(node, ast.Name))
    return next((block for block in names if block), ())


def _is_within(node: ast.AST, tree: ast.AST) -> bool:
    return any(part is node for part in ast.walk(tree))
