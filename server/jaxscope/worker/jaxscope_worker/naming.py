"""Names a constant: the path by which the user's code got hold of the array, at the place where that code reads it.

The frames that were running when the trace met the array are asked, the traced function first. A name that is captured
there (global, closure, bound object, default) is the answer; an array that only locals hold was made inside. Where no
frames are known, the functions that the traced one can call are asked instead.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from . import arrays, expressions, jax_compat
from .reaching import Index, Reached
from .sources import UserFiles
from .targets import Target, bound_by_partial
from .wire.messages import Place

_LIBRARIES = ("jax", "jaxlib", "numpy")
_MISSING = object()


@dataclass(frozen=True)
class Name:
    """What is known of where a constant comes from; the fields are those of `Constant`."""

    name: str | None
    holder: str
    owner: str
    representation: str
    source_dtype: str
    bound: Place | None = None
    source: int = 0


@dataclass
class Scope:
    """One running frame, or one function that could run: the names it can use."""

    code: CodeType
    owner: str
    globals: dict[str, Any]
    closure: dict[str, Any]
    parameters: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Name to (holder, value); the holder is empty when the value came from a caller."""
    locals: dict[str, Any] = field(default_factory=dict)
    place: Place | None = None
    instruction: int = -1
    spelled: frozenset[str] | None = None
    """Names in the expression that is being evaluated; None where that is not known."""


@dataclass(frozen=True)
class _Candidate:
    scope: Scope
    holder: str
    name: str
    reached: Reached


@dataclass(frozen=True)
class _Uses:
    """The names that a code object itself uses, not the functions inside it."""

    globals: tuple[str, ...]
    closure: frozenset[str]


@functools.lru_cache(maxsize=4096)
def _uses(code: CodeType) -> _Uses:
    names: dict[str, None] = {}
    closure = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names[instruction.argval] = None
        elif instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            closure.add(instruction.argval)
    return _Uses(tuple(names), frozenset(closure))


def scopes_of_frames(frames: list[FrameType], target: Target | None, files: UserFiles) -> list[Scope]:
    """Scopes of running frames, given outermost first; the first is the traced function's."""
    scopes: list[Scope] = []
    for frame in frames:
        code, values = frame.f_code, frame.f_locals
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        made_here = {name for scope in scopes for name in scope.code.co_cellvars}
        closure = {n: values[n] for n in code.co_freevars if n in values and n not in made_here}
        scope = Scope(code, files.qualname(code), frame.f_globals, closure)
        scope.place, scope.instruction = files.frame_place(frame), frame.f_lasti
        is_target = target is not None and code is target.function.__code__
        for index, name in enumerate(parameters):
            value = values.get(name, _MISSING)
            if value is _MISSING or jax_compat.is_tracer(value):
                continue
            holder = "self" if index == 0 and name == "self" else ""
            if is_target and target is not None:
                holder = target.bound.get(name, holder)
            scope.parameters[name] = (holder, value)
        inside = set(parameters) | set(code.co_freevars)
        scope.locals = {n: v for n, v in values.items() if n not in inside and not n.startswith(".")}
        if code.co_name == "<module>":
            scope.locals = {}
        scopes.append(scope)
    if scopes:
        scopes[-1].spelled = expressions.names_in(scopes[-1].place)
    return scopes


def scopes_of_functions(target: Target, files: UserFiles, limit: int = 200) -> list[Scope]:
    """Scopes of the traced function and of all functions of the user's that it can reach, the nearest first."""
    scopes, queue, seen = [], [target.function], {target.function}
    while queue and len(scopes) < limit:
        function = queue.pop(0)
        for code in _codes(function.__code__):
            scope = _scope_of_function(function, code, files)
            scopes.append(scope)
            for name in _uses(code).globals:
                _follow(scope.globals.get(name), files, queue, seen)
            for value in scope.closure.values():
                _follow(value, files, queue, seen)
    return scopes


def _scope_of_function(function: FunctionType, code: CodeType, files: UserFiles) -> Scope:
    scope = Scope(code, files.qualname(code), function.__globals__, {})
    if code is not function.__code__:
        return scope
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            scope.closure[name] = cell.cell_contents
        except ValueError:
            continue
    defaults = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    pairs = [*zip(positional[len(positional) - len(defaults) :], defaults, strict=True)]
    pairs += (function.__kwdefaults__ or {}).items()
    scope.parameters = {name: ("default", value) for name, value in pairs}
    return scope


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _follow(value: Any, files: UserFiles, queue: list[FunctionType], seen: set[FunctionType]) -> None:
    for _ in range(10):
        value = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None) or value
        if isinstance(value, FunctionType):
            if value not in seen and files.owns(value.__code__.co_filename):
                seen.add(value)
                queue.append(value)
            if not hasattr(value, "__wrapped__"):
                return
        elif isinstance(value, type) or not hasattr(value, "__wrapped__"):
            return


