"""`constants`: what became of a function's captured arrays when it was lowered, and what hoisting makes of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jaxlib

from .. import arrays, hoisting, jax_compat, lowering, rows, signatures
from ..failing import Failed, failure_of
from ..lowering import Lowered
from ..module_text import Location, Row
from ..session import LiveConstant, Program, Session
from ..sources import UserFiles
from ..walking import nested, parts
from ..wire.constants import (
    Behaviour,
    ConstantsReply,
    ConstantsRequest,
    HeldConstant,
    LiteralCount,
    LoweredForm,
    MainArgument,
)

Report = Callable[[str, str, "float | None"], None]

_OPERAND = re.compile(r"operands\[(\d+)\]")
_NAME = re.compile(r"%[\w#]+")
_LAYOUT = re.compile(r'mhlo\.layout_mode = "([^"]*)"')
_DIMENSION = re.compile(r'jax\.global_constant = "([^"]*)"')
_TENSOR = re.compile(r"tensor<([^>]*)>")
_PARTITIONS = re.compile(r"mhlo\.num_partitions = (\d+)")


def handle(session: Session, request: ConstantsRequest, progress: Report) -> ConstantsReply:
    """Answers a constants request. Raises Failed for an unknown function, or one that does not lower."""
    program = lowering.program_of(session, request.function)
    progress("lowering", program.name, None)
    try:
        captured, hoisted = (lowering.lower(lowering.form_of(program, form, program.donated)) for form in _FORMS)
    except Exception as error:
        raise Failed(failure_of(error, session.files or UserFiles(os.getcwd()))) from error
    lines, held = rows.read(captured, program)
    literals = list(_literals(lines, held))
    one, other = _form(program, captured, lines, held), _form(program, hoisted, *rows.read(hoisted, program))
    return ConstantsReply(
        behaviour=behaviour(),
        constants=tuple(_held(program, lines, held)),
        literals=tuple(_counted(literals)),
        functions=len({line.function for line in lines if line.op == "constant"}),
        captured=one,
        hoisted=other,
        unused=tuple(_unused(program, lines)),
        missed=hoisted.form.staged.missed,
    )


_FORMS = ("captured", "hoisted")


def behaviour() -> Behaviour:
    """What this JAX does, from its flags and its version; `tests/worker/test_constants.py` tries each on every JAX."""
    flag = getattr(jax.config, "jax_use_simplified_jaxpr_constants", None)
    return Behaviour(
        hoists=bool(flag),
        flag=flag,
        embedded_limit=getattr(jax.config, "jax_embedded_constants_max_bytes", None),
        warn_bytes=jax_compat.warn_bytes(),
        fast_path=jaxlib.version.__version_info__ >= (0, 7, 1),
        x64=bool(jax.config.jax_enable_x64),
        x64_call="fails" if jax.__version_info__ >= (0, 9) else "traces again",
        x64_lower="keeps" if jax.__version_info__ >= (0, 7) else "fails",
    )


# ---------------------------------------------------------------- constants


def _held(program: Program, lines: list[Row], held: dict[int, int]) -> Iterator[HeldConstant]:
    variables = set(_variables(program.jaxpr, set()))
    for index, constant in enumerate(program.constants):
        if constant.described is None:
            continue
        found = tuple(at for at, which in held.items() if which == index)
        spread = hoisting.spread_sharding(jax_compat.unwrapped(constant.value))
        yield HeldConstant(
            constant=index,
            form="constvar" if constant.key in variables else "literal",
            lowered="" if not found else "stablehlo.constant" if lines[found[0]].op == "constant" else "const_arg",
            name=_NAME.search(lines[found[0]].text)[0] if found else "",  # type: ignore[index]
            function=lines[found[0]].function if found else "",
            rows=found,
            devices=len(spread.device_set) if spread is not None else 1,
            sharding=_shown(spread),
            device_bytes=_device_bytes(constant, spread),
        )


def _variables(jaxpr: Any, seen: set[int]) -> Iterator[tuple[Any, ...]]:
    """Keys of the arrays that are bound to variables, of this jaxpr or one inside it."""
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    inner, bound = parts(jaxpr)
    yield from (arrays.key_of(value) for _, value in bound)
    for eqn in inner.eqns:
        for _, body in nested(eqn):
            yield from _variables(body, seen)


def _shown(sharding: Any) -> str:
    return "" if sharding is None else str(getattr(sharding, "spec", sharding))


def _device_bytes(constant: LiveConstant, sharding: Any) -> int:
    shape = tuple(constant.aval.shape)
    return arrays.size_of(sharding.shard_shape(shape) if sharding is not None else shape, constant.aval.dtype)


# ---------------------------------------------------------------- literals


def _literals(lines: list[Row], held: dict[int, int]) -> Iterator[tuple[str, str, int]]:
    for at, line in enumerate(lines):
        kind = rows.literal(line, held.get(at, -1) >= 0)
        if kind:
            yield kind, rows.helper(line) if kind == "lowering" else "", rows.literal_bytes(line)


def _counted(literals: list[tuple[str, str, int]]) -> Iterator[LiteralCount]:
    for kind, helper in dict.fromkeys((kind, helper) for kind, helper, _ in literals):
        sizes = [size for *key, size in literals if key == [kind, helper]]
        yield LiteralCount(kind, helper, len(sizes), sum(sizes))  # type: ignore[arg-type]


# ---------------------------------------------------------------- arguments of @main


def _form(program: Program, module: Lowered, lines: list[Row], held: dict[int, int]) -> LoweredForm:
    partitions = next((match for line in lines if (match := _PARTITIONS.search(line.text))), None)
    return LoweredForm(
        arguments=tuple(_argument(program, text, location, held.get(at, -1)) for at, text, location in _of_main(lines)),
        module_bytes=lowering.bytecode_size(module.lowered),
        seconds=module.seconds,
        partitions=int(partitions[1]) if partitions else 1,
    )


def _of_main(lines: list[Row]) -> Iterator[tuple[int, str, Location]]:
    for at, line in enumerate(lines):
        if line.function == "main":
            yield from ((at, text, location) for text, location in line.arguments)


def _argument(program: Program, text: str, location: Location, constant: int) -> MainArgument:
    layout = _LAYOUT.search(text)
    shown = "" if layout is None or layout[1] in ("default", "auto") else layout[1]
    if "stablehlo.token" in text:
        return MainArgument("token", "token", "token", 0)
    if dimension := _DIMENSION.search(text):
        return MainArgument("dimension", dimension[1], _tensor(text), 0)
    operand = _OPERAND.fullmatch(location.name)
    if operand is None:
        return _constant(program, text, constant, shown)
    number = int(operand[1])
    aval = program.in_avals[number]
    sizes = tuple(int(n) for n in aval.shape if isinstance(n, int))
    return MainArgument(
        "array",
        _names(program)[number],
        signatures.short_aval(aval),
        arrays.size_of(sizes, aval.dtype) if len(sizes) == len(aval.shape) else 0,
        _shown(_given(program, number)),
        shown,
        donated=bool(program.donated and program.donated[number]),
    )


def _constant(program: Program, text: str, constant: int, layout: str) -> MainArgument:
    if constant < 0:
        return MainArgument("const", "", _tensor(text), 0, layout=layout)
    live = program.constants[constant]
    name = live.described.name if live.described is not None else None
    size = arrays.size_of(tuple(live.aval.shape), live.aval.dtype)
    spread = hoisting.spread_sharding(jax_compat.unwrapped(live.value))
    return MainArgument(
        "const", name or "", signatures.short_aval(live.aval), size, _shown(spread), layout, constant=constant
    )


def _tensor(text: str) -> str:
    found = _TENSOR.search(text)
    return f"tensor<{found[1]}>" if found else ""


def _given(program: Program, number: int) -> Any:
    """How an argument is spread: as `jit` was told, else as it came."""
    told = hoisting.given(program.params.get("in_shardings", ()))
    given = told[number] if len(told) == len(program.in_avals) else None
    return given if given is not None else program.shardings[number] if program.shardings else None


def _names(program: Program) -> list[str]:
    """Paths of the arguments as one writes them, `state['w']`; by number where this JAX does not keep them."""
    info = getattr(parts(program.jaxpr)[0], "debug_info", None)
    names = list(getattr(info, "arg_names", None) or ())
    count = len(program.in_avals)
    return [str(name) for name in names[-count:]] if len(names) >= count else [f"argument {i}" for i in range(count)]


def _unused(program: Program, lines: list[Row]) -> Iterator[str]:
    used = {int(match[1]) for _, _, at in _of_main(lines) if (match := _OPERAND.fullmatch(at.name))}
    names = _names(program)
    yield from (names[i] for i in range(len(program.in_avals)) if i not in used)
