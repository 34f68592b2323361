"""A traced program again, with its array constants as leading arguments: what moving them out would buy.

The program is staged by interpreting its jaxpr, so no user code runs and no constant is copied. JAX has a flag of its
own for this, but it is off by default and its lowering fails in several releases; this works the same on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
from jax.extend import source_info_util

from . import arrays
from .walking import nested, parts, scan_operands

MIN_BYTES = 33
"""JAX's own threshold: arrays of up to 32 bytes stay in the program."""

_INLINED = (
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "closed_call",
    "core_closed_call",
    "eval_jaxpr",
)
"""Calls that lowering replaces by their body: only a derivative, already taken, would have needed them."""


@dataclass(frozen=True)
class Staged:
    """A program as a Python function of (hoisted constants, *arguments)."""

    function: Callable[..., Any]
    constants: tuple[Any, ...]
    """The hoisted arrays: the very objects that the jaxpr holds, each once."""
    constant_avals: tuple[jax.ShapeDtypeStruct, ...]
    argument_avals: tuple[jax.ShapeDtypeStruct, ...]
    missed: tuple[str, ...]
    """Primitives whose own jaxpr holds constants that could not be taken out."""

    def trace(self, **options: Any) -> Any:
        """The `jax.stages.Traced` of it; `options` are those of `jax.jit`. Nothing is donated."""
        return jax.jit(self.function, **options).trace(self.constant_avals, *self.argument_avals)


NOTHING = float("inf")
"""As `min_bytes`: hoist nothing, only stage again, without donation and without the user's code."""


def stage(program: Any, name: str, min_bytes: float = MIN_BYTES, arguments: Sequence[Any] | None = None) -> Staged:
    """`program` (a closed jaxpr) with its constants of at least `min_bytes` hoisted.

    `name` becomes the name of the lowered program. `arguments` gives avals with shardings instead of the jaxpr's own.
    """
    constants = Constants(program, min_bytes)
    interpreter = _Interpreter(constants)

    def function(hoisted: tuple[Any, ...], *operands: Any) -> tuple[Any, ...]:
        return tuple(interpreter.run(program, hoisted, operands))

    function.__name__ = function.__qualname__ = name
    if arguments is None:
        arguments = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in parts(program)[0].invars]
    missed = dict.fromkeys(_missed(program, constants))
    return Staged(function, tuple(constants.values), tuple(constants.avals), tuple(arguments), tuple(missed))


# ---------------------------------------------------------------- which constants


def bodies(eqn: Any) -> list[Any]:
    """The jaxprs among the parameters of an equation."""
    return [body for _, body in nested(eqn)]


class Constants:
    """The arrays to hoist, each once, in the order in which the program meets them."""

    def __init__(self, program: Any, min_bytes: float) -> None:
        self.values: list[Any] = []
        self.avals: list[jax.ShapeDtypeStruct] = []
        self._min_bytes = min_bytes
        self._index: dict[tuple[Any, ...], int] = {}
        self._holding: dict[int, bool] = {}
        self._collect(program)

    def index(self, value: Any, aval: Any) -> int | None:
        """Position among the hoisted, or None for one that stays."""
        return self._index.get(arrays.key_of(value)) if self._wanted(value, aval) else None

    def inside(self, program: Any) -> bool:
        """Does this jaxpr, or one inside it, hold a constant to hoist?"""
        known = self._holding.get(id(program))
        if known is None:
            known = any(self._wanted(value, aval) for value, aval in _held(program)) or any(
                self.inside(body) for eqn in parts(program)[0].eqns for body in bodies(eqn)
            )
            self._holding[id(program)] = known
        return known

    def _wanted(self, value: Any, aval: Any) -> bool:
        shape = getattr(aval, "shape", ())
        if len(shape) == 0 or not hasattr(value, "dtype"):
            return False
        return arrays.size_of(tuple(shape), aval.dtype) >= self._min_bytes

    def _collect(self, program: Any) -> None:
        for value, aval in _held(program):
            if self._wanted(value, aval) and arrays.key_of(value) not in self._index:
                self._index[arrays.key_of(value)] = len(self.values)
                self.values.append(value)
                self.avals.append(jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=spread_sharding(value)))
        for eqn in parts(program)[0].eqns:
            for body in bodies(eqn) if _is_opened(eqn) else ():
                self._collect(body)


