"""Finds arguments under which a function can be traced when nothing tells them: a search with `jax.eval_shape`.

Every dimension that is not known gets a size that nothing else has, so that the sizes in JAX's errors say which
dimensions clash; they are then made equal. A guess that traces once more with small equal sizes gets those. The
constants that are found under a guess are real; the shapes are not the user's.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import jax

from . import declaring
from .deadline import OutOfTime, within
from .declaring import Arguments
from .sources import UserFiles

PLAIN_SIZE = 8
"""Size of the dimensions that nothing binds, where that traces."""
_ATTEMPTS = (80, 25, 20, 15, 15)
"""Attempts at one function, from each of its beginnings."""
_FIRST_SIZE = 11
_NOWHERE = (float("inf"),)


class Leaf:
    """An array that a guess is made of; `State.arrays` says which one."""


@dataclass(frozen=True)
class Fixed:
    """A Python value that is passed as it is, and others that might be."""

    value: Any
    others: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Shaped:
    """What an array is taken for. A dimension is a size, or the number of a free one below zero."""

    dims: tuple[int, ...]
    dtype: str = "f32"
    weak: bool = False


Tree = Any
"""Dicts, tuples, lists and objects with `Leaf`s and `Fixed`s in them."""


@dataclass(frozen=True)
class State:
    """One guess at all parameters. Never changed: each repair makes another."""

    parameters: dict[str, Tree]
    arrays: dict[Leaf, Shaped]
    keywords: frozenset[str] = frozenset()
    """Parameters that are passed by name."""
    frozen: bool = False
    """Only free dimensions may be bound; ranks, dtypes and trees were given."""

    def key(self) -> tuple[Any, ...]:
        """Equal for the same guess."""
        order = [leaf for tree in self.parameters.values() for leaf in leaves(tree)]
        fixed = [repr(tree) for tree in self.parameters.values() if isinstance(tree, Fixed)]
        numbers: dict[int, int] = {}
        shapes = []
        for leaf in order:
            shaped = self.arrays[leaf]
            dims = tuple(d if d >= 0 else -1 - numbers.setdefault(d, len(numbers)) for d in shaped.dims)
            shapes.append((dims, shaped.dtype))
        structure = str(jax.tree_util.tree_structure({name: _shown(tree) for name, tree in self.parameters.items()}))
        return (tuple(shapes), tuple(fixed), structure)

    def with_array(self, leaf: Leaf, shaped: Shaped) -> State:
        """With another guess at one array."""
        return replace(self, arrays={**self.arrays, leaf: shaped})

    def bound(self, pairs: list[tuple[int, int]]) -> State:
        """With free dimensions made equal to others, or given a size."""
        to = dict(pairs)

        def size(dim: int) -> int:
            for _ in range(len(to) + 1):
                if dim >= 0 or dim not in to or to[dim] == dim:
                    break
                dim = to[dim]
            return dim

        arrays = {leaf: replace(s, dims=tuple(size(d) for d in s.dims)) for leaf, s in self.arrays.items()}
        return replace(self, arrays=arrays)


@dataclass
class Outcome:
    """How an attempt went."""

    error: BaseException | None
    reached: tuple[float, ...]
    """Lines of the user's frames that the error came through, outermost first; the further, the better."""
    lines: tuple[str, ...] = ()
    """The texts of those lines."""
    message: str = ""


Repairs = Callable[[State, Outcome, "Search"], Iterator[tuple[int, State]]]
"""States that may do better, each with what it costs in trust, the best first."""


