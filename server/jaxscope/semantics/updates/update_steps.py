"""Update steps: compiled functions whose result replaces what went in, `state = step(state, x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.captured.captures import traced_scopes_of
from jaxscope.semantics.compiled.callers import CompiledCall, compiled_calls_in
from jaxscope.semantics.compiled.repetition import loop_around
from jaxscope.semantics.evaluation.arguments import Given
from jaxscope.semantics.evaluation.arrays import size_bytes
from jaxscope.semantics.evaluation.dtypes import narrowed
from jaxscope.semantics.evaluation.values import Const, Scalar, Sequence, Value, join, leaves
from jaxscope.semantics.names.scopes import Scope, facts_of
from jaxscope.semantics.updates.replaced import Need, Replaced, most, replaced_by
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.evaluation.frames import Frame
    from jaxscope.semantics.model import FileModel

_LAYER = "update_steps"


@dataclass(frozen=True, slots=True)
class UpdateStep:
    """A compiled function with the parameters that all its calls in the file replace."""

    calls: tuple[CompiledCall, ...]
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    """As written in the first call."""
    needed: Need
    bytes: int
    unsized: bool
    """Is something of unknown size?"""

    @property
    def first(self) -> CompiledCall:
        """The call that replaces most."""
        return self.calls[0]


def update_steps_of(model: FileModel) -> list[UpdateStep]:
    """Those whose calls in the file all let the old value go."""
    return model.once(_LAYER, lambda: _of_file(model))


def _of_file(model: FileModel) -> list[UpdateStep]:
    found: dict[int, list[UpdateStep]] = {}
    for chunk in model.module.chunks:
        for one in _of_chunk(model, chunk):
            found.setdefault(id(one.first.compiled_at), []).append(one)
    return [step for same in found.values() if (step := _together(same)) is not None]


@dataclass(frozen=True, slots=True)
class _Worked:
    """The steps of a part of the file, and what they rest on that an evaluator does not record."""

    steps: list[UpdateStep]
    calls: list[CompiledCall]
    traced: frozenset[Scope]
    chunks: list[Chunk]
    """Of the file, where variables of the module are replaced, which any of them may read."""

    def still_holds(self, other: _Worked) -> bool:
        """Are calls, traced functions and readers the same?"""
        return (
            len(self.calls) == len(other.calls)
            and all(one is now for one, now in zip(self.calls, other.calls, strict=True))
            and self.traced == other.traced
            and self.chunks == other.chunks
        )


def _of_chunk(model: FileModel, chunk: Chunk) -> list[UpdateStep]:
    """One for each call outside of traced code, also of those that replace nothing."""
    calls = compiled_calls_in(model, chunk)
    if not calls:
        return []
    traced = frozenset(scope for scope in facts_of(chunk).scopes if scope in traced_scopes_of(model))
    in_module = any(call.scope.owner().kind == "module" for call in calls)
    now = _Worked([], calls, traced, list(model.module.chunks) if in_module else [])
    kept = chunk.facts.get(_LAYER)
    if kept is not None and not kept.result.still_holds(now):
        del chunk.facts[_LAYER]

    def work(ev: Evaluator) -> _Worked:
        return replace(now, steps=[_step(model, ev, call) for call in calls if call.scope not in traced])

    worked: _Worked = model.kept(chunk, _LAYER, work)
    return worked.steps


def _step(model: FileModel, ev: Evaluator, call: CompiledCall) -> UpdateStep:
    known = call.donated
    free = [] if known is None else [one for one in replaced_by(ev, call) if one.parameter not in known]
    free = [one for one in free if one.needed != "yes"]
    size, unsized = 0, False
    kept: dict[Replaced, Value] = {}
    for one, value in zip(free, _before(ev, call, free, model), strict=True):
        if isinstance(value, Const | Scalar):
            continue
        sizes = [size_bytes(array, model.x64) for _, array, _ in leaves(value)]
        unsized = unsized or not sizes or None in sizes
        size += sum(known for known in sizes if known is not None)
        kept[one] = value
    result = _result(ev, call, kept, model) if kept else "unknown"
    if result == "other":
        kept = {}
    certain = result == "same" or loop_around(call.scope, call.block, call.node) is not None
    needed: Need = most(one.needed for one in kept) if certain else "perhaps"
    names = tuple(one.parameter for one in kept)
    return UpdateStep((call,), names, tuple(ast.unparse(one.node) for one in kept), needed, size, unsized)


def _before(ev: Evaluator, call: CompiledCall, arguments: Iterable[Replaced], model: FileModel) -> list[Value]:
    """What the arguments are at first: without what the call itself makes of them."""
    return [_first(ev, one.node, call, ev.generic_frame(call.scope, model)) for one in arguments]


def _first(ev: Evaluator, node: ast.expr, call: CompiledCall, frame: Frame) -> Value:
    if isinstance(node, ast.Tuple | ast.List):
        return Sequence(tuple(_first(ev, part, call, frame) for part in node.elts))
    owner = ev.owner(node.id, call.scope) if isinstance(node, ast.Name) else None
    if owner is None or not isinstance(node, ast.Name):
        return ev.evaluate(node, call.scope, frame)
    bindings = frame.model.bindings_of(node.id, owner)
    first = [binding for binding in bindings if not _is_made_by(binding.value, call.node)]
    return join([ev.binding_value(binding, ev.frame_of(owner, frame)) for binding in first])


def _is_made_by(value: ast.expr | None, call: ast.Call) -> bool:
    return (value.value if isinstance(value, ast.Await) else value) is call


def _result(
    ev: Evaluator, call: CompiledCall, arguments: Mapping[Replaced, Value], model: FileModel
) -> Literal["same", "other", "unknown"]:
    """Has the result arrays like those of the arguments?"""
    frame = ev.generic_frame(call.scope, model)
    given = {id(one.node): value for one, value in arguments.items()}
    plain = [given.get(id(node)) or ev.evaluate(node, call.scope, frame) for node in call.node.args]
    named = {
        word.arg: given.get(id(word.value)) or ev.evaluate(word.value, call.scope, frame)
        for word in call.node.keywords
        if word.arg is not None
    }
    made = ev.call(ev.evaluate(call.node.func, call.scope, frame), Given(plain, named, call.starred), call.node, frame)
    made_of = {(array.shape, narrowed(array.dtype, model.x64)) for _, array, _ in leaves(made)}
    if not made_of or any(shape is None or None in shape for shape, _ in made_of):
        return "unknown"
    wanted = [
        (array.shape, narrowed(array.dtype, model.x64)) for value in given.values() for _, array, _ in leaves(value)
    ]
    return "same" if all(one in made_of for one in wanted) else "other" if wanted else "unknown"


def _together(steps: list[UpdateStep]) -> UpdateStep | None:
    """Of one function: the parameters that every call replaces or makes on the spot."""
    best = max(steps, key=lambda step: len(step.parameters))
    kept = []
    for number, name in enumerate(best.parameters):
        if all(name in step.parameters or _is_temporary(step.first.argument(name)) for step in steps):
            kept.append(number)
    if not kept:
        return None
    needed = most(step.needed for step in steps)
    if len(kept) < len(best.parameters):
        return None
    return replace(best, calls=tuple(step.first for step in steps), needed=needed)


def _is_temporary(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call | ast.BinOp | ast.Constant)
