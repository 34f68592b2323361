"""What gives another value to something that a compiled function read while it was traced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.semantics.evaluation.values import (
    Array,
    ClassValue,
    FunctionValue,
    Mapping,
    PartialValue,
    Sequence,
    Transformed,
    Value,
)
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.changes import THROUGH_PARAMETER, InPlace, in_place_of, rebindings
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Binding, Scope
from jaxscope.semantics.names.spots import Spot
from jaxscope.semantics.names.variables import Variable, variable_of
from jaxscope.semantics.stale.call_chains import Chains
from jaxscope.semantics.stale.traced_reads import TracedRead

_REFS = frozenset(("new_ref", "mutable_array", "array_ref", "empty_ref", "Ref", "Variable", "Param"))
_FUNCTIONS = (FunctionValue, Transformed, ClassValue, PartialValue)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """One change that concerns a read."""

    spot: Spot
    scope: Scope
    node: ast.AST
    value: ast.expr | None
    meant: Variable | None
    """What is changed, where that has to be followed to who knows it; None where the name itself is assigned."""

    @property
    def literal(self) -> tuple[str, object] | None:
        """The type and value that are written out, if they are."""
        sign, node = 1, self.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            sign, node = -1, node.operand
        if not isinstance(node, ast.Constant) or isinstance(node.value, (str, bytes)):
            return None
        value = sign * node.value if isinstance(node.value, (int, float)) and sign < 0 else node.value
        return type(value).__name__, value

    @property
    def fills(self) -> bool:
        """Is it an entry or element that changes?"""
        return isinstance(self.node, (ast.Call, ast.Subscript))


class Changes:
    """Finds the changes that concern a read."""

    def __init__(self, chains: Chains, models: tuple[FileModel, ...]) -> None:
        self.chains = chains
        self.ev = chains.ev
        self.models = models

    def of(self, read: TracedRead) -> list[Change]:
        """The changes that give compiled code another value to read."""
        found = [change for change in self._all(read) if not self._is_harmless(change, read)]
        literals = {change.literal for change in found}
        return [] if len(literals) == 1 and None not in literals and not read.variable.path else found

    def bindings(self, variable: Variable) -> list[Binding]:
        """The statements that give the name at the root of a variable its value."""
        if isinstance(variable.home, Scope):
            return rebindings(None, variable.home, variable.name)
        model = self.ev.project.model(str(variable.home))
        return rebindings(model, None, variable.name) if model is not None else []

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """What is known of an expression."""
        return self.ev.evaluate(node, scope, self.ev.generic_frame(scope, self.ev.model_of(scope.module_part())))

    def _all(self, read: TracedRead) -> Iterator[Change]:
        if not read.parameter:
            for binding in self.bindings(read.variable):
                spot = self.chains.spot(binding.scope, binding.node, changes=True)
                value = binding.value if binding.kind == "assign" and not binding.path else None
                yield Change(spot, binding.scope, binding.node, value, None)
        models = dict.fromkeys(self.models)
        home = read.variable.home
        if isinstance(home, str) and (other := self.ev.project.model(home)) is not None:
            models[other] = None
        marks = {f".{name}" for kind, name in read.variable.path if kind == "."} or {read.variable.name}
        marks |= {THROUGH_PARAMETER} if any(kind == "[]" for kind, _ in read.variable.path) else set()
        marks |= {f".{read.variable.name}"} if isinstance(home, str) else set()
        for model in models:
            for change in (one for mark in sorted(marks) for one in in_place_of(model, mark)):
                yield from self._in_place(change, read.variable)

    def _in_place(self, change: InPlace, variable: Variable) -> Iterator[Change]:
        scope, root = change.read.scope, change.read.name
        meant = variable_of(self.ev, root, change.path, scope)
        if meant is None or (change.method and not self._is_container(change)):
            return
        if change.keys is not None and _other_entry(variable, meant, change.keys):
            return
        spot = self.chains.spot(scope, change.node, changes=True)
        value = change.value or getattr(spot.steps[-1].statement if spot.steps else None, "value", None)
        yield Change(spot, scope, change.node, None if change.method else value, meant)

    def _is_container(self, change: InPlace) -> bool:
        """Is it a list, dict, set or NumPy array, whose methods change it?"""
        links = change.read.links[: len(change.path)]
        value = self.value(links[-1] if links else change.read.node, change.read.scope)
        return value.library == "numpy" if isinstance(value, Array) else isinstance(value, (Sequence, Mapping))

    def _is_harmless(self, change: Change, read: TracedRead) -> bool:
        variable = read.variable
        meant = change.meant
        if meant is not None and not read.parameter and meant.root == variable.root and not overlap(meant, variable):
            return True
        if change.value is not None and isinstance(self.value(change.value, change.scope), _FUNCTIONS):
            return True
        return meant is not None and any(
            isinstance(binding.value, ast.Call) and last_name(binding.value.func) in _REFS
            for binding in self.bindings(variable)
        )


def overlap(changed: Variable, read: Variable) -> bool:
    """Does changing the one change the other?"""
    for (kind, key), (other_kind, other_key) in zip(changed.path, read.path, strict=False):
        if kind != other_kind or (key != other_key and not (kind == "[]" and None in (key, other_key))):
            return False
    return all(kind == "[]" for kind, _ in changed.path[len(read.path) :])


def _other_entry(read: Variable, changed: Variable, keys: tuple[str, ...]) -> bool:
    """Does `name.update(a=...)` leave the entry alone that is read?"""
    after = read.path[len(changed.path) :][:1]
    return bool(after) and after[0][0] == "[]" and after[0][1] is not None and after[0][1] not in keys
