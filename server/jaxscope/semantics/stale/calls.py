"""A compiled function with the calls that share its traces, and what they know its object by."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property

from jaxscope.semantics.captured.visits import TracedCode
from jaxscope.semantics.compiled.callers import CompiledCall
from jaxscope.semantics.compiled.sites import Site, Target, peel
from jaxscope.semantics.evaluation.values import Array, Const, Scalar, number
from jaxscope.semantics.names.changes import rebindings
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.names.variables import Variable, chain_of, is_parameter_of
from jaxscope.semantics.stale.call_chains import Chain, Chains
from jaxscope.semantics.stale.changes import Changes
from jaxscope.semantics.stale.traced_reads import TracedRead

Way = tuple[CompiledCall, Chain]


@dataclass(slots=True)
class Compiled:
    """A compiled function."""

    code: TracedCode
    target: Target
    calls: list[CompiledCall]
    sites: list[Site]
    """All that compile it, of which one finds the traces that another made; the first is that of `code`."""
    traced: Container[Scope]
    """Everything in its file that is traced, for it or another."""

    @property
    def plain(self) -> bool:
        """Is it the function itself that is compiled? Then compiling it again finds the traces that are there."""
        target = self.target
        bound = target.function is not None and target.function.bound is not None
        return len(target.chain) == 1 and not (target.partials or bound or target.instance)

    @property
    def function(self) -> Scope:
        """Its code."""
        return self.code.site.function

    @property
    def own_object(self) -> str:
        """Name of the parameter that holds a method's object; empty for a function."""
        parent, node = self.function.parent, self.function.function_node
        in_class = parent is not None and parent.kind == "class"
        return next((argument.arg for argument in node.args.args), "") if in_class else ""


class Calls:
    """Its calls, as seen from outside."""

    def __init__(self, compiled: Compiled, chains: Chains, changes: Changes) -> None:
        self.compiled = compiled
        self.chains = chains
        self.changes = changes

    def ways(self, read: TracedRead) -> Iterator[Way]:
        """The ways to the calls, with what the object that the read begins with is called there."""
        variable = read.variable
        for call in self.compiled.calls:
            spot = self.chains.spot(call.scope, call.node)
            known = self._object(call, variable) if read.parameter else None
            if known is not None or not read.parameter:
                within = None if read.parameter else variable.home
                yield from ((call, chain) for chain in self.chains.to(spot, call.scope, known, within))

    def _object(self, call: CompiledCall, variable: Variable) -> Variable | None:
        """What the caller knows the compiled function's object, or static argument, by."""
        func = call.node.func
        if variable.name != self.compiled.own_object:
            given = call.argument(variable.name)
        elif self.compiled.plain:
            given = func.value if isinstance(func, ast.Attribute) else None
        else:
            return self._bound_object(call, variable)
        return self.chains.named(given, call.scope, variable.path) if given is not None else None

    def _bound_object(self, call: CompiledCall, variable: Variable) -> Variable | None:
        """The object of `fast = jax.jit(thing.method)`, or of `self.fast = jax.jit(self.method)`."""
        site = self.compiled.code.site
        compiled = site.node.args[0] if isinstance(site.node, ast.Call) and site.node.args else None
        owner = compiled.value if isinstance(compiled, ast.Attribute) else compiled
        chain = chain_of(owner) if owner is not None else None
        if owner is None or chain is None or (owner is compiled and self.compiled.target.instance is None):
            return None
        func = call.node.func
        kept = is_parameter_of(site.scope, chain[0].id) and not chain[1] and site.scope is not call.scope
        if kept and isinstance(func, ast.Attribute):
            return self.chains.named(func.value, call.scope, variable.path)
        return self.chains.named(owner, site.scope, variable.path)

    def makes(self, way: Chain, read: TracedRead) -> list[Chain]:
        """The ways to where the compiled function, or the object that it belongs to, is made, or its traces are
        dropped."""
        site, home = self.compiled.code.site, way.spots[0].home
        scope: Scope = site.scope
        node: ast.AST = site.node
        if self.compiled.plain:
            scope, node = site.function.parent or scope, site.function.function_node
        found = self.chains.to(self.chains.spot(scope, node), scope, None, home)
        if read.parameter and way.meant is not None:
            for binding in self.changes.bindings(way.meant):
                spot = self.chains.spot(binding.scope, binding.node, changes=True)
                found += self.chains.to(spot, binding.scope, None, home)
        for call, where in self.clearings:
            found += self.chains.to(self.chains.spot(where, call), where, None, home)
        return found

    @cached_property
    def clearings(self) -> list[tuple[ast.Call, Scope]]:
        """Calls after which it is traced anew: `f.clear_cache()`, `jax.clear_caches()`."""
        ev = self.chains.ev
        found = [one for model in self.chains.models for one in ev.calls_named(model, "clear_caches")]
        for model in self.chains.models:
            for call, where in ev.calls_named(model, "clear_cache"):
                owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
                target = peel(ev, self.changes.value(owner, where)).function
                if target is not None and target.scope is self.compiled.function:
                    found.append((call, where))
        return found

    @cached_property
    def are_all(self) -> bool:
        """Is it a function of a file that is nowhere in it handed on, so that no other call can be there?"""
        site, home = self.compiled.code.site, self.chains.models[0]
        if self.compiled.function.parent is None or self.compiled.function.parent.kind != "module":
            return False
        bound = (one for several in site.scope.bindings.values() for one in several)
        names = {self.compiled.function.name, *(one.name for one in bound if one.value is site.node)}
        reads = [(read, facts) for _, facts in home.chunks for scope in facts.scopes for read in scope.reads]
        uses = [(read, facts.parents.get(id(read.node))) for read, facts in reads if read.name in names]
        return all(
            not read.links and isinstance(around, ast.Call) and (around.func is read.node or around is site.node)
            for read, around in uses
        )

    def share_a_trace(self, first: CompiledCall, second: CompiledCall) -> bool:
        """Does the second call find the trace of the first? Not when static arguments, shapes or dtypes differ."""
        for name in self.compiled.code.site.statics:
            one, other = first.argument(name), second.argument(name)
            if one is None or other is None:
                continue
            if ast.dump(one) != ast.dump(other) or self._varies(one, first.scope):
                return False
        for name, argument in first.given:
            after = second.argument(name)
            if after is not None and after is not argument:
                a, b = self.changes.value(argument, first.scope), self.changes.value(after, second.scope)
                if isinstance(a, Array) and isinstance(b, Array) and _differ(a, b):
                    return False
                if isinstance(a, (Const, Scalar)) and isinstance(b, (Const, Scalar)) and number(a) != number(b):
                    return False
        return True

    def _varies(self, node: ast.expr, scope: Scope) -> bool:
        """Does an argument name something that is given another value in a loop or by several statements?"""
        for name in (one for one in ast.walk(node) if isinstance(one, ast.Name)):
            owner = self.chains.ev.owner(name.id, scope)
            if owner is not None and owner.kind != "module":
                bindings = rebindings(None, owner, name.id)
                if len(bindings) > 1 or any(one.kind == "iteration" for one in bindings):
                    return True
        return False


def _differ(a: Array, b: Array) -> bool:
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        return True
    if a.shape is None or b.shape is None:
        return False
    if len(a.shape) != len(b.shape):
        return True
    return any(x is not None and y is not None and x != y for x, y in zip(a.shape, b.shape, strict=True))