def _held(program: Any) -> Iterator[tuple[Any, Any]]:
    """Constants of one jaxpr: bound to variables, or standing as literals where JAX simplifies constants."""
    jaxpr, bound = parts(program)
    for variable, value in bound:
        yield value, variable.aval
    for atoms in (*(eqn.invars for eqn in jaxpr.eqns), jaxpr.outvars):
        for atom in atoms:
            if hasattr(atom, "val") and getattr(atom.aval, "shape", ()):
                yield atom.val, atom.aval


def spread_sharding(array: Any) -> Any:
    """Its sharding when it lies on several devices; else None, which leaves the choice to JAX."""
    sharding = getattr(array, "sharding", None)
    try:
        return sharding if sharding is not None and len(sharding.device_set) > 1 else None
    except (AttributeError, ValueError):  # an aval's mesh has no devices
        return None


def _is_opened(eqn: Any) -> bool:
    """Can a constant be taken out of the body of this equation?"""
    return eqn.primitive.name in _Interpreter.RULES or eqn.primitive.name in _INLINED


def _missed(program: Any, constants: Constants) -> Iterator[str]:
    for eqn in parts(program)[0].eqns:
        held = [body for body in bodies(eqn) if constants.inside(body)]
        if held and not _is_opened(eqn):
            yield eqn.primitive.name
        else:
            for body in held:
                yield from _missed(body, constants)


# ---------------------------------------------------------------- interpreting


