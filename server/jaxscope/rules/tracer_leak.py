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

The value has to be returned and stored by the caller, which changes what the function returns: no fix is offered.

## Limits

Objects that JAX hands in as arguments are copies, and are not looked at. Modules of flax, haiku and equinox look after
their own state. Without a trace, an object that is not known to be one of the project's is a hint.
"""

from __future__ import annotations

from jaxscope.rules.base import Context, Rule
from jaxscope.rules.effect_findings import finding_of, function_of, once_each
from jaxscope.rules.finding import Finding, Severity
from jaxscope.semantics.effects import Effect, effects_of
from jaxscope.semantics.model import FileModel

NAME = "tracer-leak"


class TracerLeak(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "A traced value is kept outside of the traced function"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Leaks that follow from the source."""
        found = [_finding(model, effect) for effect in effects_of(model) if _leaks(effect)]
        return once_each(found)


def _leaks(effect: Effect) -> bool:
    return effect.kind != "call" and effect.stored == "tracer"


def _finding(model: FileModel, effect: Effect) -> Finding:
    level: Severity = "warning" if effect.sure else "hint"
    return finding_of(model, NAME, effect, level, _message(model, effect))


def _message(model: FileModel, effect: Effect) -> str:
    function = function_of(model, effect)
    if effect.kind == "yield":
        return f"`{effect.name}` is yielded out of {function} while it is traced: it is no value outside"
    if effect.kind == "cache":
        return f"`{effect.name}` caches what it computes while {function} is traced: later calls get a dead tracer"
    return f"`{effect.name}` keeps a traced value of {function} beyond the trace: using it later fails"


RULE = TracerLeak()
