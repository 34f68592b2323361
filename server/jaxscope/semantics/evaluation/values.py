"""Abstract values: what is known of an expression without running it. Not known is `UNKNOWN`, never a guess."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.frames import Frame
    from jaxscope.semantics.names.scopes import Scope
    from jaxscope.semantics.vocabulary import Transform

Shape = tuple["int | None", ...]
Library = Literal["numpy", "jax"]


class Value:
    """Base of all abstract values."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Unknown(Value):
    """Nothing is known."""


@dataclass(frozen=True, slots=True)
class Tracer(Value):
    """Depends on an argument of the function being traced: never a constant."""


UNKNOWN = Unknown()
TRACER = Tracer()


@dataclass(frozen=True, slots=True)
class Const(Value):
    """A Python number, string, None, ellipsis or slice bound that is known."""

    value: Any


@dataclass(frozen=True, slots=True)
class Scalar(Value):
    """A Python or NumPy scalar whose value is not known; `kind` is int, float, bool, complex or str."""

    kind: str


@dataclass(frozen=True, slots=True)
class Array(Value):
    """An array for certain. None for what is not known: all of `shape`, one of its sizes, or the dtype."""

    shape: Shape | None
    dtype: str | None
    library: Library
    made: bool = False
    """Made by NumPy while a function is traced, from nothing that was made before."""
    source: str | None = None
    """dtype that it was made from, where x64 being off has changed it."""


@dataclass(frozen=True, slots=True)
class Sequence(Value):
    """A list or tuple: its items, or (`items` None) `count` items like `element`."""

    items: tuple[Value, ...] | None
    element: Value = UNKNOWN
    count: int | None = None
    fields: tuple[str, ...] = ()
    """Names of the items of a named tuple."""

    def item(self, index: int) -> Value:
        """The item at `index`."""
        if self.items is None:
            return self.element
        return self.items[index] if -len(self.items) <= index < len(self.items) else UNKNOWN

    def any_item(self) -> Value:
        """What every item is."""
        return self.element if self.items is None else join(self.items)

    def length(self) -> int | None:
        """Number of items."""
        return self.count if self.items is None else len(self.items)


@dataclass(frozen=True, slots=True)
class Mapping(Value):
    """A dict with known keys; `element` is what the values under other keys are."""

    items: tuple[tuple[Any, Value], ...]
    element: Value = UNKNOWN
    more: int | None = None
    """Number of the values under other keys."""

    def get(self, key: Any) -> Value:
        """The value under `key`."""
        return next((value for name, value in self.items if name == key), self.element)


@dataclass(frozen=True, slots=True)
class Tree(Value):
    """A pytree of a library's own kind, such as a layer: its arrays, each with how one gets there (`.layers[0].bias`).

    An array at `""` is under some key, nobody knows which.
    """

    arrays: tuple[tuple[str, Array], ...]

    def part(self, step: str) -> Value:
        """What is at `.name` or `[key]`."""
        found = [(path[len(step) :], array) for path, array in self.arrays if path.startswith(step)]
        inside = tuple((path, array) for path, array in found if path == "" or path[0] in ".[")
        if inside and inside[0][0] == "":
            return inside[0][1]
        hidden = tuple((path, array) for path, array in self.arrays if path == "" and step.startswith("["))
        return Tree(inside or hidden) if inside or hidden else UNKNOWN


SOMEWHERE = Tree((("", Array(None, None, "jax")),))
"""Of which nothing is known but that it has arrays."""


@dataclass(frozen=True, slots=True)
class FunctionValue(Value):
    """A function or lambda of the project with the frame that it was made in."""

    scope: Scope
    frame: Frame
    bound: Value | None = None
    """`self` of a bound method."""


@dataclass(frozen=True, slots=True)
class ClassValue(Value):
    """A class of the project."""

    scope: Scope
    frame: Frame


@dataclass(frozen=True, slots=True)
class Instance(Value):
    """An object of a project's class; `init` is the frame of the call that made it, None where not known."""

    cls: ClassValue
    init: Frame | None
    given: tuple[tuple[str, Value], ...] | None = None
    """Fields of a dataclass as given to its constructor."""
    traced: bool = False
    """Is it made while JAX traces? Then what is not known of it is no constant."""
    argument: bool = False
    """Is it an argument of the function being traced? Then all that it holds are tracers; its class is known."""


@dataclass(frozen=True, slots=True)
class ModuleValue(Value):
    """A module of the project."""

    path: str


@dataclass(frozen=True, slots=True)
class External(Value):
    """Something from outside the project, by its canonical dotted name: `jax.numpy.ones`."""

    name: str


