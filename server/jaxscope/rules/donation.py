"""An array that a compiled function's result replaces is not donated.

## What it says

A call whose result is assigned to the variables that went in, `state = step(state, x)`, keeps the old arrays until the
new ones are there. If the old value is not needed afterwards, it can be donated: XLA then writes the result into the
memory of the argument.

## Why it matters

Without donation parameters and optimizer state exist twice while the step runs. For a model with Adam that is three
times the parameters' bytes, and often what decides whether a batch fits into the device's memory. Of 153 update steps
in 78 published projects 57 % donate nothing.

## Example

```python
@jax.jit
def train_step(params, batch):
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(loss)(params, batch))

for batch in batches:
    params = train_step(params, batch)
```

## Use instead

```python
@partial(jax.jit, donate_argnums=(0,))
def train_step(params, batch):
    ...
```

## Fix safety

The fix adds the parameters to `donate_argnums` where the function is compiled, also in another file, and is
refused where any file calls it that may want an old value. It is offered as safe where every call in sight replaces
what it gives away and no other name holds the old arrays; a donated array cannot be read any more. With tracing it is
verified: the results are the same, and the bytes that the compiled program says to write into the memory given to it
are shown. Where it would reuse none, the fix is refused; where the backend ignores donation, that is said instead.

`eqx.filter_jit` donates by an option of its own, `donate=`, all arrays of all arguments, or all but those of the first
one; no fix sets it, since what a caller goes on using would be deleted too.

## Limits

Without a trace, sizes are known only where they follow from the source; what is of unknown size, as an optimizer's
state, counts as nothing. It is a hint then, and so is what a caller, an object or an optimizer may hold. Where no size
is known and a caller or an object may hold it, it is left to a trace, as unknown size in a test is, where arrays are
small. Nothing is said of less than `captured-threshold` (1 MiB) in all. After a trace, only arrays count for which the
function returns one of the same shape and dtype.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import prod

from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.finding import Finding, FixOffer, Refuted, Severity, related
from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.evaluation.dtypes import item_bytes
from jaxscope.semantics.model import FileModel, Place
from jaxscope.semantics.updates.update_steps import UpdateStep, update_steps_of
from jaxscope.source.files import is_test
from jaxscope.text.figures import format_bytes
from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction, TraceReply

NAME = "donation"
_AVAL = re.compile(r"\b(bf|f|i|u|c|bool|key<\w+>)(\d*)\[([\d, ]*)\]")
_KINDS = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}


class Donation(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "An array that a compiled function's result replaces is not donated"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Replaced arguments that follow from the source."""
        found = []
        for step in update_steps_of(model):
            if step.bytes >= ctx.config.threshold:
                level: Severity = "hint" if step.unsized else _level(step)
                found.append(_finding(model, step, step.parameters, step.bytes, level))
            elif step.unsized and step.needed in ("no", "hardly") and not is_test(model.path):
                found.append(_finding(model, step, step.parameters, None, "hint"))
        return found

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """Sizes as the trace saw them, for arguments that have a counterpart among the results."""
        findings: list[Finding] = []
        refuted: list[Refuted] = []
        spoken = {(finding.function, finding.range): finding for finding in static}
        for step in update_steps_of(model):
            traced = _traced(model, step, evidence)
            known = spoken.get((_function(model, step), _place(model, step).range))
            if not traced:
                findings += [known] if known is not None else []
                continue
            names, size = _reusable(step, traced)
            if size >= ctx.config.threshold:
                found = _finding(model, replace(step, unsized=False), names, size, _level(step))
                message = found.message.removesuffix(" (inferred)")
                findings.append(replace(found, message=message, evidence="both" if known is not None else "traced"))
            elif known is not None and all(one.source == "guess" for one in traced):
                findings.append(known)  # under other arguments it may well fit
            elif known is not None:
                reason = f"{format_bytes(size)} of it could be reused: below the threshold" if size else _NOTHING
                refuted.append(Refuted(known, reason))
        return Judgement(tuple(findings), tuple(refuted))


_NOTHING = "the function returns no array of the same shape and dtype"


# ---------------------------------------------------------------- what a trace saw


def _traced(model: FileModel, step: UpdateStep, evidence: TraceReply) -> list[TracedFunction]:
    function = model.function_of(step.first.function)
    return [
        one
        for one in evidence.functions
        if (one.path, one.function, one.line) == (function.path, function.qualname, function.line)
        and not any(parameter.donated for parameter in one.parameters if parameter.name in step.parameters)
    ]


def _reusable(step: UpdateStep, traced: list[TracedFunction]) -> tuple[tuple[str, ...], int]:
    """Parameters of which something has a counterpart among the results, and the most bytes of those arrays."""
    best: tuple[tuple[str, ...], int] = ((), 0)
    for one in traced:
        results = Counter(aval for text in one.out for aval in _avals(text))
        names, size = [], 0
        for parameter in one.parameters:
            if parameter.name not in step.parameters:
                continue
            given = Counter(_avals(parameter.type)) & results
            results -= given
            size += sum(_bytes(aval) * count for aval, count in given.items())
            names += [parameter.name] if given else []
        best = max(best, (tuple(names), size), key=lambda found: found[1])
    return best


def _avals(text: str) -> Iterable[tuple[str, tuple[int, ...]]]:
    for kind, bits, sizes in _AVAL.findall(text):
        yield _KINDS.get(kind, kind) + bits, tuple(int(size) for size in sizes.split(",") if size.strip())


def _bytes(aval: tuple[str, tuple[int, ...]]) -> int:
    return (item_bytes(aval[0]) or 0) * prod(aval[1])


# ---------------------------------------------------------------- the finding


def _level(step: UpdateStep) -> Severity:
    return "warning" if step.needed == "no" else "hint"


def _finding(model: FileModel, step: UpdateStep, names: tuple[str, ...], size: int | None, level: Severity) -> Finding:
    function = _function(model, step)
    place = _place(model, step)
    written = ", ".join(
        argument for name, argument in zip(step.parameters, step.arguments, strict=True) if name in names
    )
    many = len(names) > 1
    least = "at least " if step.unsized else ""
    saved = f": {least}{format_bytes(size)} could be reused" if size is not None else ""
    what = f"{'are' if many else 'is'} replaced by what `{function}` returns, and not donated"
    doubt = "" if step.needed == "no" else " (if nobody else holds the old value)"
    shown = " ".join(["`" + written + "`", what]) + saved + doubt + " (inferred)"
    title = f"Donate {' and '.join(f'`{name}`' for name in names)}"
    offer = FixOffer(title, "donate", "safe" if step.needed == "no" else "unsafe", names)
    return Finding(
        NAME,
        level,
        place.path,
        place.range,
        function,
        written,
        shown,
        "static",
        related=tuple(related(Mark(call.scope.chunk, call.node).place, "replaced here") for call in step.calls),
        fixes=(offer,) if step.first.donates else (),
        refused=None if step.first.donates else "What compiles it has no `donate_argnums`, but an option of its own.",
    )


def _function(model: FileModel, step: UpdateStep) -> str:
    return model.function_of(step.first.function).qualname


def _place(model: FileModel, step: UpdateStep) -> Place:
    """Where the function is compiled; the call, where that is another file."""
    site = next((site for site in model.sites if site.node is step.first.compiled_at), None)
    if site is None:
        return Mark(step.first.scope.chunk, step.first.node).place
    return Mark(site.scope.chunk, site.node).place


RULE = Donation()