class _Interpreter:
    """Evaluates a jaxpr under a trace. A body that holds constants is staged anew through the public transform that
    made it, whose closed-over tracers then become its operands; all others are bound as they are."""

    RULES: ClassVar[dict[str, str]] = {
        "pjit": "_jit",
        "jit": "_jit",
        "scan": "_scan",
        "while": "_while",
        "cond": "_cond",
        "remat2": "_remat",
        "checkpoint": "_remat",
        "shard_map": "_shard_map",
    }

    def __init__(self, constants: Constants) -> None:
        self._constants = constants

    def run(self, program: Any, hoisted: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        jaxpr, bound = parts(program)
        values = {variable: self._substitute(value, variable.aval, hoisted) for variable, value in bound}
        own = len(operands) == len(jaxpr.invars)
        values.update(zip(jaxpr.invars if own else [*jaxpr.constvars, *jaxpr.invars], operands, strict=False))

        def read(atom: Any) -> Any:
            return self._substitute(atom.val, atom.aval, hoisted) if hasattr(atom, "val") else values[atom]

        for eqn in jaxpr.eqns:
            names = source_info_util.current_name_stack() + eqn.source_info.name_stack
            with source_info_util.user_context(eqn.source_info.traceback, name_stack=names), eqn.ctx.manager:
                results = self._equation(eqn, hoisted, [read(atom) for atom in eqn.invars])
            values.update(zip(eqn.outvars, results, strict=False))
        return [read(atom) for atom in jaxpr.outvars]

    def _substitute(self, value: Any, aval: Any, hoisted: Sequence[Any]) -> Any:
        index = self._constants.index(value, aval)
        return value if index is None else hoisted[index]

    def _equation(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        held = [body for body in bodies(eqn) if self._constants.inside(body)]
        if held and eqn.primitive.name in self.RULES:
            return getattr(self, self.RULES[eqn.primitive.name])(eqn, hoisted, operands)
        if held and eqn.primitive.name in _INLINED:
            body = eqn.params["call_jaxpr"] if "call_jaxpr" in eqn.params else bodies(eqn)[0]
            return self.run(body, hoisted, operands)
        bound = eqn.primitive.get_bind_params(eqn.params)
        functions, params = bound if isinstance(bound, tuple) else ((), bound)  # only parameters since 0.9
        results = eqn.primitive.bind(*functions, *operands, **params)
        return results if eqn.primitive.multiple_results else [results]

    def _jit(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        def inner(hoisted: Sequence[Any], *operands: Any) -> tuple[Any, ...]:
            return tuple(self.run(eqn.params["jaxpr"], hoisted, operands))

        inner.__name__ = inner.__qualname__ = eqn.params.get("name", "inner")
        options: dict[str, Any] = {"inline": eqn.params.get("inline", False)}
        into, out = given(eqn.params["in_shardings"]), given(eqn.params["out_shardings"])
        if any(sharding is not None for sharding in into):
            options["in_shardings"] = (None, *into)
        if any(sharding is not None for sharding in out):
            options["out_shardings"] = tuple(out)
        return jax.jit(inner, **options)(tuple(hoisted), *operands)

    def _scan(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        body = eqn.params["jaxpr"]
        fixed, carried = scan_operands(eqn)
        consts, carry, xs = operands[:fixed], operands[fixed : fixed + carried], operands[fixed + carried :]

        def step(carry: Any, xs: Any) -> tuple[Any, Any]:
            results = self.run(body, hoisted, [*consts, *carry, *xs])
            return tuple(results[:carried]), tuple(results[carried:])

        options = {key: eqn.params[key] for key in ("length", "reverse", "unroll")}
        carry, ys = jax.lax.scan(step, tuple(carry), tuple(xs), **options)
        return [*carry, *ys]

    def _while(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        first = eqn.params["cond_nconsts"]
        second = first + eqn.params["body_nconsts"]
        test, step, start = operands[:first], operands[first:second], operands[second:]
        return jax.lax.while_loop(
            lambda carry: self.run(eqn.params["cond_jaxpr"], hoisted, [*test, *carry])[0],
            lambda carry: tuple(self.run(eqn.params["body_jaxpr"], hoisted, [*step, *carry])),
            tuple(start),
        )

    def _cond(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        def branch(body: Any) -> Callable[..., Any]:
            return lambda *operands: tuple(self.run(body, hoisted, operands))

        index, *rest = operands
        return jax.lax.switch(index, [branch(body) for body in eqn.params["branches"]], *rest)

    def _remat(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        """Bound again rather than called again, for a differentiated one lowers to other operations."""

        def inner(hoisted: Sequence[Any], *operands: Any) -> tuple[Any, ...]:
            return tuple(self.run(eqn.params["jaxpr"], hoisted, operands))

        made = jax.make_jaxpr(inner)(tuple(hoisted), *operands)
        body, bound = parts(made)
        if bound:
            return jax.checkpoint(inner, prevent_cse=eqn.params["prevent_cse"])(tuple(hoisted), *operands)
        return eqn.primitive.bind(*hoisted, *operands, **{**eqn.params, "jaxpr": body})

    def _shard_map(self, eqn: Any, hoisted: Sequence[Any], operands: list[Any]) -> Sequence[Any]:
        body, params = eqn.params["jaxpr"], eqn.params

        def inner(*operands: Any) -> tuple[Any, ...]:
            return tuple(self.run(body, hoisted, operands))

        into = tuple(_spec(each) for each in params.get("in_specs", params.get("in_names")))
        out = tuple(_spec(each) for each in params.get("out_specs", params.get("out_names")))
        if hasattr(jax, "shard_map"):
            options = {"check_vma": params.get("check_vma", False), "axis_names": set(params.get("manual_axes", ()))}
            mapped = jax.shard_map(inner, mesh=params["mesh"], in_specs=into, out_specs=out, **options)
        else:
            from jax.experimental.shard_map import shard_map  # there until `jax.shard_map` came

            options = {"check_rep": params.get("check_rep", False), "auto": params.get("auto", frozenset())}
            mapped = shard_map(inner, params["mesh"], into, out, **options)
        return mapped(*operands)


def given(shardings: Sequence[Any]) -> list[Any]:
    """Shardings of a jit equation as `jax.jit` takes them: JAX's own mark for `unspecified` as None."""
    return [None if type(each).__name__ == "UnspecifiedValue" else each for each in shardings]


def _spec(names: Any) -> Any:
    """A partition spec; before 0.6 shard_map kept `{dimension: axis names}`."""
    if not isinstance(names, dict):
        return names
    return jax.sharding.PartitionSpec(*(names.get(i) for i in range(max(names, default=-1) + 1)))
