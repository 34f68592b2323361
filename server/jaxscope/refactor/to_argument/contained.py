"""Functions that are called through a container, where each of its calls is seen: all of them give the value.

What may be called there must take it, too: lambdas beside the function, and functions that read the value, are given
the parameter. Anything else refuses the change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxscope.refactor.program.flow import Flow, Path
from jaxscope.refactor.program.mentions import check_examples, check_exported, check_named
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Use
from jaxscope.refactor.program.uses import given_to
from jaxscope.refactor.to_argument.sites import Form, Site
from jaxscope.refactor.to_argument.value import inside
from jaxscope.semantics.vocabulary import MUTATING

if TYPE_CHECKING:
    from jaxscope.refactor.to_argument.thread_through import Threading


class _Unseen(Exception):
    """The container goes where its calls cannot be seen."""


class Contained:
    """The containers that a change has met."""

    def __init__(self, threading: Threading) -> None:
        self.threading = threading
        self.flow = Flow(threading.files, threading.compiled)
        self._shared: dict[ast.AST, tuple[File, Form]] = {}
        """Containers from which it cannot be seen which function is taken."""
        self._taken: dict[ast.AST, set[ast.AST]] = {}
        """Their elements that take the value."""

    def sites(self, use: Use, form: Form) -> list[Site] | None:
        """The calls of the function at `use` through its container, which give the value; None when one is not seen."""
        display = use.file.parents[use.node]
        first = self.flow.onward(use, ()) or []
        if len(first) != 1 or first[0][0].node is not display or not _elements(display):
            return None
        while use.node in _elements(use.file.parents[display]):
            display = use.file.parents[display]
        try:
            ends = list(self._ends(*first[0], exact=True))
        except _Unseen:
            return None
        sites: list[Site] = []
        for end, exact in ends:
            if exact:
                sites += self._follow(end, form)
        shared = [end for end, exact in ends if not exact]
        return sites + (self._share(use, display, form, shared) if shared else [])

    def check(self) -> None:
        """Raises Refused where something beside the function does not take the value."""
        for display, (file, _) in self._shared.items():
            for element in _elements(display):
                if element not in self._taken[display]:
                    text = "the lambda" if isinstance(element, ast.Lambda) else ast.unparse(element)
                    reason = f"`{text}` stands in the same container, and does not take the value."
                    raise file.refuse(reason, element)

    # ------------------------------------------------------------ inside

    def _share(self, use: Use, display: ast.AST, form: Form, ends: list[Use]) -> list[Site]:
        self._taken.setdefault(display, set()).add(use.node)
        known = self._shared.get(display)
        if known is not None:
            if replace(known[1], names=()) != replace(form, names=()) or len(known[1].names) != len(form.names):
                raise use.file.refuse("The functions in this container have different signatures.", use.node)
            return []
        self._shared[display] = (use.file, form)
        sites = [site for end in ends for site in self._follow(end, form)]
        for element in _elements(display):
            self._give(use.file, element)
        return sites

    def _give(self, file: File, element: ast.expr) -> None:
        """Threads the value through an element that may well take it."""
        threading, value = self.threading, self.threading.value
        if isinstance(element, ast.Lambda):
            threading.thread(file, element)
        for other, function in threading.compiled.definition(file, element):
            if other is value.file and any(inside(read.scope, other.scope(function)) for read in value.reads()):
                threading.thread(other, function)

    def _follow(self, end: Use, form: Form) -> list[Site]:
        """One place where the function comes out of the container, or the container is given to `switch`."""
        call = end.file.parents[end.node]
        if isinstance(call, ast.Call) and _branches(end.file, call, end.node):
            return self.threading.site(Site(end.file, call, replace(form, keyword=None), 2))
        return self.threading.follow(end, form)

    def _ends(self, use: Use, path: Path, exact: bool) -> Iterator[tuple[Use, bool]]:
        file, node, parent = use.file, use.node, use.file.parents[use.node]
        if not path:
            yield use, exact
            return
        if isinstance(parent, ast.Call) and _branches(file, parent, node):
            yield use, False
            return
        if isinstance(parent, ast.Return | ast.IfExp | ast.keyword) or _changed(file, parent):
            raise _Unseen
        exact = exact and self._keeps(parent, path)
        for target in _targets(parent):
            self._check_target(file, target)
        moves = self.flow.onward(use, path)
        if moves is None or any(other.node is not parent and not _named(other, parent) for other, _ in moves):
            raise _Unseen
        for other, rest in moves:
            yield from self._ends(other, rest, exact)

    def _keeps(self, parent: ast.AST, path: Path) -> bool:
        """Is it still certain which element is meant?"""
        if isinstance(parent, ast.Subscript):
            return path[0].at is not None and isinstance(parent.slice, ast.Constant)
        return isinstance(parent, ast.Assign) and all(isinstance(target, ast.Name) for target in parent.targets)

    def _check_target(self, file: File, target: ast.expr) -> None:
        """The name holds nothing else, and is meant by nothing else than its reads."""
        for name in (each for each in ast.walk(target) if isinstance(each, ast.Name)):
            home = file.lookup(file.scope_of(name), name.id)
            if home is None or len(file.bindings(home, name.id)) != 1:
                raise _Unseen
            check_named(self.threading.files, file, name.id, home)
            check_examples(self.threading.files, file, name.id, home)
            if home is file.top:
                check_exported(self.threading.files, file, name.id)


def _elements(display: ast.AST) -> list[ast.expr]:
    """What a container is made of, and the containers in it, as far as that is written."""
    found: list[ast.expr] = []
    if isinstance(display, ast.List | ast.Tuple):
        found = display.elts
    elif isinstance(display, ast.Dict):
        found = display.values
    elif isinstance(display, ast.ListComp):
        found = [display.elt]
    return [inner for element in found for inner in _elements(element) or [element]]


def _targets(parent: ast.AST) -> list[ast.expr]:
    if isinstance(parent, ast.For | ast.comprehension):
        return [parent.target]
    return parent.targets if isinstance(parent, ast.Assign) else []


def _named(use: Use, parent: ast.AST) -> bool:
    """Is it a read of a name that `parent` binds, or the call of a method that takes elements out?"""
    if isinstance(parent, ast.Attribute):
        call = use.file.parents[parent]
        return use.node is call
    return isinstance(use.node, ast.Name) and bool(_targets(parent))


def _changed(file: File, parent: ast.AST) -> bool:
    """Is the container changed here, or may something else come out of it: the default of `get`?"""
    if isinstance(parent, ast.Attribute):
        call = file.parents[parent]
        return parent.attr in MUTATING or (isinstance(call, ast.Call) and bool(call.args[1:] or call.keywords))
    return isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)


def _branches(file: File, call: ast.Call, node: ast.expr) -> bool:
    """Does `lax.switch` take the container as its branches, and operands by position?"""
    if file.dotted(call.func) != "jax.lax.switch" or call.keywords or given_to(file, call, node) is None:
        return False
    return not any(isinstance(arg, ast.Starred) for arg in call.args)