# ---------------------------------------------------------------- the search


def find(constant: Any, scopes: list[Scope], index: Index) -> Name | None:
    """The best name for an array among `scopes`; None when none of them reaches it."""
    constant = jax_compat.unwrapped(constant)
    key = arrays.key_of(constant)

    def same(value: Any) -> bool:
        return arrays.key_of(value) == key

    view = functools.partial(arrays.is_view, constant)
    copy = functools.partial(arrays.same_values, constant)
    is_host = isinstance(constant, np.ndarray)
    written = [c for scope in scopes for c in _captured(scope, index) if _is_written(c)]
    for accepts in (same, view) if is_host else (same,):
        for search in (
            lambda: written,
            lambda: _all_captured(scopes, index),
            lambda: _by_text(scopes, index),
            lambda: _all_locals(scopes, index),
        ):
            for candidate in search():
                if accepts(candidate.reached.value):
                    return _named(_origin(candidate, scopes, index), constant, accepts is view)
    if is_host:
        # Equal values are weak evidence: what stands in the expression itself comes first.
        known = [*written, *_all_locals(scopes, index), *_all_captured(scopes, index)]
        known = [c for c in known if c.holder != "made" or _distance(c, scopes[-1]) < 2]
        known.sort(key=lambda candidate: _distance(candidate, scopes[-1]))
        for accepts in (copy, functools.partial(arrays.same_when_cast, constant)):
            for candidate in known:
                if accepts(candidate.reached.value):
                    return _named(_origin(candidate, scopes, index), constant, False)
    for accepts in (same, view, copy) if is_host else (same,):
        for candidate in _passed(scopes, index):
            if accepts(candidate.reached.value):
                return _named(candidate, constant, accepts is view)
    return None


def of_partial(constant: Any, fun: Any, callers: list[FrameType], files: UserFiles) -> Name | None:
    """The name of an array that `partial` binds to a library's function, as the frames that call it know it."""
    constant = jax_compat.unwrapped(constant)
    key, index = arrays.key_of(constant), Index()
    for argument in bound_by_partial(fun):
        reached = next((r for r in index.arrays(argument) if arrays.key_of(r.value) == key), None)
        if reached is None:
            continue
        for frame in callers:
            names = (n for held in (frame.f_locals, frame.f_globals) for n, v in held.items() if v is argument)
            for name in names:
                owner = files.qualname(frame.f_code)
                path, dtype = name + reached.path, str(reached.value.dtype)
                shown = _representation(constant, reached.value, path, False)
                return Name(path, "partial", owner, shown, dtype, source=arrays.number_of(reached.value))
    return None


def _distance(candidate: _Candidate, innermost: Scope) -> int:
    """How unlikely it is that the running expression means this candidate."""
    if candidate.scope is not innermost or innermost.spelled is None:
        return 1
    return 0 if candidate.name.partition(".")[0] in innermost.spelled else 2


def _origin(candidate: _Candidate, scopes: list[Scope], index: Index) -> _Candidate:
    """For a local that is a captured array, or only shows memory of one, that array."""
    if candidate.holder != "made":
        return candidate
    value = candidate.reached.value
    key = arrays.key_of(value)
    for captured in _all_captured(scopes, index):
        if arrays.key_of(captured.reached.value) == key or arrays.is_view(value, captured.reached.value):
            return captured
    return candidate


def _all_captured(scopes: list[Scope], index: Index) -> Iterator[_Candidate]:
    return (candidate for scope in scopes for candidate in _captured(scope, index))


def _by_text(scopes: list[Scope], index: Index) -> Iterator[_Candidate]:
    """Globals that running code can only look up by a text of its own: `globals()["W"]`, `getattr(module, "W")`."""
    for scope in reversed(scopes):
        for text in scope.code.co_consts if scope.place is not None else ():
            if isinstance(text, str) and text in scope.globals and text not in _uses(scope.code).globals:
                for reached in index.arrays(scope.globals[text]):
                    yield _Candidate(scope, "global", expressions.looked_up(scope.place, text), reached)


