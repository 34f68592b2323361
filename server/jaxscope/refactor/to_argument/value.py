"""The value that is to become an argument: where it is bound, how it is written, whether it may be read later.

A captured value is read once, when the function is traced; an argument is read at every call. Both are the same only
when nothing binds the name again or changes the object in between.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.known import Known
from jaxscope.refactor.program.mentions import check_named
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.to_argument.changes import Changes
from jaxscope.refactor.to_argument.exists import check_exists, check_plain_attribute
from jaxscope.semantics.names.scopes import Binding, Read, Scope

_MAKING = frozenset(
    ["__init__", "__post_init__", "__new__", "__setstate__", "tree_unflatten", "setup", "__attrs_post_init__"]
)
_DEPTH = 8
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class Value:
    """`root` of scope `home` in `file`, followed by `links` (`.basis`, `["w"]`)."""

    file: File
    home: Scope
    root: str
    links: tuple[str, ...]
    new: bool = False
    """The name does not exist yet: the change itself adds it to `home`."""
    changes: bool = False
    """It is another at times, and each call shall see that of its moment."""

    @property
    def text(self) -> str:
        """As written."""
        return self.root + "".join(self.links)

    @property
    def title(self) -> str:
        """A name for a parameter that holds it: its last component."""
        last = self.links[-1] if self.links else self.root
        word = "".join(char if char.isalnum() or char == "_" else " " for char in last).split()
        name = word[-1] if word else ""
        return name if name.isidentifier() else self.root

    def reads(self, file: File | None = None) -> list[Read]:
        """Reads of exactly this value in its own file."""
        found = (file or self.file).reads(self.home, self.root)
        return [read for read in found if self.matches(read)]

    def matches(self, read: Read) -> bool:
        """Is `read` followed by the same links?"""
        links = read.links[: len(self.links)]
        if len(links) < len(self.links) or any(not isinstance(link.ctx, ast.Load) for link in links):
            return False
        return all(link_text(link) == text for link, text in zip(links, self.links, strict=True))

    def node(self, read: Read) -> ast.expr:
        """The whole expression of a read that matches."""
        return read.links[len(self.links) - 1] if self.links else read.node


def known_of(files: Files, value: Value) -> Known:
    """What the source shows of the value."""
    return Known(files.project, value.file, value.home, value.root, value.links)


def link_text(link: ast.Attribute | ast.Subscript) -> str:
    """`.name` or `[index]`, written in one way."""
    return f".{link.attr}" if isinstance(link, ast.Attribute) else f"[{ast.unparse(link.slice)}]"


def split_expression(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Root name and links of `self.basis` or `params["w"]`; None for any other expression."""
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    links: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        links.append(link_text(node))
        node = node.value
    return (node.id, tuple(reversed(links))) if isinstance(node, ast.Name) else None


# ---------------------------------------------------------------- may it be read later?


