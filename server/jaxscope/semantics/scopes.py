"""Python's scopes of one chunk: who binds which name, where names are read, which expression contains which.

Built once for each chunk and kept with it; positions inside are the tree's own (see `Module.position`).
"""

from __future__ import annotations

import ast
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
    """`root.attribute = value` in some function."""

    root: str
    attribute: str
    node: ast.Attribute
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
    """Block of each name that is read, by `id` of its tree."""
    calls: dict[str, list[tuple[ast.Call, Scope]]] = field(default_factory=dict)
    """Calls by the last component of what is called; empty for the result of another call."""
    decorated: list[tuple[Binding, Scope]] = field(default_factory=list)
    """Decorated functions, with the scopes that they are defined in."""
    aliases: dict[str, set[str]] = field(default_factory=dict)
    """`a = wrap(b)`: from the last component of `b` to those of `a`."""


def facts_of(chunk: Chunk) -> ChunkFacts:
    """Scopes of `chunk`, built at the first call."""
    found: ChunkFacts | None = chunk.facts.get("scopes")
    if found is None:
        found = _Builder(chunk).build()
        chunk.facts["scopes"] = found
    return found


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Builder:
    def __init__(self, chunk: Chunk) -> None:
        self.module = Scope("module", "", None, None, chunk)
        self.scope = self.module
        self.block: Block = ()
        self.blocks = 0
        self.facts = ChunkFacts(self.module, [self.module], {}, {})

    def build(self) -> ChunkFacts:
        self._body(self.module.chunk.body)
        return self.facts

    # -- scopes and blocks

    def _enter(self, kind: ScopeKind, name: str, node: ast.AST) -> tuple[Scope, Block]:
        outer = self.scope
        named = outer.owner()
        prefix = "" if named.kind == "module" else named.qualname + (".<locals>." if named.is_function else ".")
        qualname = outer.owner().qualname if kind == "comprehension" else prefix + name
        scope = Scope(kind, name, node, outer, outer.chunk, qualname)
        outer.children.append(scope)
        self.facts.scopes.append(scope)
        self.facts.by_node[id(node)] = scope
        saved = (outer, self.block)
        self.scope, self.block = scope, ()
        return saved

    def _leave(self, saved: tuple[Scope, Block]) -> None:
        self.scope, self.block = saved

    def _inner_block(self, statements: list[ast.stmt], loop: bool = False) -> None:
        self.blocks += 1
        saved = self.block
        self.block = (*saved, self.blocks)
        if loop:
            self.scope.loops.add(self.blocks)
        self._body(statements)
        self.block = saved

    def _bind(self, binding: Binding) -> None:
        target, scope = binding.scope, self.scope
        while scope.kind == "comprehension" and binding.kind != "iteration" and scope.parent is not None:
            scope = scope.parent
        if binding.name in scope.globals:
            target = self.module
        elif binding.name in scope.nonlocals:
            outer = scope.enclosing_function()
            while outer is not None and binding.name not in outer.bindings:
                outer = outer.enclosing_function()
            target = outer or scope
        else:
            target = scope
        binding.block = self.block if target is scope else (*self.block, -1)
        target.bindings.setdefault(binding.name, []).append(binding)

    # -- statements

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, (ast.Global, ast.Nonlocal)):
                names = self.scope.globals if isinstance(statement, ast.Global) else self.scope.nonlocals
                names.update(statement.names)
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        method = getattr(self, "_stmt_" + type(node).__name__, None)
        if method is not None:
            method(node)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expr(child, node)

    def _stmt_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self._expr(decorator, node)
        self._defaults(node.args, node)
        for argument in _parameters(node.args):
            if argument.annotation is not None:
                self._expr(argument.annotation, node)
        if node.returns is not None:
            self._expr(node.returns, node)
        binding = Binding(node.name, "def", node, self.scope, order=(node.lineno, node.col_offset))
        self._bind(binding)
        if node.decorator_list:
            self.facts.decorated.append((binding, self.scope))
        saved = self._enter("function", node.name, node)
        self._bind_parameters(node.args)
        self._body(node.body)
        self._leave(saved)

    _stmt_AsyncFunctionDef = _stmt_FunctionDef

    def _stmt_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self._expr(expression, node)
        self._bind(Binding(node.name, "class", node, self.scope, order=(node.lineno, node.col_offset)))
        saved = self._enter("class", node.name, node)
        self._body(node.body)
        self._leave(saved)

    def _stmt_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._expr(node.value, node)
            self.scope.returns.append(node.value)

    def _stmt_Assign(self, node: ast.Assign) -> None:
        self._expr(node.value, node)
        if isinstance(node.value, (ast.Call, ast.Name, ast.Attribute)):
            self._alias(node)
        for target in node.targets:
            self._target(target, node, node.value)

    def _alias(self, node: ast.Assign) -> None:
        value: ast.expr = node.value
        while isinstance(value, ast.Call) and value.args:
            value = value.args[0]
        name = last_name(value)
        for target in node.targets:
            if name and last_name(target):
                self.facts.aliases.setdefault(name, set()).add(last_name(target))

    def _stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._expr(node.value, node)
            self._target(node.target, node, node.value)
        elif self.scope.kind == "class":
            self._target(node.target, node, None)
        self._expr(node.annotation, node)

    def _stmt_AugAssign(self, node: ast.AugAssign) -> None:
        self._expr(node.value, node)
        if isinstance(node.target, ast.Name):
            self._read(node.target, (), node)
            where = (node.lineno, node.col_offset)
            self._bind(Binding(node.target.id, "augmented", node.target, self.scope, None, order=where))
        else:
            self._expr(node.target, node)

    def _stmt_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._expr(node.iter, node)
        self._target(node.target, node, node.iter, kind="iteration")
        self._inner_block(node.body, loop=True)
        self._inner_block(node.orelse)

    _stmt_AsyncFor = _stmt_For

    def _stmt_While(self, node: ast.While) -> None:
        self._expr(node.test, node)
        self._inner_block(node.body, loop=True)
        self._inner_block(node.orelse)

    def _stmt_If(self, node: ast.If) -> None:
        self._expr(node.test, node)
        self._inner_block(node.body)
        if node.orelse:
            self._inner_block(node.orelse)

    def _stmt_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self._expr(item.context_expr, node)
            if item.optional_vars is not None:
                self._target(item.optional_vars, node, item.context_expr, kind="with")
        self._body(node.body)

    _stmt_AsyncWith = _stmt_With

    def _stmt_Try(self, node: ast.Try) -> None:
        self._body(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                self._expr(handler.type, node)
            if handler.name:
                where = (handler.lineno, handler.col_offset)
                self._bind(Binding(handler.name, "other", handler, self.scope, order=where))
            self._inner_block(handler.body)
        self._body(node.orelse)
        self._body(node.finalbody)

    _stmt_TryStar = _stmt_Try

    def _stmt_Match(self, node: ast.Match) -> None:
        self._expr(node.subject, node)
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    where = (case.pattern.lineno, case.pattern.col_offset)
                    self._bind(Binding(name, "other", pattern, self.scope, order=where))
            if case.guard is not None:
                self._expr(case.guard, node)
            self._inner_block(case.body)

    def _stmt_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = alias.name if alias.asname else name
            binding = Binding(name, "import", node, self.scope, order=(node.lineno, node.col_offset), module=module)
            self._bind(binding)
            if not alias.asname and "." in alias.name:
                binding.attribute = ""

    def _stmt_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._bind(
                Binding(
                    alias.asname or alias.name,
                    "import",
                    node,
                    self.scope,
                    order=(node.lineno, node.col_offset),
                    module=node.module or "",
                    attribute=alias.name,
                    level=node.level,
                )
            )

    # -- targets and parameters

    def _target(
        self,
        target: ast.expr,
        statement: ast.AST,
        value: ast.expr | None,
        path: tuple[int, ...] = (),
        kind: BindingKind = "assign",
    ) -> None:
        if isinstance(target, ast.Name):
            where = (target.lineno, target.col_offset)
            scope = self.scope
            if kind == "iteration" and scope.kind == "comprehension" and scope.parent is not None:
                first = getattr(scope.node, "generators", [None])[0]
                scope = scope.parent if first is not None and first.iter is value else scope
            self._bind(Binding(target.id, kind, target, scope, value, path, order=where))
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = next((n for n, item in enumerate(target.elts) if isinstance(item, ast.Starred)), None)
            for number, item in enumerate(target.elts):
                if isinstance(item, ast.Starred):
                    self._target(item.value, statement, None, (), "other")
                    continue
                late = starred is not None and number > starred
                index = number - len(target.elts) if late else number
                self._target(item, statement, value, (*path, index), kind)
        else:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and kind == "assign":
                self.scope.writes.append(
                    AttributeWrite(target.value.id, target.attr, target, value, path, self.scope)
                )
            for child in ast.iter_child_nodes(target):
                if isinstance(child, ast.expr):
                    self._expr(child, target)

    def _defaults(self, arguments: ast.arguments, node: ast.AST) -> None:
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self._expr(default, node)

    def _bind_parameters(self, arguments: ast.arguments) -> None:
        for argument in _parameters(arguments):
            where = (argument.lineno, argument.col_offset)
            self._bind(Binding(argument.arg, "parameter", argument, self.scope, order=where))

    # -- expressions

    def _expr(self, node: ast.expr, parent: ast.AST) -> None:
        self.facts.parents[id(node)] = parent
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._read(node, (), parent)
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            self._chain(node)
        elif isinstance(node, ast.Call):
            self.scope.calls.append((node, self.block))
            self.facts.calls.setdefault(last_name(node.func), []).append((node, self.scope))
            self._children(node)
        elif isinstance(node, ast.Lambda):
            self._defaults(node.args, node)
            saved = self._enter("lambda", "<lambda>", node)
            self._bind_parameters(node.args)
            self._expr(node.body, node)
            self.scope.returns.append(node.body)
            self._leave(saved)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node)
        elif isinstance(node, ast.NamedExpr):
            self._expr(node.value, node)
            self._target(node.target, node, node.value)
        else:
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                self.scope.owner().is_generator = True
            self._children(node)

    def _children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expr(child, node)
            elif isinstance(child, ast.keyword):
                self._expr(child.value, node)

    def _chain(self, node: ast.Attribute | ast.Subscript) -> None:
        links: list[ast.Attribute | ast.Subscript] = []
        at: ast.expr = node
        while isinstance(at, (ast.Attribute, ast.Subscript)):
            links.append(at)
            self.facts.parents[id(at.value)] = at
            at = at.value
        if isinstance(at, ast.Name):
            self._read(at, tuple(reversed(links)), links[-1])
        else:
            self._expr(at, links[-1])
        for link in reversed(links):
            if isinstance(link, ast.Subscript):
                self._expr(link.slice, link)

    def _read(self, node: ast.Name, links: tuple[ast.Attribute | ast.Subscript, ...], parent: ast.AST) -> None:
        self.facts.parents.setdefault(id(node), parent)
        self.facts.blocks[id(node)] = self.block
        self.scope.reads.append(Read(node.id, node, self.scope, links, self.block))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        first = node.generators[0]
        self._expr(first.iter, node)
        saved = self._enter("comprehension", "<comprehension>", node)
        for number, generator in enumerate(node.generators):
            if number:
                self._expr(generator.iter, node)
            self._target(generator.target, node, generator.iter, kind="iteration")
            for condition in generator.ifs:
                self._expr(condition, node)
        if isinstance(node, ast.DictComp):
            self._expr(node.key, node)
            self._expr(node.value, node)
        else:
            self._expr(node.elt, node)
        self._leave(saved)


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c`; empty for anything but names and attributes."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg is not None:
        found.append(arguments.vararg)
    found += arguments.kwonlyargs
    if arguments.kwarg is not None:
        found.append(arguments.kwarg)
    return found
