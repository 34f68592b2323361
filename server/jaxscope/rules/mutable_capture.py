"""A container from outside is filled by traced code, or read there and changed elsewhere.

## What it says

A traced function uses a list, dict or set that is not one of its arguments, and either puts something into it, or reads
it while other code changes it between calls. Memo dictionaries that are filled during a trace are the usual case.

## Why it matters

JAX runs the function's Python code once per trace. What the container held then is part of the compiled program: later
changes are not seen, until another shape causes another trace, which sees them. What the function puts in arrives once
per trace, and is a tracer where it depends on the arguments.

## Example

```python
stats = {"mean": 0.0, "std": 1.0}

@jax.jit
def normalize(x):
    return (x - stats["mean"]) / stats["std"]

normalize(x)
stats.update(mean=3.0)
normalize(x)          # still with 0.0
```

## Use instead

```python
@jax.jit
def normalize(x, stats):
    return (x - stats["mean"]) / stats["std"]

normalize(x, stats)
```

A container that is filled is returned instead, and filled by the caller.

## Fix safety

A container that is only read can be passed as an argument, if its leaves are numbers or arrays. What is put into one is
returned, and put in by a function of the old name around the compiled one; a memo is computed at once while tracing.

## Limits

Changes before the first call do not count. A memo of values that do not depend on the arguments (NumPy tables, shapes)
works, and is not reported. Containers that the traced code makes itself are its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.effect_findings import finding_of, function_of, kept_outside, once_each
from jaxscope.rules.finding import INFERRED, UNPARSED, Finding, FixOffer, Severity, related
from jaxscope.rules.traced_changes import judged
from jaxscope.semantics.effects.effects import Effect, effects_of
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.stale.staleness import Stale, stale_of
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply

NAME = "mutable-capture"


class MutableCapture(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "A container from outside is filled by traced code, or read there and changed elsewhere"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Containers that follow from the source."""
        return once_each([*_filled(model), *_changed(model)])

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """The same, with what the program of a run was seen to depend on."""
        changed = list(_changed(model))
        judgement = judged(
            model,
            [finding for finding in static if finding in changed],
            [one for one in evidence.changed if one.path == model.path],
            numbers=False,
        )
        rest = (finding for finding in static if finding not in changed)
        return replace(judgement, findings=(*rest, *judgement.findings))


# ---------------------------------------------------------------- filled while tracing


def _filled(model: FileModel) -> Iterator[Finding]:
    for effect in effects_of(model):
        level = _level(effect)
        if level is not None:
            message = f"`{effect.name}` is filled while {function_of(model, effect)} is traced: once per trace, not"
            yield finding_of(model, NAME, effect, level, f"{message} once per call", kept_outside(effect))


def _level(effect: Effect) -> Severity | None:
    if effect.kind != "fill":
        return None
    if effect.stored == "tracer":
        return "warning" if effect.sure else "hint"
    return "warning" if effect.read and not effect.guarded and effect.sure else None


# ---------------------------------------------------------------- read while tracing, changed elsewhere


def _changed(model: FileModel) -> Iterator[Finding]:
    """The values in containers that go out of date, each container once."""
    told: set[tuple[object, str]] = set()
    for stale in stale_of(model):
        name = stale.name.partition("[")[0]
        key = (stale.site, name)
        if stale.certain and not stale.while_traced and _is_filling(stale.change.node) and key not in told:
            told.add(key)
            yield _stale_finding(model, stale, name)


def _is_filling(node: ast.AST) -> bool:
    """Does it change what is in a container, rather than what a name or attribute stands for?"""
    return isinstance(node, (ast.Subscript, ast.Call))


def _stale_finding(model: FileModel, stale: Stale, name: str) -> Finding:
    function = model.function_of(stale.site.function).qualname
    at, change = stale.at.place, stale.change.place
    broken = stale.at.chunk.broken
    return Finding(
        NAME,
        "warning",
        at.path,
        at.range,
        function,
        name,
        f"`{function}` has what `{name}` holds compiled in: its calls see nothing that is put in later{INFERRED}",
        "static",
        model.function_of(stale.inner).qualname if stale.inner is not None else None,
        None,
        stale.via,
        (related(change, "changed here"),),
        () if broken else (FixOffer(f"Pass `{name}` as an argument", "value-to-argument", "safe"),),
        UNPARSED if broken else None,
    )


RULE = MutableCapture()