class Stability:
    """Refuses a value that may be another one when the calls are made. `before` is the definition of the function."""

    def __init__(self, files: Files, value: Value, before: ast.AST) -> None:
        self.files = files
        self.value = value
        self.file = value.file
        self.before = before
        self.known = known_of(files, value)
        self._changes = Changes(files, Compiled(files), value.text, not self.known.immutable, self._done)

    def check(self) -> None:
        """Raises Refused where the name is bound again, deleted, or the object changed."""
        value = self.value
        check_named(self.files, self.file, value.root, value.home)
        for link in value.links:
            if link.startswith("."):
                check_named(self.files, self.file, link[1:], None)
        bound = [(self.file, binding.node) for binding in self.file.bindings(value.home, value.root)]
        check_exists(self.files, self.file, value.root, bound=bound, reads=self._all_reads(), near=self.before)
        for node in self._late_bindings():
            raise self.file.refuse(f"`{value.root}` is bound again here, so that a call may see another value.", node)
        for node in ast.walk(value.home.node or self.file.tree):
            if isinstance(node, ast.Delete) and any(self._is_root(target) for target in node.targets):
                raise self.file.refuse(f"`{value.root}` is deleted here.", node)
        for use in self.files.of_name(self.file, value.home, value.root):
            self._changes.check(use.file, use.node, value.links)
        self.check_attributes()
        self._check_other_files()

    def check_bound_once(self) -> None:
        """Raises Refused where an object whose parts may change may be another one: by a plain name only."""
        bindings = self.file.bindings(self.value.home, self.value.root)
        if self.value.links or any(binding.kind == "import" for binding in bindings):
            self.check()
        for node in self._late_bindings():
            raise self.file.refuse(f"`{self.value.root}` is bound again here, so that it may be another object.", node)

    def check_attributes(self) -> None:
        """Raises Refused where an attribute on the way to the value is assigned outside of its object's making."""
        for number, link in enumerate(self.value.links):
            if link.startswith("."):
                check_plain_attribute(self.files, link[1:])
                bound = list(self.files.attribute_stores(link[1:]))
                reads = self._all_reads()
                check_exists(self.files, self.file, self.value.text, bound=bound, reads=reads, near=self.before)
                self._check_attribute(link[1:])
                for use in self.files.of_attribute(link[1:]):
                    self._changes.check(use.file, use.node, self.value.links[number + 1 :])

    def loop(self) -> ast.AST | None:
        """The innermost loop around both the function's definition and a binding of the name, within its scope."""
        bound = [binding.node for binding in self.file.bindings(self.value.home, self.value.root)]
        for around in self.file.around(self.before):
            if around is self.value.home.node:
                return None
            if isinstance(around, _LOOPS) and any(around in self.file.around(node) for node in bound):
                return around
        return None

    def _is_root(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.value.root

    def _late_bindings(self) -> Iterator[ast.AST]:
        bindings = self.file.bindings(self.value.home, self.value.root)
        elsewhere = [binding for binding in bindings if -1 in binding.block]
        if elsewhere:
            yield elsewhere[0].node
        if len(bindings) == 1 and not self._in_loop(bindings[0]):
            return
        for binding in bindings:
            if not self._finished_before(binding.node):
                yield binding.node

    def _in_loop(self, binding: Binding) -> bool:
        for around in self.file.around(binding.node):
            if around is self.value.home.node:
                return False
            if isinstance(around, _LOOPS):
                return True
        return False

    def _finished_before(self, node: ast.AST) -> bool:
        """Does code at `node` run in the value's own scope, before the function is defined?"""
        scope = self.file.scope_of(node)
        if scope is not self.value.home and scope.owner() is not self.value.home:
            return isinstance(node, ast.arg)
        return _order(node) < _order(self.before)

    def _all_reads(self) -> list[Read]:
        """Reads of the value, those of an object's attribute by whatever name the object has."""
        ours = [read for read in self.file.reads(self.value.home, self.value.root) if self.value.matches(read)]
        links = self.value.links
        return ours + [
            read
            for scope in self.file.scopes()
            for read in scope.reads
            if links and read not in ours and tuple(map(link_text, read.links[: len(links)])) == links
        ]

    def _done(self, file: File, node: ast.AST) -> bool:
        """Does code at `node` run before every call, as the making of the object or of its module does?"""
        scope = file.scope_of(node).owner()
        making = scope.name in _MAKING and scope.parent is not None and scope.parent.kind == "class"
        if making and not any(scope.node is around for around in self.file.around(self.before)):
            return True
        if file is self.file:
            return self._finished_before(node)
        return scope is file.top and file in [origin for origin, _, _ in self._origins()]

    def _origins(self) -> Iterator[tuple[File, str, tuple[str, ...]]]:
        """The other files in which the value is bound, where its name is imported: file, name there, links."""
        file, home, name, links = self.file, self.value.home, self.value.root, self.value.links
        for _ in range(_DEPTH):
            bound = [binding for binding in file.bindings(home, name) if binding.kind == "import"]
            target = self.files.target(file, bound[0]) if bound else None
            if target is None:
                return
            if target[1] is None and not (links and links[0].startswith(".")):
                return
            file = self.files.get(target[0])
            home = file.top
            name, links = (target[1], links) if target[1] else (links[0][1:], links[1:])
            yield file, name, links

    def _check_attribute(self, name: str) -> None:
        for file, node in self.files.attribute_stores(name):
            scope = file.scope_of(node).owner()
            first: list[ast.arg] = getattr(getattr(scope.node, "args", None), "args", [])
            own = isinstance(node.value, ast.Name) and bool(first) and node.value.id == first[0].arg
            if own and scope.name in _MAKING:
                continue
            if file is self.file and self._finished_before(node) and not isinstance(scope.node, ast.Lambda):
                continue
            raise file.refuse(f"`.{name}` is assigned here, so that a call may see another value.", node)

    def _check_other_files(self) -> None:
        for file, name, links in self._origins():
            for use in self.files.of_name(file, file.top, name):
                self._changes.check(use.file, use.node, links)
            for binding in file.bindings(file.top, name):
                if -1 in binding.block:
                    reason = f"`{name}` is bound again here, so that a call may see another value."
                    raise file.refuse(reason, binding.node)
        if self.value.home is not self.file.top:
            return
        for file, node in self.files.attribute_stores(self.value.root):
            prefixes = [prefix for _, prefix in self.files.module_prefixes(file, self.file.path)]
            if ast.unparse(node.value) in prefixes:
                raise file.refuse(f"`{self.value.root}` is bound again here.", node)


def _order(node: ast.AST) -> tuple[int, int]:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    line: int = min([getattr(node, "lineno", 0), *(d.lineno for d in decorators)])
    return line, getattr(node, "col_offset", 0)


def inside(scope: Scope, home: Scope) -> bool:
    """Is `scope` the scope `home`, or within it?"""
    return any(around is home for around in scope.around())
