"""What to change in a guess, by what JAX said of it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from . import parameters, probing
from .guessing import PLAIN_SIZE, Fixed, Leaf, Outcome, Search, Shaped, State, leaves, size_of

_SHAPE = re.compile(r"[(\[](\d+(?:, ?\d+)*),?[)\]]")
_NUMBER = re.compile(r"(?<!\w)(?<!\d\.)\d+(?!\w|\.\d)")
_STRUCTURE = re.compile(
    r"string indexing|has no attribute|values to unpack|iteration over a 0-d|KeyError|not subscriptable|not iterable"
)
_ARGUMENT = re.compile(r"arrays\['(\w+)'\]")
_CONCRETE = re.compile(r"Tracer\w+Error|ConcretizationTypeError|concrete value|JAX type")
_DTYPES = (
    (re.compile(r"PRNG key|key data|key array|random key", re.I), ("key",)),
    (re.compile(r"\b[Ii]nteger|int32\b"), ("i32", "bool")),
    (re.compile(r"\b[Bb]ool"), ("bool",)),
    (re.compile(r"real- or complex|inexact|floating|float32"), ("f32",)),
    (re.compile(r"complex"), ("c64",)),
    (re.compile(r"uint32|unsigned"), ("u32",)),
)
_RANKS = (1, 3, 0, 4, 2, 5)
_DIVIDING = re.compile(r"reshape|divi|split|multiple|factor")
_MOST_NUMBERS = 6
_SIZES = (PLAIN_SIZE, 24, 64, 2)
"""Sizes that are tried for a dimension when something has to divide it."""


def repairs(state: State, outcome: Outcome, search: Search) -> Iterator[tuple[int, State]]:
    """The states that may do better than one that failed, with what each costs in trust."""
    message = outcome.message
    if state.frozen:
        yield from _sizes(state, message)
        return
    if _STRUCTURE.search(message):
        found = probing.structured(state, search)
        if found is not None:
            yield 0, found
    if _CONCRETE.search(message):
        yield from _statics(state, outcome, search)
    yield from _sizes(state, message)
    yield from _dtypes(state, outcome)
    yield from _ranks(state, outcome, search)
    yield from _next_values(state)


# ---------------------------------------------------------------- sizes


def _sizes(state: State, message: str) -> Iterator[tuple[int, State]]:
    free = {size_of(dim): dim for shaped in state.arrays.values() for dim in shaped.dims if dim < 0}
    shapes = [tuple(map(int, _NUMBER.findall(match[1]))) for match in _SHAPE.finditer(message)]
    for at, first in enumerate(shapes):
        for second in shapes[at + 1 :]:
            if pairs := _aligned(first, second, free):
                yield 0, state.bound(pairs)
            if len(first) != len(second) and not state.frozen:
                yield from _alike(state, first, second, free)
    numbers = list(dict.fromkeys(int(text) for text in _NUMBER.findall(message) if len(text) < 8))
    for size in [number for number in numbers if number in free]:
        for other in [number for number in numbers if number != size][:_MOST_NUMBERS]:
            yield 1, state.bound([(free[size], free.get(other, other))])
        for other in _SIZES if _DIVIDING.search(message) else ():
            yield 2, state.bound([(free[size], other)])
    yield from _parts(state, numbers, free)


def _parts(state: State, numbers: list[int], free: dict[int, int]) -> Iterator[tuple[int, State]]:
    """A size that should be another one may be the sum or the product of a free one with something."""
    for wrong, right in itertools.permutations([number for number in numbers[:_MOST_NUMBERS] if number not in free], 2):
        for size, dim in free.items():
            if 0 < size < wrong and right - (wrong - size) > 0:
                yield 2, state.bound([(dim, right - (wrong - size))])
            if wrong % size == 0 and wrong > size and right % (wrong // size) == 0:
                yield 2, state.bound([(dim, right // (wrong // size))])


def _aligned(first: tuple[int, ...], second: tuple[int, ...], free: dict[int, int]) -> list[tuple[int, int]]:
    """Makes two shapes equal from their last dimensions on, as far as they have free ones."""
    pairs = []
    for a, b in zip(reversed(first), reversed(second), strict=False):
        if a != b and a in free:
            pairs.append((free[a], free.get(b, b)))
        elif a != b and b in free:
            pairs.append((free[b], a))
    return pairs


def _alike(
    state: State, first: tuple[int, ...], second: tuple[int, ...], free: dict[int, int]
) -> Iterator[tuple[int, State]]:
    """Gives an array of one shape the other one."""
    for leaf, shaped in state.arrays.items():
        shape = tuple(map(size_of, shaped.dims))
        for mine, other in ((first, second), (second, first)):
            if shape == mine:
                yield 1, state.with_array(leaf, replace(shaped, dims=tuple(free.get(size, size) for size in other)))


# ---------------------------------------------------------------- ranks and dtypes


def _by_mention(state: State, outcome: Outcome) -> list[tuple[str, Leaf]]:
    """The arrays with their parameters; those of parameters that the failing lines mention first."""
    text = " ".join(outcome.lines)
    found = [(name, leaf) for name, tree in state.parameters.items() for leaf in leaves(tree)]
    return sorted(found, key=lambda item: not re.search(rf"\b{re.escape(item[0])}\b", text))


def _ranks(state: State, outcome: Outcome, search: Search) -> Iterator[tuple[int, State]]:
    for _, leaf in _by_mention(state, outcome):
        shaped = state.arrays[leaf]
        for rank in _RANKS:
            if rank != len(shaped.dims) and shaped.dtype != "key":
                more = tuple(search.free() for _ in range(rank - len(shaped.dims)))
                dims = more + shaped.dims[len(shaped.dims) - min(rank, len(shaped.dims)) :]
                yield 2, state.with_array(leaf, replace(shaped, dims=dims))


def _dtypes(state: State, outcome: Outcome) -> Iterator[tuple[int, State]]:
    for pattern, dtypes in _DTYPES:
        if not pattern.search(outcome.message):
            continue
        for dtype in dtypes:
            for _, leaf in _by_mention(state, outcome):
                shaped = state.arrays[leaf]
                if shaped.dtype != dtype:
                    yield 1, state.with_array(leaf, Shaped(() if dtype == "key" else shaped.dims, dtype))


# ---------------------------------------------------------------- Python values


def _statics(state: State, outcome: Outcome, search: Search) -> Iterator[tuple[int, State]]:
    """A parameter that the function wants as a Python value, where its `jit` lets it be one."""
    named = [name for name in _ARGUMENT.findall(outcome.message) if name in state.parameters]
    for name in dict.fromkeys(named or [name for name, _ in _by_mention(state, outcome)]):
        if isinstance(state.parameters[name], Leaf) and search.static(name):
            first, *others = parameters.python_values(search.call, name)
            yield 1, _fixed(state, name, Fixed(first, tuple(others)))


def _next_values(state: State) -> Iterator[tuple[int, State]]:
    for name, tree in state.parameters.items():
        if isinstance(tree, Fixed):
            for at, value in enumerate(tree.others):
                yield 2, _fixed(state, name, Fixed(value, tree.others[at + 1 :]))


def _fixed(state: State, name: str, value: Any) -> State:
    return replace(state, parameters={**state.parameters, name: value})
