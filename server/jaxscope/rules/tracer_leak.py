"""A traced value is kept outside of the function that is traced.

## What it says

While JAX traces a function, arguments and everything computed from them are tracers: they stand for values that do not
exist yet. One of them is stored where it outlives the trace: on `self`, in a global, in a list, dict or set from
outside, in a default, in the cache of `functools.lru_cache`, or it is yielded.

## Why it matters

Whoever uses it afterwards gets `UnexpectedTracerError`, far from the line that stored it; in another traced function
it fails there, too. What is stored does not follow later calls: the line runs once per trace. A tracer also keeps its
whole trace in memory.

## Example

```python
class Agent:
    @partial(jax.jit, static_argnums=0)
    def update(self, w, x):
        h = jnp.tanh(x @ w)
        self.last_hidden = h
        return w - 0.1 * h.mean()
```

## Use instead

```python
class Agent:
    def update(self, w, x):
        w, self.last_hidden = self._update(w, x)
        return w

    @partial(jax.jit, static_argnums=0)
    def _update(self, w, x):
        h = jnp.tanh(x @ w)
        return w - 0.1 * h.mean(), h
```

A table that does not depend on the arguments can be computed before the first call, or kept as a NumPy array; inside
`with jax.ensure_compile_time_eval():` JAX computes it at once.

## Fix safety

The value is returned, and a function of the old name around the compiled one stores it: no call changes, and what the
function reads of the object is passed in. It is refused where the value is stored in some of the ways through the
function only, or by a function that it calls. A memo of values that do not depend on the arguments is computed at once
while tracing, with `jax.ensure_compile_time_eval()`.

## Limits

Objects that JAX hands in as arguments are copies, and are not looked at. Modules of flax, haiku and equinox look after
their own state. Without a trace, an object that is not known to be one of the project's is a hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.effect_findings import finding_of, function_of, kept_outside, once_each
from jaxscope.rules.finding import INFERRED, Finding, Severity
from jaxscope.semantics.compiled.callers import compiled_calls_of
from jaxscope.semantics.effects.effects import Effect, effects_of
from jaxscope.semantics.model import FileModel, squeezed
from jaxscope.worker.jaxscope_worker.wire.leaks import Leak
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply

NAME = "tracer-leak"
_KEYS = re.compile(r"(\[[^\[\]]*\])+$")
_BEYOND = "beyond the trace: using it later fails"


class TracerLeak(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "A traced value is kept outside of the traced function"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Leaks that follow from the source."""
        found = [_finding(model, effect) for effect in effects_of(model) if _leaks(effect)]
        return once_each(found)

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """Those that a trace showed, and what it left outside besides. What was gone when it was looked for may still
        have been there: nothing is refuted."""
        left = list(evidence.leaks)
        findings = []
        for finding in static:
            seen = [leak for leak in left if _is_of(finding, leak)]
            findings.append(_confirmed(finding, seen[0]) if seen else finding)
            left = [leak for leak in left if not _is_told(model, finding, leak)]
        added = [finding for leak in left for finding in _seen(model, leak)]
        return Judgement(tuple(once_each([*findings, *added])))


def _leaks(effect: Effect) -> bool:
    return effect.kind != "call" and effect.stored == "tracer"


def _finding(model: FileModel, effect: Effect) -> Finding:
    level: Severity = "warning" if effect.sure else "hint"
    return finding_of(model, NAME, effect, level, _message(model, effect), kept_outside(effect))


def _message(model: FileModel, effect: Effect) -> str:
    function = function_of(model, effect)
    if effect.kind == "yield":
        return f"`{effect.name}` is yielded out of {function} while it is traced: it is no value outside"
    if effect.kind == "cache":
        return f"`{effect.name}` caches what it computes while {function} is traced: later calls get a dead tracer"
    return f"`{effect.name}` keeps a traced value of {function} {_BEYOND}"


# ---------------------------------------------------------------- what a trace saw


def _holder(leak: Leak) -> str:
    """The leak's object, without the keys by which the tracer is found in it."""
    return squeezed(_KEYS.sub("", leak.name))


def _is_same(finding: Finding, leak: Leak) -> bool:
    """Do they speak of the same object? A method knows as `self.x` what is `agent.x` outside."""
    name, holder = squeezed(finding.name), _holder(leak)
    last = name.rpartition(".")[2] == holder.rpartition(".")[2]
    return name == holder or ("." in name and "." in holder and last)


def _is_of(finding: Finding, leak: Leak) -> bool:
    return finding.function == leak.function and _is_same(finding, leak)


def _is_told(model: FileModel, finding: Finding, leak: Leak) -> bool:
    """Does a finding tell of the leak? A global is the same to all functions; a local name, or an attribute, only to
    a function and to those that call it, being compiled themselves."""
    if not _is_same(finding, leak):
        return False
    if finding.function == leak.function or (leak.holder == "global" and "." not in _holder(leak)):
        return True
    return any(
        call.function.qualname == finding.function and call.scope.owner().qualname == leak.function
        for call in compiled_calls_of(model)
    )


def _confirmed(finding: Finding, leak: Leak) -> Finding:
    message = finding.message.removesuffix(INFERRED).replace("a traced value", f"a traced value ({leak.type})")
    return replace(finding, severity="warning", message=message, evidence="both")


def _seen(model: FileModel, leak: Leak) -> Iterator[Finding]:
    """A leak that does not follow from the source: at what may have done it, else at the function."""
    elsewhere = f" in `{leak.module.rpartition('/')[2]}`" if leak.module not in ("", leak.path) else ""
    message = f"`{leak.name}`{elsewhere} keeps a traced value ({leak.type}) of `{leak.function}` {_BEYOND}"
    for effect in effects_of(model):
        found = finding_of(model, NAME, effect, "warning", "")
        if effect.kind in ("assign", "fill") and _is_of(found, leak):
            yield replace(found, message=message, evidence="traced")
            return
    home = model if leak.path == model.path else model.project.model(leak.path)
    function = home.function(leak.function, leak.line) if home is not None else None
    if function is not None:
        name = _KEYS.sub("", leak.name)
        place = function.name_range
        yield Finding(NAME, "warning", leak.path, place, leak.function, name, message, "traced", via=leak.holder)


RULE = TracerLeak()
