"""A traced program as the expressions of its results, so that two programs can be compared.

In expressions variables have no names, order and dead code do not show, and it makes no difference how an array from
outside reaches its use: as a constant, as an operand of a nested jit, or among the fixed operands of a loop. Nested
jits and their like are replaced by their bodies; the bodies of loops and branches see directly what lies outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from . import arrays
from .walking import nested, parts, scan_operands

MOST = 200_000
"""Equations, those of calls counted each time, above which a program is not compared."""


class TooLarge(Exception):
    """The program has too many equations."""


@dataclass(frozen=True, eq=False, slots=True)
class Input:
    """An argument of the program."""

    position: int
    aval: Any


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """An array or number that the program holds."""

    value: Any
    aval: Any


@dataclass(frozen=True, eq=False, slots=True)
class Bound:
    """What the body of a loop is given in each step."""

    aval: Any


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """The body of a loop or branch."""

    bound: tuple[Bound, ...]
    results: tuple[Any, ...]
    effects: tuple[Call, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """One equation."""

    primitive: str
    params: dict[str, Any]
    operands: tuple[Any, ...]
    bodies: tuple[Body, ...] = ()
    known: bool = True
    """False: what its bodies are given is not known, so that a difference in them says nothing."""


@dataclass(frozen=True, eq=False, slots=True)
class Result:
    """One result of an equation."""

    call: Call
    index: int


Expression = Input | Constant | Bound | Result


def express(program: Any) -> Body:
    """The results of a closed jaxpr. Raises TooLarge."""
    jaxpr, _ = parts(program)
    inputs = [Input(position, variable.aval) for position, variable in enumerate(jaxpr.invars)]
    return _Reader().body(program, (), inputs)


_REPLACED = (
    "pjit",
    "jit",
    "closed_call",
    "core_call",
    "core_closed_call",
    "eval_jaxpr",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "remat2",
    "checkpoint",
    "remat",
)


class _Reader:
    _LOOPS: ClassVar[dict[str, str]] = {"scan": "_scan", "while": "_while", "cond": "_cond"}

    def __init__(self) -> None:
        self._constants: dict[tuple[Any, ...], Constant] = {}
        self._left = MOST

    def body(self, program: Any, bound: tuple[Bound, ...], operands: Sequence[Expression]) -> Body:
        effects: list[Call] = []
        results = self._run(program, operands, effects)
        return Body(bound, tuple(results), tuple(effects))

    def _run(self, program: Any, operands: Sequence[Expression], effects: list[Call]) -> list[Expression]:
        jaxpr, held = parts(program)
        known: dict[Any, Expression] = {var: self._constant(value, var.aval) for var, value in held}
        known.update(zip(jaxpr.invars if held or not jaxpr.constvars else _variables(jaxpr), operands, strict=False))

        def read(atom: Any) -> Expression:
            return self._constant(atom.val, atom.aval) if hasattr(atom, "val") else known[atom]

        for eqn in jaxpr.eqns:
            self._left -= 1
            if self._left < 0:
                raise TooLarge
            known.update(zip(eqn.outvars, self._equation(eqn, [read(a) for a in eqn.invars], effects), strict=False))
        return [read(atom) for atom in jaxpr.outvars]

    def _constant(self, value: Any, aval: Any) -> Constant:
        if not getattr(aval, "shape", ()):
            return Constant(value, aval)
        key = (*arrays.key_of(value), str(aval))
        return self._constants.setdefault(key, Constant(value, aval))

    def _equation(self, eqn: Any, operands: list[Expression], effects: list[Call]) -> Sequence[Expression]:
        name = eqn.primitive.name
        bodies = list(nested(eqn))
        if bodies and name in _REPLACED:
            inner = next((body for key, body in bodies if key in ("call_jaxpr", "fun_jaxpr", "jaxpr")), bodies[0][1])
            return self._run(inner, operands, effects)
        if name in self._LOOPS:
            call = getattr(self, self._LOOPS[name])(eqn, operands)
        else:
            inside = tuple(self._opaque(body) for _, body in bodies)
            call = Call(name, _plain(eqn), tuple(operands), inside, known=not inside)
        if eqn.effects:
            effects.append(call)
        return [Result(call, index) for index in range(len(eqn.outvars))]

    def _opaque(self, body: Any) -> Body:
        bound = tuple(Bound(variable.aval) for variable in _variables(parts(body)[0]))
        return self.body(body, bound, bound[len(bound) - len(parts(body)[0].invars) :] if parts(body)[1] else bound)

    def _scan(self, eqn: Any, operands: list[Expression]) -> Call:
        body = eqn.params["jaxpr"]
        fixed, carried = scan_operands(eqn)
        bound = tuple(Bound(variable.aval) for variable in parts(body)[0].invars[fixed:])
        params = {key: eqn.params[key] for key in ("length", "reverse", "unroll") if key in eqn.params}
        inner = self.body(body, bound, [*operands[:fixed], *bound])
        return Call("scan", params | {"carried": carried}, tuple(operands[fixed:]), (inner,))

    def _while(self, eqn: Any, operands: list[Expression]) -> Call:
        tested = eqn.params["cond_nconsts"]
        fixed = tested + eqn.params["body_nconsts"]
        start = tuple(operands[fixed:])
        bodies = []
        for name, given in (("cond_jaxpr", operands[:tested]), ("body_jaxpr", operands[tested:fixed])):
            body = eqn.params[name]
            bound = tuple(Bound(variable.aval) for variable in parts(body)[0].invars[len(given) :])
            bodies.append(self.body(body, bound, [*given, *bound]))
        return Call("while", {}, start, tuple(bodies))

    def _cond(self, eqn: Any, operands: list[Expression]) -> Call:
        index, *given = operands
        return Call("cond", {}, (index,), tuple(self.body(branch, (), given) for branch in eqn.params["branches"]))


def _variables(jaxpr: Any) -> list[Any]:
    return [*jaxpr.constvars, *jaxpr.invars]


def _plain(eqn: Any) -> dict[str, Any]:
    inside = {name for name, _ in nested(eqn)}
    return {name: value for name, value in eqn.params.items() if name not in inside}