@dataclass(frozen=True, slots=True)
class Method(Value):
    """A method or attribute of a value that is no project's object: `x.astype`, `x.at`."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Made(Value):
    """Result of a call of something external that is neither array nor number: a random generator, a mesh."""

    name: str


@dataclass(frozen=True, slots=True)
class PartialValue(Value):
    """`functools.partial` or `jax.tree_util.Partial`."""

    kind: str
    target: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    call: Any
    """The `ast.Call` that made it; None for one that only holds options of a transform."""
    frame: Frame
    """Where that call stands."""


@dataclass(frozen=True, slots=True)
class Transformed(Value):
    """`jit(f)`, `vmap(f)` and so on."""

    transform: Transform
    target: Value
    options: tuple[tuple[str, Value], ...]
    call: Any
    """The `ast.Call` or decorator that does it."""
    frame: Frame
    """Where that stands."""

    def option(self, name: str) -> Value | None:
        """An option's value; None when it is not given."""
        return next((value for key, value in self.options if key == name), None)

    def holds(self, name: str) -> bool:
        """Is it a pair of functions, and `name` one of them?"""
        return name in self.transform.members

    def member(self, name: str) -> Transformed:
        """The one called `name` of several functions that run the target."""
        return replace(self, options=(*self.options, ("member", Const(name))))

    @property
    def makes_variables(self) -> bool:
        """Is it the one of several functions that makes the arrays for the others?"""
        given = self.option("member")
        return isinstance(given, Const) and given.value.startswith("init")


@dataclass(frozen=True, slots=True)
class TupleType(Value):
    """A named tuple's class."""

    fields: tuple[str, ...]


def join(values: tuple[Value, ...] | list[Value]) -> Value:
    """What is true of every one of `values`."""
    if not values:
        return UNKNOWN
    first, *rest = values
    for value in rest:
        first = _join2(first, value)
    return first


def _join2(a: Value, b: Value) -> Value:
    if a == b:
        return a
    if isinstance(a, Const) and a.value is None:
        return b if isinstance(b, (Array, Sequence, Mapping, Instance, Tree)) else UNKNOWN
    if isinstance(b, Const) and b.value is None:
        return _join2(b, a)
    if isinstance(a, Array) and isinstance(b, Array):
        return _join_arrays(a, b)
    if (one := number(a)) and (other := number(b)):
        return Scalar(one if one == other else "float")
    if isinstance(a, Instance) and isinstance(b, Instance) and a.cls == b.cls:
        return Instance(a.cls, None, traced=a.traced or b.traced, argument=a.argument and b.argument)
    if isinstance(a, Tree) and isinstance(b, Tree):
        return SOMEWHERE
    if isinstance(a, Mapping) and isinstance(b, Mapping) and [k for k, _ in a.items] == [k for k, _ in b.items]:
        items = tuple((key, _join2(x, y)) for (key, x), (_, y) in zip(a.items, b.items, strict=True))
        return Mapping(items, _join2(a.element, b.element), a.more if a.more == b.more else None)
    if isinstance(a, Sequence) and isinstance(b, Sequence):
        if a.items is not None and b.items is not None and len(a.items) == len(b.items):
            return replace(a, items=tuple(_join2(x, y) for x, y in zip(a.items, b.items, strict=True)))
        return Sequence(None, _join2(a.any_item(), b.any_item()))
    return UNKNOWN


def as_argument(value: Value) -> Value:
    """What traced code sees of a value that it gets as an argument: tracers, and which class an object is of."""
    return Instance(value.cls, None, traced=True, argument=True) if isinstance(value, Instance) else TRACER


def number(value: Value) -> str | None:
    """Kind of a Python number; None for anything else."""
    kind = value.kind if isinstance(value, Scalar) else type(value.value).__name__ if isinstance(value, Const) else ""
    return kind if kind in ("bool", "int", "float", "complex") else None


def _join_arrays(a: Array, b: Array) -> Array:
    shape: Shape | None = None
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
        shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
    dtype = a.dtype if a.dtype == b.dtype else None
    library: Library = "numpy" if a.library == b.library == "numpy" else "jax"
    return Array(shape, dtype, library, a.made and b.made)


def leaves(value: Value, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Array, int | None]]:
    """Arrays inside containers as (how one gets there, array, how many alike or None). Objects are not looked into."""
    if isinstance(value, Array):
        yield prefix, value, 1
    elif isinstance(value, Tree):
        for path, array in value.arrays:
            yield prefix + path, array, 1 if path else None
    elif isinstance(value, Sequence) and depth < 5:
        if value.items is None:
            for path, array, count in leaves(value.element, f"{prefix}[0]", depth + 1):
                yield path, array, None if count is None or value.count is None else count * value.count
        else:
            for number, item in enumerate(value.items):
                name = f".{value.fields[number]}" if number < len(value.fields) else f"[{number}]"
                yield from leaves(item, prefix + name, depth + 1)
    elif isinstance(value, Mapping) and depth < 5:
        for key, item in value.items:
            yield from leaves(item, f"{prefix}[{key!r}]", depth + 1)
        for path, array, count in leaves(value.element, f"{prefix}[...]", depth + 1):
            yield path, array, None if count is None or value.more is None else count * value.more
