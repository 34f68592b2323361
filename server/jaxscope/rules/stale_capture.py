"""A compiled function goes on using a value that has changed since it was traced.

## What it says

A function that JAX compiles reads a global, a variable of an enclosing function, an attribute of its bound or static
object, or an entry of a container, and that value is assigned anew, or changed in place, where the function can have
been traced already: between two calls, in a loop around the call, in another method or another file.

## Why it matters

Reading happens once, while JAX traces the function; the compiled program holds what was read. Later calls with
arguments of the same shapes and dtypes neither run the Python code again nor look at the name: a coefficient that is
scheduled stays what it was, a flag that is switched off stays on, and a random key draws the same numbers for ever.
Arguments of another shape trace anew and silently bring the new value, so that results depend on what was called
before. Nothing warns.

## Example

```python
penalty = 0.5

@jax.jit
def cost(v):
    return jnp.sum(v**2) + penalty

cost(v)
penalty = 8.0
cost(v)  # still with 0.5
```

## Use instead

```python
@jax.jit
def cost(v, penalty):
    return jnp.sum(v**2) + penalty

cost(v, penalty)
```

`jax.jit(cost)` applied again to the same function does not help: the traces belong to the function. One that is made
anew, by a lambda or a `def` that runs again, is traced anew.

## Fix safety

The fix passes the value as an argument, in the definition and in every call. The compiled function then uses the value
of the moment, which changes its results: that is the point of it. It is refused where Python itself has to know the
value while tracing (`if flag:`, a shape); there `static_argnames` is what to use. `eqx.filter_jit` compiles anew for
each Python number, so that it is given the number as an array (`jnp.asarray(penalty)`).

## Limits

After a run, the function is traced again with the value of the end: what it says is traced where that gives another
program, and not reported where it gives the same one, as for a value that is read on a branch that did not run. Without
a trace, only what the source shows is a warning: a call, then the change, then a further call, or a loop around both.
Where nobody in sight calls the function that makes the change, the finding is a hint. What is assigned only before the
first call is not reported, nor what is assigned after the last one, unless another file may call the function, nor are
arguments of modules that take their object apart (`nnx.jit`, `eqx.filter_jit`), nor mutable references (`jax.new_ref`).
"""

from __future__ import annotations

import ast
from dataclasses import replace

from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.finding import UNPARSED, Finding, FixOffer, Related, line_of, related
from jaxscope.rules.traced_changes import judged, root
from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.compiled.callers import compiled_calls_of
from jaxscope.semantics.compiled.functions import Function
from jaxscope.semantics.compiled.repetition import loop_around
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.stale.staleness import Stale, is_over, stale_of
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply
from jaxscope.worker.jaxscope_worker.wire.stale import ChangedValue

NAME = "stale-capture"


class StaleCapture(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "A compiled function goes on using a value that has changed since it was traced"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """What follows from the source."""
        return [_finding(model, stale) for stale in stale_of(model)]

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """The same, with what the values were in a run; and what changed there without the source showing it."""
        changed = [one for one in evidence.changed if one.path == model.path]
        judgement = judged(model, static, changed)
        added: list[Finding] = []
        told = {(finding.function, root(finding.name)) for finding in static}
        for one in changed:
            if one.depends and (one.function, root(one.name)) not in told:
                told.add((one.function, root(one.name)))
                added += _only_seen(model, one)
        return replace(judgement, findings=(*judgement.findings, *added))


def _only_seen(model: FileModel, one: ChangedValue) -> list[Finding]:
    function = model.function(one.function, one.line)
    places = model.reads(function, one.name) if function is not None else ()
    if function is None or not places or not _may_be_called_again(model, function, one.name):
        return []
    change = f"{one.then} when `{one.function}` was traced and {one.now} in the end" if one.then and one.now else ""
    was = f"was {change}" if change else f"has changed since `{one.function}` was traced"
    message = f"`{one.name}` {was}: calls without a new trace go on using the old value"
    return [Finding(NAME, "hint", model.path, places[0], one.function, one.name, message, "traced")]


def _may_be_called_again(model: FileModel, function: Function, name: str) -> bool:
    """Can a call come after the change? Of what a function makes and calls itself, the source shows all calls, and of
    a function of a file that nothing imports."""
    if is_over(model, function.scope, root(name)) and not model.project.is_imported(model.path):
        return False
    home = function.scope.parent
    home = home.owner() if home is not None else None
    calls = [call for call in compiled_calls_of(model) if call.function is function.scope]
    if home is None or not home.is_function or not calls or any(call.scope.owner() is not home for call in calls):
        return True
    if name in home.bindings:
        return False  # and all that assigns its variables
    loops = [loop_around(call.scope, call.block, call.node) for call in calls]
    made = function.scope.node
    return len(calls) > 1 or any(
        loop is not None and all(node is not made for node in ast.walk(loop.node)) for loop in loops
    )


def _finding(model: FileModel, stale: Stale) -> Finding:
    function = model.function_of(stale.site.function).qualname
    at = stale.at.place
    broken, title = stale.at.chunk.broken, f"Pass `{stale.name}` as an argument"
    offer = FixOffer(title, "value-to-argument", "safe" if stale.certain else "unsafe")
    return Finding(
        NAME,
        "warning" if stale.certain else "hint",
        at.path,
        at.range,
        function,
        stale.name,
        _message(stale, function),
        "static",
        model.function_of(stale.inner).qualname if stale.inner is not None else None,
        None,
        stale.via,
        _related(stale),
        () if broken else (offer,),
        UNPARSED if broken else None,
    )


def _message(stale: Stale, function: str) -> str:
    name, kept = stale.name, stale.known or "what it was then"
    if stale.is_key:
        kept = "the key it was traced with and draws the same numbers every time"
    where = line_of(stale.change.place, stale.at.place.path)
    if stale.while_traced:
        return (
            f"`{name}` is changed {where} while `{function}` is traced, not when it runs: later calls go on using "
            f"{kept} (inferred)"
        )
    if not stale.certain:
        changer = stale.changer.qualname
        return (
            f"`{name}` is changed by `{changer}` ({where[3:]}): once `{function}` is traced, it goes on using {kept} "
            "(inferred; who calls it when is not in sight)"
        )
    again = f"; `jit` applied to `{function}` again traces nothing anew" if stale.again is not None else ""
    return f"`{name}` is changed {where}, after `{function}` was traced: it goes on using {kept} (inferred){again}"


def _related(stale: Stale) -> tuple[Related, ...]:
    marks: list[tuple[Mark, str]] = [(stale.change, "changed here")]
    if stale.first is not None and stale.later == stale.first:
        marks.append((stale.first, "called again and again here"))
    elif stale.first is not None and stale.later is not None:
        marks += [(stale.first, "traced here at the latest"), (stale.later, "this call uses the old value")]
    if stale.again is not None:
        marks.append((stale.again, "applied again here"))
    return tuple(dict.fromkeys(related(mark.place, message) for mark, message in marks))


RULE = StaleCapture()
