"""What a function does with a parameter that is marked static: arithmetic that arrays could do as well, or something
that needs the value itself."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import External, FunctionValue, TupleType
from jaxscope.semantics.names.scopes import Scope, facts_of
from jaxscope.semantics.vocabulary import transform, words

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

Use = Literal["array", "exponent", "value", "unknown"]
"""`exponent`: arithmetic with `**` in it. JAX works out powers of Python's numbers and of arrays in different ways,
which may differ in type and in the last digits."""
_DEEPEST = 4
_LESS_SURE: tuple[Use, ...] = ("value", "unknown", "exponent", "array")
_ARITHMETIC = (ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_ELEMENTWISE = frozenset(
    words(
        "add subtract multiply divide true_divide negative abs absolute square sqrt exp exp2 expm1 log log2 log10 "
        "log1p logaddexp sin cos tan sinh cosh tanh arctan arctan2 sigmoid relu sign floor ceil maximum minimum where "
        "clip asarray array float32 float16 bfloat16 int32 uint32 fold_in"
    )
)
"""Functions of JAX's that take an array wherever they take a number."""
_REDUCING = frozenset(words("sum mean prod max min var std median dot matmul vdot inner outer ravel"))
"""Functions of JAX's whose first argument is an array or a number."""
_POWERS = frozenset(("power", "pow", "float_power"))


def use_of(
    ev: Evaluator, owner: Scope, name: str, function: Scope | None = None, *, hands_numbers_on: bool = False
) -> Use:
    """What a parameter is needed for; where it is used in several ways, the one that needs most.

    `function` is what is compiled, where that is not what takes the parameter but a function in it;
    `hands_numbers_on`: what it returns of Python numbers alone are Python numbers (`eqx.filter_jit`).
    """
    return _Uses(ev, function or owner, hands_numbers_on).of_name(owner, name)


def use_of_expression(ev: Evaluator, node: ast.expr, scope: Scope, function: Scope) -> Use:
    """What the value of an expression in `scope`, which is in `function` or is it, is needed for."""
    return _Uses(ev, function).of_expression(node, scope)


@dataclass(frozen=True, slots=True)
class _Uses:
    """Those within one function."""

    ev: Evaluator
    function: Scope
    """It is known what becomes of what this one returns; not of what functions in it do."""
    hands_numbers_on: bool = False
    """A number alone is returned as it is, rather than as an array."""
    depth: int = 0

    def of_name(self, owner: Scope, name: str) -> Use:
        self.ev.look_at(owner)
        found: Use = "array"
        for inner in owner.walk():
            for read in inner.reads:
                if read.name == name and self.ev.owner(name, inner) is owner:
                    found = _less_sure(found, "value" if read.links else self.of_expression(read.node, inner))
        return found

    def of_expression(self, node: ast.expr, scope: Scope) -> Use:
        parents = facts_of(scope.chunk).parents
        most: Use = "array"
        while True:
            parent = parents.get(id(node))
            if isinstance(parent, ast.UnaryOp | ast.BinOp) and isinstance(parent.op, _ARITHMETIC):
                most = "exponent" if isinstance(parent.op, ast.Pow) else most
                node = parent
            elif isinstance(parent, ast.Call) and parent.func is not node and not self._packs(parent, scope):
                return _less_sure(most, self._given(parent, node, scope))
            elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
                return _less_sure(most, self._bound(parent.targets[0], node, scope))
            else:
                return _less_sure(most, self._returned(node, scope))

    def _returned(self, node: ast.expr, scope: Scope) -> Use:
        """Of what is returned, by itself or in tuples, lists, dicts and named tuples."""
        parents = facts_of(scope.chunk).parents
        at, parent = node, parents.get(id(node))
        while not isinstance(parent, ast.Return):
            packed = parents.get(id(parent)) if isinstance(parent, ast.keyword) else parent
            if isinstance(parent, ast.Expr) or (isinstance(parent, ast.keyword) and not self._packs(packed, scope)):
                return "unknown"
            if isinstance(packed, ast.Assign) and len(packed.targets) == 1:
                return self._bound(packed.targets[0], node, scope)
            holds = isinstance(packed, ast.Tuple | ast.List) or (isinstance(packed, ast.Dict) and at in packed.values)
            if not isinstance(packed, ast.expr) or not (holds or self._packs(packed, scope)):
                return "value"
            at, parent = packed, parents.get(id(packed))
        unseen = scope.owner() is not self.function or (self.hands_numbers_on and _is_alone(node))
        return "unknown" if unseen else "array"

    def _packs(self, call: ast.AST | None, scope: Scope) -> bool:
        """Is it a call that makes a named tuple of what it is given?"""
        ev = self.ev
        if not isinstance(call, ast.Call):
            return False
        return isinstance(
            ev.evaluate(call.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part()))), TupleType
        )

    def _bound(self, target: ast.expr, node: ast.expr, scope: Scope) -> Use:
        if not isinstance(target, ast.Name):
            return "value"
        handed_on = self.hands_numbers_on and _is_alone(node)
        deeper = replace(self, depth=self.depth + 1, hands_numbers_on=handed_on)
        return deeper.of_name(scope.owner(), target.id) if self.depth < _DEEPEST else "unknown"

    def _given(self, call: ast.Call, node: ast.expr, scope: Scope) -> Use:
        ev = self.ev
        callee = ev.evaluate(call.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
        if isinstance(callee, External):
            if not callee.name.startswith("jax.") or transform(callee.name) is not None:
                return "value"
            word = callee.name.rpartition(".")[2]
            if (word in _ELEMENTWISE and node in call.args) or (word in _REDUCING and node in call.args[:1]):
                return "array"
            return "exponent" if word in _POWERS and node in call.args else "unknown"
        if not isinstance(callee, FunctionValue) or self.depth >= _DEEPEST:
            return "unknown"
        own = parameters(callee.scope.function_node)[callee.bound is not None :]
        keyword = next((one.arg for one in call.keywords if one.value is node), None)
        index = call.args.index(node) if node in call.args else len(own)
        name = keyword or (own[index] if index < len(own) else None)
        if name is None:
            return "unknown"
        inner = _Uses(ev, callee.scope, depth=self.depth + 1).of_name(callee.scope, name)
        # What it returns goes by the value, and so does what is done with that here.
        if inner in ("value", "unknown"):
            return inner
        return _less_sure(inner, replace(self, depth=self.depth + 1).of_expression(call, scope))


def _is_alone(node: ast.expr) -> bool:
    """Is it made of one name, and constants, so that it is a number where that is one?"""
    called = {id(part) for call in ast.walk(node) if isinstance(call, ast.Call) for part in ast.walk(call.func)}
    return len({one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in called}) < 2


def _less_sure(*uses: Use) -> Use:
    """What several uses together need."""
    return min(uses, key=_LESS_SURE.index)