def _all_locals(scopes: list[Scope], index: Index) -> Iterator[_Candidate]:
    for scope in scopes:
        for name, value in scope.locals.items():
            if isinstance(value, ModuleType) or value is scope.globals:
                continue
            for reached in index.arrays(value):
                yield _Candidate(scope, "made", name, reached)


def _passed(scopes: list[Scope], index: Index) -> Iterator[_Candidate]:
    for scope in scopes:
        for name, (holder, value) in scope.parameters.items():
            if not holder:
                for reached in index.arrays(value):
                    yield _Candidate(scope, "", name, reached)


def _captured(scope: Scope, index: Index) -> Iterator[_Candidate]:
    for name, (holder, value) in scope.parameters.items():
        if holder:
            for reached in index.arrays(value):
                yield _Candidate(scope, holder, name, reached)
    for name, value in scope.closure.items():
        for reached in index.arrays(value):
            yield _Candidate(scope, "closure", name, reached)
    for name in _uses(scope.code).globals:
        value = scope.globals.get(name, _MISSING)
        if isinstance(value, ModuleType):
            yield from _of_module(scope, name, value, index)
        elif value is not _MISSING:
            for reached in index.arrays(value):
                yield _Candidate(scope, "global", name, reached)


def _of_module(scope: Scope, path: str, module: ModuleType, index: Index, depth: int = 3) -> Iterator[_Candidate]:
    if module.__name__.split(".")[0] in _LIBRARIES:
        return
    for name in scope.code.co_names:
        value = vars(module).get(name, _MISSING)
        if isinstance(value, ModuleType):
            if depth:
                yield from _of_module(scope, f"{path}.{name}", value, index, depth - 1)
        elif value is not _MISSING:
            for reached in index.arrays(value):
                yield _Candidate(scope, "module", f"{path}.{name}", reached)


def _is_written(candidate: _Candidate) -> bool:
    """Does the code itself use the name, and spell out every attribute of the path? Items need not be spelled out:
    a whole container is handed on."""
    code = candidate.scope.code
    if candidate.holder == "closure" and candidate.name not in _uses(code).closure:
        return False
    return all(attribute in code.co_names for attribute in candidate.reached.attributes)


def _named(candidate: _Candidate, constant: Any, is_view: bool) -> Name:
    scope, value = candidate.scope, jax_compat.unwrapped(candidate.reached.value)
    path = expressions.as_written(candidate.name + candidate.reached.path, scope.code.co_filename)
    holder, bound = candidate.holder, None
    if holder == "made":
        if isinstance(value, np.ndarray):
            bound = _binding(scope, candidate.name)
        else:
            holder = "unknown"
    elif not holder:
        holder = "unknown"
    source = arrays.number_of(value) if candidate.holder not in ("", "made") else 0
    shown = _representation(constant, value, path, is_view)
    return Name(path, holder, scope.owner, shown, str(value.dtype), bound, source)


def _representation(constant: Any, value: Any, path: str, is_view: bool) -> str:
    if not isinstance(value, np.ndarray):
        return "same jax.Array"
    if is_view or value.shape != constant.shape:
        return f"view of {path}"
    if jax_compat.canonical_dtype(value.dtype) != value.dtype:
        return f"truncated from {value.dtype}"
    return "same numpy array" if arrays.key_of(constant) == arrays.key_of(value) else "copy"


def _binding(scope: Scope, name: str) -> Place | None:
    """The line of `scope` that bound `name` last, before where it stands."""
    if scope.place is None:
        return None
    line, last, current = None, None, None
    for instruction in dis.get_instructions(scope.code):
        # Since 3.13 `starts_line` only says whether one starts here.
        started = getattr(instruction, "line_number", instruction.starts_line)
        current = started if isinstance(started, int) and not isinstance(started, bool) else current
        stores = instruction.opname in ("STORE_FAST", "STORE_DEREF", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST")
        if not stores or name not in _stored(instruction):
            continue
        if scope.instruction < 0 or instruction.offset <= scope.instruction or line is None:
            line, last = current, instruction
    if line is None or last is None:
        return None
    return Place(scope.place.path, line, function=scope.owner)


def _stored(instruction: dis.Instruction) -> tuple[str, ...]:
    value = instruction.argval
    return value if isinstance(value, tuple) else (value,)
