"""`jaxscope show`: one stage of one function, as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from jaxscope.cli.engine import said
from jaxscope.cli.formats import json
from jaxscope.cli.formats.table import table
from jaxscope.cli.one import Chosen, choose
from jaxscope.cli.problem import Problem
from jaxscope.cli.targets import shown_path
from jaxscope.ide.numbers import format_bytes, format_count, short_type
from jaxscope.tracing.evidence import distinct_bytes
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Failure, LowerRequest, Place, TracedFunction

Stage = Callable[[Chosen, TracedFunction, bool], str]


def run(options: argparse.Namespace) -> int:
    """Prints the stage, once for each signature. Raises Problem when it cannot be had."""
    chosen = choose(options)
    try:
        texts = [(item, STAGES[options.stage](chosen, item, options.hoisted)) for item in chosen.traced]
    finally:
        chosen.close()
    if options.format == "json":
        print(json.dump(_as_json(options.stage, chosen, texts)))
        return 0
    for number, (item, text) in enumerate(texts):
        if len(texts) > 1 and options.stage != "signature":
            print(("\n" if number else "") + f"# {_signature(chosen, item, options.hoisted)}")
        print(text.rstrip("\n"))
    return 0


def _signature(chosen: Chosen, item: TracedFunction, hoisted: bool) -> str:
    parameters = ", ".join(
        f"{one.name}={one.type}" if one.static else f"{one.name}: {one.type}" for one in item.parameters
    )
    out = ", ".join(item.out)
    origin = f" ({item.origin})" if item.origin else ""
    calls = f", {format_count(item.calls, 'call')}" if item.source in ("run", "recorded") else ""
    return f"{item.function}({parameters}) -> {out}  # {item.source}{origin}{calls}"


def _jaxpr(chosen: Chosen, item: TracedFunction, hoisted: bool) -> str:
    text = chosen.session.text(item.jaxpr)
    if isinstance(text, Failure):
        raise Problem(said(text))
    return text


def _stablehlo(chosen: Chosen, item: TracedFunction, hoisted: bool) -> str:
    reply = chosen.session.request(LowerRequest(item.id, "hoisted" if hoisted else "captured"))
    if isinstance(reply, Failure):
        raise Problem(said(reply))
    return "\n".join(operation.text for operation in reply.operations)


def _constants(chosen: Chosen, item: TracedFunction, hoisted: bool) -> str:
    if not item.constants:
        small = f" besides {format_count(item.small_constants, 'small one')}" if item.small_constants else ""
        return f"{item.function} captures no arrays{small}."
    head = ("name", "type", "bytes", "variable", "representation", "bound", "read at")
    rows = [_constant(chosen, item, one) for one in sorted(item.constants, key=lambda one: -one.bytes)]
    total = format_bytes(distinct_bytes(item.constants), 2)
    return table([head, *rows], right=(2,)) + f"\n{format_count(len(rows), 'constant')}, {total}"


def _constant(chosen: Chosen, item: TracedFunction, one: Constant) -> tuple[str, ...]:
    bound = chosen.group.workspace.bound(item.path, one)
    reads = [_place(read.frames[0]) for read in one.reads if read.frames]
    return (
        one.name or (f"made at :{one.bound.line}" if one.bound else "no name found"),
        short_type(one.dtype, one.shape),
        format_bytes(one.bytes, 2),
        one.variable,
        one.representation,
        f"{shown_path(bound[0])}:{bound[1]}" if bound else "",
        ", ".join(dict.fromkeys(reads)),
    )


def _place(place: Place) -> str:
    return f"{shown_path(place.path)}:{place.line}"


STAGES: dict[str, Stage] = {
    "signature": _signature,
    "jaxpr": _jaxpr,
    "stablehlo": _stablehlo,
    "constants": _constants,
}


def _as_json(stage: str, chosen: Chosen, texts: list[tuple[TracedFunction, str]]) -> dict[str, Any]:
    return {
        "version": json.VERSION,
        "environment": json.environment(chosen.session.evidence.hello),
        "path": shown_path(chosen.path),
        "function": chosen.name,
        "stage": stage,
        "signatures": [
            {
                "in": [one.type for one in item.parameters],
                "out": list(item.out),
                "source": item.source,
                "origin": item.origin,
                "text": text,
            }
            for item, text in texts
        ],
    }
