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

A container that is only read can be passed as an argument, if its leaves are numbers or arrays. One that is filled has
to be returned, which changes what the function returns: no fix is offered.

## Limits

Changes in other files, and those before the first call, do not count. A memo of values that do not depend on the
arguments (NumPy tables, shapes) works, and is not reported. Containers that the traced code makes itself are its own.
"""

from __future__ import annotations

from jaxscope.rules.base import Context, Rule
from jaxscope.rules.effect_findings import finding_of, function_of, once_each
from jaxscope.rules.finding import Finding, Severity
from jaxscope.semantics.effects import Effect, effects_of
from jaxscope.semantics.model import FileModel

NAME = "mutable-capture"


class MutableCapture(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "A container from outside is filled by traced code, or read there and changed elsewhere"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Containers that follow from the source."""
        found = []
        for effect in effects_of(model):
            level = _level(effect)
            if level is not None:
                found.append(finding_of(model, NAME, effect, level, _message(model, effect)))
        return once_each(found)


def _level(effect: Effect) -> Severity | None:
    if effect.kind != "fill":
        return None
    if effect.stored == "tracer":
        return "warning" if effect.sure else "hint"
    if not effect.read or effect.guarded or not effect.sure:
        return None
    return "warning"


def _message(model: FileModel, effect: Effect) -> str:
    function = function_of(model, effect)
    return f"`{effect.name}` is filled while {function} is traced: once per trace, not once per call"


RULE = MutableCapture()
