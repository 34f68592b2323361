"""Looks, when a trace has ended, for tracers that outlived it: in what the traced function closes over, its bound or
static objects, its defaults, and the globals of the user's modules."""

from __future__ import annotations

import functools
import re
import sys
from collections import Counter, deque
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from . import jax_compat, reaching, signatures, targets
from .jax_compat import JitCall
from .sources import UserFiles
from .targets import Target
from .wire.leaks import Leak

_MOST_LOOKS = 2
"""Traces of one function after which is looked."""
_MOST_NODES = 2_000
"""Objects that are looked at after one trace."""
_DEEPEST = 4
_OPAQUE = (str, bytes, int, float, complex, type(None), FunctionType, MethodType, ModuleType)
_KEY = re.compile(r"(\[[^\[\]]*\])+$")


class _Root(NamedTuple):
    name: str
    holder: Any
    value: Any
    module: str = ""


class Leaks:
    """Those of one run."""

    def __init__(self, files: UserFiles) -> None:
        self.files = files
        self.found: list[Leak] = []
        self._looks: Counter[tuple[str, str, int]] = Counter()
        self._told: set[tuple[int, str]] = set()
        """Tracers and where they are held, of all looks."""
        self._ours: set[int] = set()
        self._keep: list[Any] = []
        """Their addresses tell tracers apart, so they must not be another's meanwhile."""
        self._left = 0

    def pass_over(self) -> None:
        """Tells nothing of the tracers that are held now: they are left of traces that are not the program's."""
        self._left = _MOST_NODES
        for root in self._globals():
            for _, tracer in self._tracers(root.value):
                self._ours.add(id(tracer))
                self._keep.append(tracer)

    def look(self, target: Target | None, call: JitCall) -> None:
        """Takes down the leaks of a trace that has just ended, unless another is still running."""
        if target is None or not jax_compat.no_trace_runs():
            return
        key = (target.path, target.qualname, target.line)
        self._looks[key] += 1
        if self._looks[key] > _MOST_LOOKS:
            return
        self._left = _MOST_NODES
        told: set[str] = set()
        for root in (*self._of_call(target, call), *self._globals()):
            for path, tracer in self._tracers(root.value):
                name = root.name + path
                container = _KEY.sub("", name)
                is_new = (id(tracer), container) not in self._told and id(tracer) not in self._ours
                self._told.add((id(tracer), container))
                if is_new and container not in told:
                    told.add(container)
                    self._keep.append(tracer)
                    self.found.append(Leak(*key, name, root.holder, root.module, signatures.short_tree(tracer.aval)))

    # -- where to look

    def _of_call(self, target: Target, call: JitCall) -> Iterator[_Root]:
        for name, value, static, _ in targets.call_arguments(call, target):
            if static:
                yield _Root(name, "self" if name == "self" else "static", value)
        function = call.fun
        while isinstance(function, functools.partial):
            function = function.func
        if isinstance(function, MethodType):
            yield _Root(function.__code__.co_varnames[0], "self", function.__self__)
        yield from self._closure(target.function, set())

    def _closure(self, function: Any, seen: set[int]) -> Iterator[_Root]:
        """The cells of a function and of those that it reaches by them, and their defaults."""
        if not isinstance(function, FunctionType) or id(function) in seen:
            return
        seen.add(id(function))
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        for name, value in zip(reversed(names), reversed(function.__defaults__ or ()), strict=False):
            yield _Root(name, "default", value)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            yield _Root(name, "self" if name == "self" else "closure", value)
            if isinstance(value, FunctionType) and self.files.owns(value.__code__.co_filename):
                yield from self._closure(value, seen)

    def _globals(self) -> Iterator[_Root]:
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and self.files.owns(path):
                path = self.files.path(path)
                for name, value in list(vars(module).items()):
                    if isinstance(value, type) and value.__module__ == module.__name__:
                        yield from (_Root(f"{name}.{key}", "global", item, path) for key, item in vars(value).items())
                    elif not name.startswith("__"):
                        yield _Root(name, "global", value, path)

    # -- what is there

    def _tracers(self, root: Any) -> Iterator[tuple[str, Any]]:
        """Tracers of compiled functions that an object holds, the nearest first."""
        waiting: deque[tuple[str, Any, int]] = deque([("", root, 0)])
        seen = {id(root)}
        while waiting and self._left > 0:
            path, value, depth = waiting.popleft()
            self._left -= 1
            if jax_compat.is_tracer(value):
                if jax_compat.stands_for_argument(value):
                    yield path, value
            elif depth < _DEEPEST and not isinstance(value, _OPAQUE) and not jax_compat.is_array(value):
                for step, child in _children(value):
                    if not isinstance(child, _OPAQUE) and id(child) not in seen:
                        seen.add(id(child))
                        waiting.append((path + step, child, depth + 1))


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, deque):
        yield from ((f"[{number}]", child) for number, child in enumerate(list(value)))
    elif isinstance(value, (set, frozenset)):
        yield from (("", child) for child in list(value))
    else:
        yield from ((step, child) for step, _, child in reaching.children(value))
