"""Calls in traced code that print, log, read the clock, draw random numbers, write, or count."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.effects.candidates import Candidate
from jaxscope.semantics.effects.impure import (
    COUNTERS,
    GENERATOR_DRAWS,
    LOG_LEVELS,
    LOGGERS,
    UNSEEDED,
    Impurity,
    impurity,
)
from jaxscope.semantics.effects.owners import Owners
from jaxscope.semantics.effects.traced_frames import TracedFrames
from jaxscope.semantics.evaluation.values import Const, External, Made, Method, Value
from jaxscope.semantics.names.scopes import Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_METHODS = LOG_LEVELS | GENERATOR_DRAWS | frozenset(("write", "writelines", "write_text", "write_bytes"))


class Calls:
    """Of one compiled function's traced code."""

    def __init__(self, ev: Evaluator, frames: TracedFrames, owners: Owners) -> None:
        self.ev = ev
        self.frames = frames
        self.owners = owners

    def of(self, candidate: Candidate) -> Impurity | None:
        """What the call does besides computing."""
        node, scope = candidate.node, candidate.scope
        assert isinstance(node, ast.Call)
        value = self._value(node.func, scope)
        if isinstance(value, External):
            return self._of_library(value.name, node, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return self._of_object(node.func, value, scope)
        return None

    def _of_library(self, name: str, node: ast.Call, scope: Scope) -> Impurity | None:
        if name == "builtins.open":
            mode = (
                node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
            )
            known = self._value(mode, scope) if mode is not None else Const("r")
            return "write" if isinstance(known, Const) and set("wax+") & set(str(known.value)) else None
        if name == "builtins.next" and node.args:
            return "count" if self._made_by(node.args[0], scope) in COUNTERS else None
        if name in UNSEEDED:
            return "random" if not node.args and not node.keywords else None
        return impurity(name)

    def _of_object(self, function: ast.Attribute, value: Value, scope: Scope) -> Impurity | None:
        if isinstance(value, Method) and value.owner == Made("numpy.random.Generator"):
            return "random" if self.owners.of_object(function.value, scope) is not None else None
        maker = self._made_by(function.value, scope)
        if function.attr in LOG_LEVELS and maker in LOGGERS:
            return "log"
        if function.attr in GENERATOR_DRAWS and maker in UNSEEDED:
            return "random"
        if function.attr in ("write", "writelines"):
            stream = self._value(function.value, scope)
            if isinstance(stream, External) and stream.name in ("sys.stdout", "sys.stderr"):
                return "print"
            return "write" if maker == "builtins.open" else None
        return None

    def _made_by(self, node: ast.expr, scope: Scope) -> str | None:
        """The function outside of the project that made an object from outside of the traced code."""
        outer = self.owners.of_object(node, scope)
        return outer.maker if outer is not None else None

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        return self.ev.evaluate(node, scope, self.frames.frame(scope))
