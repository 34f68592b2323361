"""Do two traced programs compute the same, once an array that was a constant may have become an argument?"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from . import arrays, comparing, jax_compat
from .expressing import Body, Bound, Call, Constant, Expression, Input, Result, TooLarge, express

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_DEEPEST = 6
"""Functions inside functions that are compared by what they hold; a recursive one holds itself."""


@dataclass(frozen=True)
class Difference:
    """Where two programs part. `certain` is False where what was seen says nothing against them."""

    what: str
    certain: bool = True


@dataclass(frozen=True)
class Match:
    """How two programs correspond; as far as they do where `difference` is not None."""

    difference: Difference | None
    inputs: dict[int, int] = field(default_factory=dict)
    """Positions of the arguments after, by those before. Without those that nothing uses."""
    hoisted: dict[int, Any] = field(default_factory=dict)
    """The constant of the program before that an argument stands for, by its position after."""


def match(
    before: Any,
    after: Any,
    old_donated: Sequence[bool] = (),
    new_donated: Sequence[bool] = (),
    *,
    prints: bool = False,
) -> Match:
    """Compares two closed jaxprs: do they compute the same from the same arrays, and give away the same ones?

    Arguments of the first keep their order in the second, which may have more: each of those stands for one array that
    the first holds as a constant. Both hold the same other constants. With `prints` it does not count what they print.
    """
    try:
        old, new = express(before), express(after)
    except TooLarge:
        return Match(Difference("the program is too large to be compared", certain=False))
    matcher = _Matcher(prints=prints)
    found = matcher.whole(old, new) or matcher.donated(old_donated, new_donated)
    return Match(found, matcher.inputs, matcher.hoisted)


@dataclass
class _Matcher:
    prints: bool = False
    inputs: dict[int, int] = field(default_factory=dict)
    hoisted: dict[int, Any] = field(default_factory=dict)
    bound: dict[int, Bound] = field(default_factory=dict)
    seen: set[tuple[int, int]] = field(default_factory=set)
    doubt: Difference | None = None

    def whole(self, old: Body, new: Body) -> Difference | None:
        if (found := self._bodies(old, new)) is not None:
            return found
        order = [self.inputs[position] for position in sorted(self.inputs)]
        if order != sorted(set(order)) or set(order) & self.hoisted.keys():
            return Difference("the arguments are used in another order")
        return self.doubt

    def donated(self, old: Sequence[bool], new: Sequence[bool]) -> Difference | None:
        kept = all(old[a] == new[b] for a, b in self.inputs.items() if a < len(old) and b < len(new))
        lost = any(new[position] for position in self.hoisted if position < len(new))
        return None if kept and not lost else Difference("other arguments are donated")

    def _bodies(self, old: Body, new: Body) -> Difference | None:
        was, now = ([each for each in body.effects if not (self.prints and _prints(each))] for body in (old, new))
        if len(old.results) != len(new.results) or len(was) != len(now):
            return Difference("the number of results or effects differs")
        self.bound.update((id(a), b) for a, b in zip(old.bound, new.bound, strict=False))
        left: list[tuple[Expression | Call, Expression | Call]] = [
            *zip(old.results, new.results, strict=True),
            *zip(was, now, strict=True),
        ]
        while left:
            a, b = left.pop()
            if (id(a), id(b)) in self.seen:
                continue
            self.seen.add((id(a), id(b)))
            if isinstance(a, Result) and isinstance(b, Result):
                if a.index != b.index:
                    return Difference(f"another result of {a.call.primitive} is used")
                left.append((a.call, b.call))
            elif isinstance(a, Call) and isinstance(b, Call):
                if (found := self._calls(a, b)) is not None:
                    return found
                left += zip(a.operands, b.operands, strict=True)
            elif (found := self._leaves(a, b)) is not None:
                return found
        return None

    def _calls(self, a: Call, b: Call) -> Difference | None:
        if a.primitive != b.primitive:
            return Difference(f"{b.primitive} is computed in place of {a.primitive}")
        shapes = len(a.operands), len(a.bodies)
        if shapes != (len(b.operands), len(b.bodies)):
            return Difference(f"{a.primitive} takes something else", a.known and b.known)
        for name in a.params.keys() & b.params.keys() if a.known else ():
            if not _same(a.params[name], b.params[name]):
                return Difference(f"{a.primitive} has another {name}")
        for old, new in zip(a.bodies, b.bodies, strict=True):
            if (found := self._bodies(old, new)) is not None:
                return Difference(found.what, found.certain and a.known)
        return None

    def _leaves(self, a: Any, b: Any) -> Difference | None:
        if isinstance(a, Input) and isinstance(b, Input):
            same = self.inputs.setdefault(a.position, b.position) == b.position and _alike(a, b)
            return None if same else Difference("another argument is used")
        if isinstance(a, Bound) and isinstance(b, Bound):
            return None if self.bound.get(id(a)) is b else Difference("another value of a loop is used")
        if isinstance(a, Constant) and isinstance(b, Input) and _alike(a, b):
            known = self.hoisted.setdefault(b.position, a.value)
            return (
                None if known is a.value or _same(known, a.value) else Difference("one argument stands for two arrays")
            )
        if isinstance(a, Constant) and isinstance(b, Constant) and _alike(a, b):
            if not _same(a.value, b.value):
                if getattr(a.aval, "shape", ()) == ():
                    return Difference("another number is used")
                self.doubt = Difference("an array that the program holds is another one in each run", certain=False)
            return None
        return Difference(f"{_said(b)} is used in place of {_said(a)}")


def _prints(call: Call) -> bool:
    """Does nothing but print come of it, besides its results?"""
    if call.primitive in ("debug_callback", "debug_print"):
        return True
    inside = [effect for body in call.bodies for effect in body.effects]
    return bool(inside) and all(map(_prints, inside))


def _alike(a: Any, b: Any) -> bool:
    shape, dtype = getattr(a.aval, "shape", None), getattr(a.aval, "dtype", None)
    return shape == getattr(b.aval, "shape", None) and dtype == getattr(b.aval, "dtype", None)


def _said(leaf: Any) -> str:
    names = {Input: "an argument", Constant: "a constant", Bound: "a value of a loop"}
    return names.get(type(leaf), "something computed")


def _same(a: Any, b: Any, depth: int = 0) -> bool:
    a, b = jax_compat.unwrapped(a), jax_compat.unwrapped(b)
    if a is b:
        return True
    if jax_compat.is_array(a) or jax_compat.is_array(b):
        return arrays.key_of(a) == arrays.key_of(b) or comparing.identical(a, b)
    if type(a) is dict and type(b) is dict and a.keys() == b.keys():
        return all(_same(value, b[key], depth) for key, value in a.items())
    try:
        if bool(a == b) or (a != a and b != b):
            return True
    except Exception:
        return False
    if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
        return all(map(_same, a, b))
    alike = type(a) is type(b) and _ADDRESS.sub("", repr(a)) == _ADDRESS.sub("", repr(b))
    return alike and (depth > _DEEPEST or all(_same(x, y, depth + 1) for x, y in zip(_held(a), _held(b), strict=False)))


def _held(value: Any) -> Iterator[Any]:
    """What a function, such as a callback, works with, and its text does not show."""
    if isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty one
                yield cell.cell_contents
        yield from value.__defaults__ or ()
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, MethodType):
        yield value.__func__
    elif dataclasses.is_dataclass(value):  # JAX's own around callbacks
        yield from (getattr(value, field.name, None) for field in dataclasses.fields(value))
