"""One file as a refactoring sees it: its layout, and every reference to a name.

Scopes are those of `semantics.scopes`, built over the whole file at once, so that nodes have exact positions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from itertools import chain, count

from jaxscope.refactor.change import Refused
from jaxscope.refactor.writing.layout import Layout
from jaxscope.semantics.names.scopes import Binding, Read, Scope, facts_of
from jaxscope.semantics.vocabulary import canonical
from jaxscope.source.module import Chunk, Module
from jaxscope.text.span import Range


def file_of(module: Module) -> File:
    """A module's file, looked at once. Raises Refused where it does not parse."""
    found: File | None = module.facts.get("refactor")
    if found is None:
        found = module.facts["refactor"] = File(module)
    return found


class File:
    """A file that parses."""

    def __init__(self, module: Module) -> None:
        tree = module.tree
        if tree is None:
            line = module.problems[0].range.start.line if module.problems else 1
            raise Refused("The file does not parse.", module.path, line)
        self.module = module
        self.path = module.path
        self.tree = tree
        self.layout = Layout(module.text, module.lines)
        self.facts = facts_of(Chunk(module.text, tree.body, 1))
        self.top = self.facts.module
        self.nodes = list(ast.walk(tree))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self._reads: dict[tuple[int, str], list[Read]] = {}
        self._scope_of_read: dict[ast.AST, Scope] = {}
        for scope in self.facts.scopes:
            for read in scope.reads:
                self._scope_of_read[read.node] = scope
                home = self.lookup(scope, read.name)
                if home is not None:
                    self._reads.setdefault((id(home), read.name), []).append(read)

    def refuse(self, reason: str, node: ast.AST) -> Refused:
        """The refusal that `node` is the cause of."""
        return Refused(reason, self.path, getattr(node, "lineno", 1))

    # ------------------------------------------------------------ names

    def lookup(self, scope: Scope, name: str) -> Scope | None:
        """The scope whose `name` is meant in `scope`; None for a builtin or an unknown name."""
        at: Scope | None = scope
        while at is not None:
            if name in at.globals:
                return self.top
            visible = at is scope or at.kind != "class"
            if visible and name in at.bindings and name not in at.nonlocals:
                return at
            at = at.parent
        return None

    def reads(self, home: Scope, name: str) -> list[Read]:
        """Every read that means `name` of scope `home`, in source order."""
        found = self._reads.get((id(home), name), [])
        return sorted(found, key=lambda read: read.order)

    def bindings(self, home: Scope, name: str) -> list[Binding]:
        """Every place that gives `name` of scope `home` a value."""
        return home.bindings.get(name, [])

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which an expression is evaluated."""
        at, outside = node, None
        while at in self.parents:
            parent = self.parents[at]
            if isinstance(parent, ast.comprehension) and at is parent.iter:
                owner = self.parents[parent]
                if getattr(owner, "generators", [None])[0] is parent:
                    outside = owner  # the first iterable is evaluated around the comprehension
            scope = self.facts.by_node.get(id(parent))
            if scope is not None and parent is not outside and _in_body(parent, at):
                return scope
            at = parent
        return self.top

    def scopes(self) -> Iterator[Scope]:
        """All scopes of the file, outer ones first."""
        return iter(self.facts.scopes)

    def scope(self, node: ast.AST) -> Scope:
        """The scope that a def, lambda or class opens."""
        return self.facts.by_node[id(node)]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around `node`, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def at(self, place: Range) -> ast.expr | None:
        """The outermost expression that stands at a place."""
        wanted = self.module.lines.offset(place.start), self.module.lines.offset(place.end)
        nodes = (node for node in self.nodes if isinstance(node, ast.expr))
        return next((node for node in nodes if (self.layout.start(node), self.layout.end(node)) == wanted), None)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that `node` is part of, or is."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def name_of(self, dotted: str, node: ast.AST) -> str | None:
        """What an imported `dotted` is called where `node` stands: `jnp`, or `jax.numpy` for what has only `jax`."""
        names = self.imported(node, lambda one: not one.level and _dotted(one) == dotted)
        package, _, name = dotted.rpartition(".")
        above = self.name_of(package, node) if package else None
        return next(names, None) or (f"{above}.{name}" if above else None)

    def imported(self, node: ast.AST, wanted: Callable[[Binding], bool]) -> Iterator[str]:
        """The names that certainly hold one of the `wanted` imports when the code at `node` runs."""
        scope = self.scope_of(node)
        for home in scope.around():
            for name, bindings in home.bindings.items():
                means = all(one.kind == "import" and wanted(one) for one in bindings)
                if means and self.lookup(scope, name) is home and self.has_run(bindings[0], node):
                    yield name

    def has_run(self, binding: Binding, node: ast.AST) -> bool:
        """Has the import certainly run when the code at `node` does?"""
        if any(isinstance(each, ast.If) for each in self.around(binding.node)):
            return False
        top = self.scope_of(binding.node) is self.top
        at = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return (top and self.runs_later(node)) or ((top or not binding.block) and binding.order < at)

    def runs_later(self, node: ast.AST) -> bool:
        """Is it code of a function, or the end of the file? That runs when all imports at the top have."""
        return node is self.tree or any(scope.kind in ("function", "lambda") for scope in self.scope_of(node).around())

    # ------------------------------------------------------------ dotted names

    def dotted(self, node: ast.expr) -> str | None:
        """`jax.numpy.ones` for `jnp.ones`: the canonical name of something imported; None for anything else."""
        links: list[str] = []
        at = node
        while isinstance(at, ast.Attribute):
            links.append(at.attr)
            at = at.value
        if not isinstance(at, ast.Name):
            return None
        scope = self._scope_of_read.get(at)
        home = self.lookup(scope, at.id) if scope else None
        if home is None:
            return ".".join(["builtins", at.id, *reversed(links)])
        bound = home.bindings.get(at.id, [])
        if not bound or any(binding.kind != "import" for binding in bound):
            return None
        first = bound[0]
        base = f"{first.module}.{first.attribute}" if first.attribute else first.module
        if any(other.module != first.module or other.attribute != first.attribute for other in bound):
            return None
        return canonical(".".join([base, *reversed(links)])) if not first.level else None


def _dotted(binding: Binding) -> str:
    return f"{binding.module}.{binding.attribute}" if binding.attribute else binding.module


def _in_body(parent: ast.AST, child: ast.AST) -> bool:
    if isinstance(parent, ast.Lambda):
        return child is parent.body
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return any(child is statement for statement in parent.body)
    return True


def unused(name: str, taken: Collection[str]) -> str:
    """`name`, with as many underscores after it as make it a new one."""
    return next(one for one in (name + "_" * n for n in count()) if one not in taken)


def unused_numbered(name: str, taken: Collection[str]) -> Iterator[str]:
    """`name`, `name_2`, …: those that are new."""
    return (one for one in chain([name], (f"{name}_{n}" for n in count(2))) if one not in taken)


def identifiers(node: ast.AST) -> set[str]:
    """Every name that occurs anywhere in `node`."""
    found: set[str] = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            found.add(child.id)
        elif isinstance(child, ast.arg):
            found.add(child.arg)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(child.name)
        elif isinstance(child, ast.alias):
            found.add((child.asname or child.name).partition(".")[0])
        elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and child.name:
            found.add(child.name)
        elif isinstance(child, ast.Global | ast.Nonlocal):
            found.update(child.names)
    return found
