"""The stage `constants` of `jaxscope show`: what the program holds, how, and what hoisting makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from jaxscope.cli.engine import said
from jaxscope.cli.formats.table import table
from jaxscope.cli.one import Chosen
from jaxscope.cli.problem import Problem
from jaxscope.cli.targets import shown_path
from jaxscope.ide.constants import constants_lowered
from jaxscope.ide.hover import unnamed
from jaxscope.ide.numbers import format_bytes, format_count, short_type
from jaxscope.ide.panel_model import ConstantsLowered, LoweredConstant, MainArgument
from jaxscope.tracing.evidence import distinct_bytes
from jaxscope.worker.jaxscope_worker.wire.constants import ConstantsRequest
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Failure, TracedFunction

CLASSES = {"captured": "captured", "scalar": "scalar literal", "lowering": "born in lowering", "small": "small"}
KINDS = {"dimension": "dimension variable", "token": "token", "const": "const arg", "array": "array"}


def shown(chosen: Chosen, item: TracedFunction, hoisted: bool) -> tuple[str, dict[str, Any]]:
    """Its text, and the same as values. Raises Problem when the function does not lower."""
    reply = chosen.session.request(ConstantsRequest(item.id))
    if isinstance(reply, Failure):
        raise Problem(said(reply))
    lowered = constants_lowered(reply, item, chosen.session.evidence.hello)
    rows = [(one, lowered.constants[i]) for i, one in enumerate(item.constants)]
    rows.sort(key=lambda row: -row[0].bytes)
    data = {
        "constants": [_as_json(chosen, item, one, held) for one, held in rows],
        "small_constants": item.small_constants,
        "lowered": {key: value for key, value in asdict(lowered).items() if key != "constants"},
    }
    return "\n\n".join(_parts(chosen, item, rows, lowered)), data


_Rows = Sequence[tuple[Constant, LoweredConstant]]


def _parts(chosen: Chosen, item: TracedFunction, rows: _Rows, lowered: ConstantsLowered) -> Iterator[str]:
    if rows:
        yield f"{_amount(item, rows, lowered)}. {_plain(lowered.lead)}"
        head = ("name", "type", "bytes", "in the jaxpr", "lowered to", "bound", "read at")
        yield table([head, *(_row(chosen, item, *row) for row in rows)], right=(2,))
    else:
        small = f" besides {format_count(item.small_constants, 'small one')}" if item.small_constants else ""
        yield f"{item.function} captures no arrays{small}."
    if lowered.lost:
        yield "\n".join(map(_plain, lowered.lost))
    if lowered.notes:
        yield "\n".join(map(_plain, lowered.notes))
    total_count = sum(one.count for one in lowered.classes)
    yield f"every stablehlo.constant: {total_count} in {format_count(lowered.functions, 'function')}\n" + table(
        [(CLASSES[one.literal], str(one.count), format_bytes(one.bytes), _plain(one.words)) for one in lowered.classes],
        right=(1, 2),
    )
    yield "arguments of @main, in order\n" + _arguments(lowered.captured)
    if rows and lowered.hoisted != lowered.captured:
        yield f"the same, hoisted ({format_bytes(lowered.hoisted_bytes)} module)\n" + _arguments(lowered.hoisted)
    if lowered.unused:
        yield f"not read, so not passed: {', '.join(lowered.unused)}"


def _amount(item: TracedFunction, rows: _Rows, lowered: ConstantsLowered) -> str:
    """How much is captured, and whether the module holds it."""
    count, total = format_count(len(rows), "captured array"), format_bytes(distinct_bytes(item.constants), 2)
    module = f"{format_bytes(lowered.module_bytes, 2)} module"
    inside = [one for one, held in rows if held.lowered == "stablehlo.constant"]
    if not inside:
        return f"{count}, {total} beside a {module}"
    held = distinct_bytes(inside)
    alike = " (MLIR writes an array of equal elements as one of them)" if held > lowered.module_bytes else ""
    if len(inside) == len(rows):
        return f"{count}, {total} {'in' if alike else 'of'} a {module}{alike}"
    return f"{count}, {total}, of which {format_bytes(held, 2)} in the {module}{alike}"


def _plain(text: str) -> str:
    return text.replace("`", "")


def _row(chosen: Chosen, item: TracedFunction, one: Constant, held: LoweredConstant) -> tuple[str, ...]:
    bound = chosen.group.workspace.bound(item.path, one)
    copies = f" ({held.copies} times)" if held.copies > 1 else ""
    what = one.representation if one.name else one.representation.removeprefix("same ")  # as what, nobody saw
    function = f" in @{held.function}" if held.function != "main" else ""
    return (
        one.name or unnamed(item.path, one),
        short_type(one.dtype, one.shape),
        format_bytes(one.bytes, 2),
        f"{one.variable or held.form}: {what}",
        f"{held.lowered} {held.name}{function}{copies}".strip(),
        f"{shown_path(bound[0])}:{bound[1]}" if bound else "",
        ", ".join(_reads(one)),
    )


def _reads(one: Constant) -> tuple[str, ...]:
    places = (read.frames[0] for read in one.reads if read.frames)
    return tuple(dict.fromkeys(f"{shown_path(place.path)}:{place.line}" for place in places))


def _arguments(arguments: Sequence[MainArgument]) -> str:
    if not arguments:
        return "none"
    rows = [
        (
            str(number),
            KINDS[one.kind],
            one.name,
            one.type if one.type != one.name else "",
            format_bytes(one.bytes) if one.bytes else "",
            ", ".join(_marks(one)),
        )
        for number, one in enumerate(arguments)
    ]
    return table(rows, right=(0, 4))


def _marks(one: MainArgument) -> Iterator[str]:
    if one.sharding:
        yield one.sharding
    if one.layout:
        yield f"layout {one.layout}"
    if one.donated:
        yield "donated"


def _as_json(chosen: Chosen, item: TracedFunction, one: Constant, held: LoweredConstant) -> dict[str, Any]:
    bound = chosen.group.workspace.bound(item.path, one)
    return {
        "name": one.name,
        "shape": list(one.shape),
        "dtype": one.dtype,
        "bytes": one.bytes,
        "source_dtype": one.source_dtype,
        "sharding": one.sharding,
        "variable": one.variable or None,
        "form": held.form,
        "representation": one.representation,
        "lowered": held.lowered or None,
        "operation": held.name or None,
        "in_function": held.function or None,
        "copies": held.copies,
        "bound": {"path": shown_path(bound[0]), "line": bound[1]} if bound else None,
        "reads": list(_reads(one)),
    }
