"""Functions and where they are compiled, with places in the current text."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.names.scopes import Scope
from jaxscope.text.span import Range


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: str
    """`positional-only`, `positional`, `star`, `keyword-only` or `double-star`."""
    annotation: str | None
    has_default: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A def or lambda, with places in the current text."""

    path: str
    qualname: str
    name: str
    line: int
    """Of the `def` or `lambda`."""
    name_range: Range
    """Of the name; of the word `lambda`."""
    range: Range
    """From the first decorator to the end of the body."""
    parameters: tuple[Parameter, ...]
    parent: str | None
    """Qualified name of the enclosing function."""
    owner_class: str | None
    """Qualified name of the class whose method it is."""
    decorators: tuple[Range, ...]
    stale: bool = False
    """Is it from the last good version of text that does not parse now?"""
    scope: Scope = field(kw_only=True, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TracedSite:
    """A place where a function is handed to a compiling transform."""

    function: Function
    transform: str
    """`jit`, `pmap`, `filter_jit`."""
    place: Range
    """Of the decorator or of the jit call."""
    path: str
    """File of `place`; the function may be in another."""
    static_nums: tuple[int, ...]
    static_names: tuple[str, ...]
    statics: tuple[str, ...]
    """Names of all static parameters."""
    chain: tuple[str, ...]
    """Transforms from the outermost inwards: `("jit", "vmap")`."""
    site: Site = field(kw_only=True, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file."""

    path: str
    range: Range


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[Parameter, ...]:
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    without = len(plain) - len(args.defaults)
    found = []
    for number, argument in enumerate(plain):
        kind = "positional-only" if number < len(args.posonlyargs) else "positional"
        found.append(_parameter(argument, kind, number >= without))
    if args.vararg is not None:
        found.append(_parameter(args.vararg, "star", False))
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append(_parameter(argument, "keyword-only", default is not None))
    if args.kwarg is not None:
        found.append(_parameter(args.kwarg, "double-star", False))
    return tuple(found)


def _parameter(argument: ast.arg, kind: str, has_default: bool) -> Parameter:
    annotation = None if argument.annotation is None else ast.unparse(argument.annotation)
    return Parameter(argument.arg, kind, annotation, has_default)
