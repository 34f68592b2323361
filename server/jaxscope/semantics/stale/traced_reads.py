"""What a compiled function reads from outside while it is traced, and that can be given another value later: globals,
variables of functions around it, attributes of its bound or static object, entries of containers."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from jaxscope.semantics.captured.listing import written
from jaxscope.semantics.captured.visits import TracedCode
from jaxscope.semantics.compiled.sites import Target
from jaxscope.semantics.evaluation import branches
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.names.changes import THROUGH_PARAMETER
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Read, Scope, facts_of
from jaxscope.semantics.names.variables import (
    Link,
    Variable,
    argument_for,
    chain_of,
    is_parameter_of,
    links_of,
    variable_of,
)
from jaxscope.semantics.vocabulary import METADATA

_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class TracedRead:
    """One read, with what it means outside of the compiled function."""

    read: Read
    node: ast.expr
    """The expression to show: up to the first subscript."""
    name: str
    variable: Variable
    parameter: bool
    """Does the variable begin with a parameter of the compiled function, its object or a static argument?"""
    via: str

    @property
    def shown(self) -> Variable:
        """The variable up to the first subscript: entries of one container are told together."""
        path = self.variable.path
        at = next((number for number, link in enumerate(path) if link[0] == "[]"), len(path))
        return replace(self.variable, path=path[:at])


class TracedReads:
    """The reads of one compiled function."""

    def __init__(self, ev: Evaluator, code: TracedCode, target: Target, traced: Container[Scope]) -> None:
        self.ev = ev
        self.function = code.site.function
        self.code = code
        self.own = frozenset(code.scopes)
        self.traced = traced
        """Everything that is traced, for this function or another."""
        names = [argument.arg for argument in self.function.function_node.args.args][:1]
        takes_self = any(entry.takes_self for entry in target.chain)
        self.bound = names[0] if names and target.function is not None and target.function.bound is not None else ""
        self.outside = {} if takes_self else dict.fromkeys(code.site.statics, "static-argument")
        if self.bound and not takes_self:
            self.outside[self.bound] = "bound-method-self"
        elif names and self.outside.get(names[0]) and self.function.parent and self.function.parent.kind == "class":
            self.outside[names[0]] = "static-self"

    def find(self, changed: frozenset[str]) -> Iterator[TracedRead]:
        """Reads of what is assigned by several statements, or is among what is `changed` in place."""
        for scope in self.code.scopes:
            for read in scope.reads:
                marks = _marks(read)
                self.ev.seen.names |= marks
                if not marks.isdisjoint(changed) or self._may_be_rebound(read, scope):
                    yield from self._outer(read, scope)

    def _may_be_rebound(self, read: Read, scope: Scope) -> bool:
        owner = self.ev.owner(read.name, scope)
        if owner is None or (owner.kind != "module" and owner in self.traced):
            return False
        model = self.ev.model_of(owner.module_part())
        bindings = model.bindings_of(read.name, owner)
        return len(bindings) > 1 or any(binding.block or binding.kind == "import" for binding in bindings)

    def _outer(self, read: Read, scope: Scope) -> Iterator[TracedRead]:
        frame = self.ev.generic_frame(scope, self.ev.model_of(scope.module_part()))
        if isinstance(getattr((read.links or (read.node,))[-1], "ctx", None), ast.Store):
            return
        if branches.never_runs(self.ev, read.block, scope, frame):
            return
        links = self._value_links(read, scope)
        if links is None:
            return
        variable = self._variable(read.name, links_of(links), scope, _DEEPEST)
        if variable is None:
            return
        shown: ast.expr = read.node
        for link in links:
            if isinstance(link, ast.Subscript):
                break
            shown = link
        parameter = variable.home is self.function
        via = self.outside.get(variable.name, "") if parameter else "enclosing-scope"
        via = "module-global" if isinstance(variable.home, str) else via
        yield TracedRead(read, shown, written(scope.chunk, shown), variable, parameter, via)

    def _value_links(self, read: Read, scope: Scope) -> tuple[ast.Attribute | ast.Subscript, ...] | None:
        """The attributes and subscripts that lead to the value, without a method that is called on it; None when only
        its shape or type is looked at."""
        links = read.links
        for number, link in enumerate(links):
            if isinstance(link, ast.Attribute) and link.attr in METADATA:
                return None
            parent = facts_of(scope.chunk).parents.get(id(link))
            if isinstance(link, ast.Attribute) and isinstance(parent, ast.Call) and parent.func is link:
                return links[:number]
        return links

    def _variable(self, name: str, path: tuple[Link, ...], scope: Scope, depth: int) -> Variable | None:
        owner = self.ev.owner(name, scope)
        if owner is None or (owner.kind == "module" or owner not in self.traced):
            return None if owner is None else variable_of(self.ev, name, path, scope)
        if not path or owner not in self.own or not depth:
            return None
        if is_parameter_of(owner, name):
            return self._parameter(owner, name, path, depth)
        bindings = owner.bindings[name]
        alias = chain_of(bindings[0].value) if len(bindings) == 1 and bindings[0].value is not None else None
        if alias is None or bindings[0].kind != "assign" or bindings[0].path:
            return None
        return self._variable(alias[0].id, (*links_of(alias[1]), *path), bindings[0].scope, depth - 1)

    def _parameter(self, owner: Scope, name: str, path: tuple[Link, ...], depth: int) -> Variable | None:
        if owner is self.function:
            return Variable(owner, name, path) if name in self.outside else None
        for scope in self.code.scopes:
            for call, _ in scope.calls:
                if last_name(call.func) == owner.name:
                    argument = argument_for(call, owner, name)
                    chain = chain_of(argument) if argument is not None else None
                    if chain is not None:
                        found = self._variable(chain[0].id, (*links_of(chain[1]), *path), scope, depth - 1)
                        if found is not None:
                            return found
        return None


def _marks(read: Read) -> set[str]:
    """How a change of what is read would be known (see `in_place`)."""
    found = {read.name, f".{read.name}"}
    for link in read.links:
        found.add(f".{link.attr}" if isinstance(link, ast.Attribute) else THROUGH_PARAMETER)
    return found
