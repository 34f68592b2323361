"""Python's scopes of one chunk: who binds which name, where names are read, which expression contains which.

Built once for each chunk and kept with it; positions inside are the tree's own (see `Module.position`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from jaxscope.source.module import Chunk

ScopeKind = Literal["module", "function", "class", "lambda", "comprehension"]
BindingKind = Literal["assign", "augmented", "import", "def", "class", "parameter", "iteration", "with", "other"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Block = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Binding:
    """One place that gives a name its value."""

    name: str
    kind: BindingKind
    node: ast.AST
    """The target, statement or parameter: where the name stands."""
    scope: Scope
    """Where `value` is evaluated."""
    value: ast.expr | None = None
    path: tuple[int, ...] = ()
    """Which item of `value`, after unpacking."""
    block: Block = ()
    """Conditional and loop bodies around it, within its scope."""
    order: tuple[int, int] = (0, 0)
    module: str = ""
    attribute: str = ""
    """`from module import attribute`."""
    level: int = 0


@dataclass(eq=False, slots=True)
class Read:
    """One use of a name, with the attributes and subscripts written after it, innermost first."""

    name: str
    node: ast.Name
    scope: Scope
    links: tuple[ast.Attribute | ast.Subscript, ...]
    block: Block

    @property
    def order(self) -> tuple[int, int]:
        """Line and column in the tree's own counting."""
        return self.node.lineno, self.node.col_offset


@dataclass(eq=False, slots=True)
class AttributeWrite:
    """`root.attribute = value` in some function, or what does the same; `root` is empty where it is no name."""

    root: str
    attribute: str
    node: ast.Attribute | ast.Subscript | ast.Call
    value: ast.expr | None
    path: tuple[int, ...]
    scope: Scope


@dataclass(eq=False, slots=True)
class Scope:
    """A module's part in one chunk, a function, lambda, class or comprehension."""

    kind: ScopeKind
    name: str
    node: ast.AST | None
    parent: Scope | None
    chunk: Chunk
    qualname: str = ""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)
    children: list[Scope] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    returns: list[ast.expr] = field(default_factory=list)
    calls: list[tuple[ast.Call, Block]] = field(default_factory=list)
    writes: list[AttributeWrite] = field(default_factory=list)
    loops: set[int] = field(default_factory=set)
    """Blocks that are bodies of loops."""
    is_generator: bool = False

    @property
    def is_function(self) -> bool:
        """Has it a frame of its own when it runs?"""
        return self.kind in ("function", "lambda")

    @property
    def function_node(self) -> FunctionNode:
        """The tree of a function or lambda."""
        assert isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        return self.node

    def around(self) -> Iterator[Scope]:
        """The scope itself and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def enclosing_function(self) -> Scope | None:
        """The function around a class, comprehension or function."""
        scope = self.parent
        while scope is not None and not scope.is_function:
            scope = scope.parent
        return scope

    def owner(self) -> Scope:
        """The function, class or module in whose frame a comprehension's code runs."""
        scope = self
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope

    def walk(self) -> list[Scope]:
        """This scope and all below it, in source order."""
        found = [self]
        for child in self.children:
            found += child.walk()
        return found

    def module_part(self) -> Scope:
        """The module's part of the chunk."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(eq=False, slots=True)
class ChunkFacts:
    """Scopes of one chunk."""

    module: Scope
    scopes: list[Scope]
    by_node: dict[int, Scope]
    """Scope of a function, lambda, class or comprehension, by `id` of its tree."""
    parents: dict[int, ast.AST]
    """Tree around each expression, by `id`; for the outermost expression its statement."""
    blocks: dict[int, Block] = field(default_factory=dict)
    """Block of each name that is read and of each returned expression, by `id` of its tree."""
    conditions: dict[int, tuple[ast.expr, bool]] = field(default_factory=dict)
    """Blocks that run when a test comes out true, or false."""
    bodies: dict[int, list[ast.stmt]] = field(default_factory=dict)
    """The statements of each block."""
    loops: dict[int, ast.stmt] = field(default_factory=dict)
    """The loops whose bodies blocks are."""
    calls: dict[str, list[tuple[ast.Call, Scope]]] = field(default_factory=dict)
    """Calls by the last component of what is called; empty for the result of another call."""
    decorated: list[tuple[Binding, Scope]] = field(default_factory=list)
    """Decorated functions, with the scopes that they are defined in."""
    aliases: dict[str, set[str]] = field(default_factory=dict)
    """`a = wrap(b)`: from the last component of `b` to those of `a`."""
    attributes: set[str] = field(default_factory=set)
    """Names under which an object may hold something else than a plain method: assigned ones, decorated methods."""
    outside: dict[str, list[AttributeWrite]] = field(default_factory=dict)
    """Assignments of attributes by name, but those in methods to their own object."""