@dataclass
class Search:
    """The search for arguments of one function."""

    call: Callable[..., Any]
    """The function, without what is bound to it."""
    files: UserFiles
    repairs: Repairs
    static: Callable[[str], bool] = lambda name: True
    """May the parameter be a Python value?"""
    attempts: int = 0
    _free: Iterator[int] = field(default_factory=lambda: itertools.count(-1, -1))
    _order: Iterator[int] = field(default_factory=itertools.count)

    def free(self) -> int:
        """A new free dimension."""
        return next(self._free)

    def run(self, roots: list[State], seconds: float) -> Arguments | None:
        """The first arguments that were found to do; None when there are none. Raises nothing of the user's code."""
        try:
            with within(seconds):
                found = self._best(roots, time.perf_counter() + seconds)
                return found and self._plain(found)
        except OutOfTime:
            return None

    def _best(self, roots: list[State], until: float) -> State | None:
        seen: set[tuple[Any, ...]] = set()
        for root, attempts in zip(roots, _ATTEMPTS, strict=False):
            found = self._from(root, seen, self.attempts + attempts, until)
            if found is not None:
                return found
        return None

    def _from(self, root: State, seen: set[tuple[Any, ...]], most: int, until: float) -> State | None:
        """The first state that traces, going on from those that came furthest at the least cost."""
        queue: list[tuple[Any, ...]] = []

        def visit(state: State, cost: int, floor: tuple[float, ...]) -> State | None:
            key = state.key()
            if key in seen:
                return None
            seen.add(key)
            outcome = self.attempt(state)
            if outcome.error is None:
                return state
            repairs = self.repairs(state, outcome, self)
            heapq.heappush(queue, (min(outcome.reached, floor), cost, next(self._order), repairs))
            return None

        found = visit(root, 0, _NOWHERE)
        while found is None and queue and self.attempts < most and time.perf_counter() < until:
            reached, cost, order, repairs = heapq.heappop(queue)
            repaired = next(repairs, None)
            if repaired is not None:
                heapq.heappush(queue, (reached, cost + 1, order, repairs))
                # A loop comes back to earlier lines: what surely was a repair is no step back.
                found = visit(repaired[1], cost + repaired[0], _NOWHERE if repaired[0] else reached)
        return found

    def _plain(self, state: State) -> Arguments:
        """With small sizes for what is free, where that traces as well."""
        if self.attempt(state, PLAIN_SIZE).error is None:
            return self.arguments(state, PLAIN_SIZE)
        return self.arguments(state)

    def attempt(self, state: State, size: int | None = None) -> Outcome:
        """Traces the function for its shapes."""
        self.attempts += 1
        fixed = {name: tree for name, tree in state.parameters.items() if isinstance(tree, Fixed)}
        arrays = {
            name: self._structs(state, tree, size) for name, tree in state.parameters.items() if name not in fixed
        }

        def parameters(arrays: dict[str, Any]) -> Any:
            values = {name: fixed[name].value if name in fixed else arrays[name] for name in state.parameters}
            return self.called(state, values)

        try:
            jax.eval_shape(parameters, arrays)
        except OutOfTime:
            raise
        except BaseException as error:
            return self._failed(error)
        return Outcome(None, ())

    def called(self, state: State, values: dict[str, Any]) -> Any:
        """Calls the function; what is no array of its result is left out."""
        named = {name: value for name, value in values.items() if name in state.keywords}
        result = self.call(*(value for name, value in values.items() if name not in state.keywords), **named)
        return [leaf for leaf in jax.tree_util.tree_leaves(result) if hasattr(leaf, "shape")]

    def arguments(self, state: State, size: int | None = None) -> Arguments:
        """The guess as arguments."""
        values = {name: self._structs(state, tree, size) for name, tree in state.parameters.items()}
        return Arguments(
            tuple(value for name, value in values.items() if name not in state.keywords),
            {name: value for name, value in values.items() if name in state.keywords},
        )

    def _structs(self, state: State, tree: Tree, size: int | None) -> Any:
        def struct(leaf: Any) -> Any:
            if isinstance(leaf, Fixed):
                return leaf.value
            return struct_of(state.arrays[leaf], size) if isinstance(leaf, Leaf) else leaf

        return tree.value if isinstance(tree, Fixed) else _in_order(struct, tree)

    def _failed(self, error: BaseException) -> Outcome:
        reached, lines = [], []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if self.files.owns(code.co_filename):
                reached.append(-float(trace.tb_lineno))
                lines.append(self.files.line(code.co_filename, trace.tb_lineno))
            trace = trace.tb_next
        try:
            message = f"{type(error).__name__}: {error}"
        except Exception:
            message = type(error).__name__
        return Outcome(error, (*reached, float("inf")), tuple(lines), message)


def leaves(tree: Tree) -> list[Leaf]:
    """The arrays of a parameter."""
    return [leaf for leaf in jax.tree_util.tree_leaves(tree) if isinstance(leaf, Leaf)]


def _in_order(function: Callable[[Any], Any], tree: Tree) -> Any:
    """`tree_map` that leaves the keys of dicts as they were written."""
    if type(tree) is dict:
        return {key: _in_order(function, child) for key, child in tree.items()}
    is_dict = lambda part: type(part) is dict  # noqa: E731
    return jax.tree_util.tree_map(
        lambda part: _in_order(function, part) if is_dict(part) else function(part), tree, is_leaf=is_dict
    )


def _shown(tree: Tree) -> Any:
    return 0 if isinstance(tree, Fixed) else jax.tree_util.tree_map(lambda leaf: 0, tree)


def size_of(dim: int, plain: int | None = None) -> int:
    """The size that stands for a dimension; of a free one a prime of its own."""
    return dim if dim >= 0 else plain if plain is not None else _prime(-1 - dim)


def struct_of(shaped: Shaped, plain: int | None = None) -> Any:
    """The array that is passed."""
    return declaring.struct(shaped.dtype, tuple(size_of(dim, plain) for dim in shaped.dims), shaped.weak)


_primes: list[int] = []


def _prime(index: int) -> int:
    candidate = _primes[-1] + 2 if _primes else _FIRST_SIZE
    while len(_primes) <= index:
        if all(candidate % divisor for divisor in range(3, int(candidate**0.5) + 1, 2)):
            _primes.append(candidate)
        candidate += 2
    return _primes[index]
