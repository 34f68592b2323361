"""`jaxscope show`: one stage of one function, as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from jaxscope.cli import constants
from jaxscope.cli.engine import said
from jaxscope.cli.formats import json
from jaxscope.cli.one import Chosen, choose
from jaxscope.cli.problem import Problem
from jaxscope.cli.targets import shown_path
from jaxscope.ide.numbers import format_count
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, LowerRequest, TracedFunction

Stage = Callable[[Chosen, TracedFunction, bool], tuple[str, dict[str, Any]]]
"""Its text, and what its JSON has besides."""


def run(options: argparse.Namespace) -> int:
    """Prints the stage, once for each signature. Raises Problem when it cannot be had."""
    chosen = choose(options)
    try:
        shown = [(item, *STAGES[options.stage](chosen, item, options.hoisted)) for item in chosen.traced]
    finally:
        chosen.close()
    if options.format == "json":
        print(json.dump(_as_json(options.stage, chosen, shown)))
        return 0
    for number, (item, text, _) in enumerate(shown):
        if len(shown) > 1 and options.stage != "signature":
            print(("\n" if number else "") + f"# {_signature(chosen, item, options.hoisted)[0]}")
        print(text.rstrip("\n"))
    return 0


def _signature(chosen: Chosen, item: TracedFunction, hoisted: bool) -> tuple[str, dict[str, Any]]:
    parameters = ", ".join(
        f"{one.name}={one.type}" if one.static else f"{one.name}: {one.type}" for one in item.parameters
    )
    out = ", ".join(item.out)
    origin = f" ({item.origin})" if item.origin else ""
    calls = f", {format_count(item.calls, 'call')}" if item.source == "run" else ""
    return f"{item.function}({parameters}) -> {out}  # {item.source}{origin}{calls}", {}


def _jaxpr(chosen: Chosen, item: TracedFunction, hoisted: bool) -> tuple[str, dict[str, Any]]:
    text = chosen.session.text(item.jaxpr)
    if isinstance(text, Failure):
        raise Problem(said(text))
    return text, {}


def _stablehlo(chosen: Chosen, item: TracedFunction, hoisted: bool) -> tuple[str, dict[str, Any]]:
    reply = chosen.session.request(LowerRequest(item.id, "hoisted" if hoisted else "captured"))
    if isinstance(reply, Failure):
        raise Problem(said(reply))
    return "\n".join(operation.text for operation in reply.operations), {}


STAGES: dict[str, Stage] = {
    "signature": _signature,
    "jaxpr": _jaxpr,
    "stablehlo": _stablehlo,
    "constants": constants.shown,
}


def _as_json(stage: str, chosen: Chosen, shown: list[tuple[TracedFunction, str, dict[str, Any]]]) -> dict[str, Any]:
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
                **more,
            }
            for item, text, more in shown
        ],
    }
