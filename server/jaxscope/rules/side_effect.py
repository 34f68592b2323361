"""Python code with an effect runs once per trace, not once per call.

## What it says

A traced function prints, logs, counts, reads the clock, draws random numbers with Python or NumPy, writes a file, or
assigns something outside of it. JAX runs the function's Python code when it traces it, and never again for arguments
of the same shapes.

## Why it matters

The effect does not happen when the function is called: a counter stays at 1, a print shows a tracer instead of a value
and only the first time, a measured time is the time of the trace. A number that `np.random` or `time.time()` gave then
is a constant of the program: every call uses the same one.

## Example

```python
@jax.jit
def step(params, x):
    noise = np.random.normal(size=x.shape)
    loss = jnp.mean((x + noise) ** 2)
    print("loss", loss)
    return params - loss
```

## Use instead

```python
@jax.jit
def step(params, x, key):
    noise = jax.random.normal(key, x.shape)
    loss = jnp.mean((x + noise) ** 2)
    jax.debug.print("loss {}", loss)
    return params - loss
```

`jax.debug.callback` and `jax.experimental.io_callback` call any Python function when the program runs.

## Fix safety

`print` becomes `jax.debug.print`, its arguments a format string (f-strings, `%` and `.format` as well); a number may
show other digits than `print` gives it. A logging call is handed to `jax.debug.callback` as it is, in a lambda that
gets the values. Both happen at each call of the compiled function, so neither is part of fixing all at once. Neither
is offered where something is printed that is no array, goes elsewhere (`file`), or has a form that a format string
does not have (`{x!r}`, `%d`); nor where a logging call tells of its moment (`exc_info`, `extra`).

Random numbers of NumPy's or Python's become those of `jax.random`, of a key that the function takes as an argument;
whoever calls it makes the key, or splits it in a loop, where it is certain that this happens once. The results change,
as they are meant to: the numbers that the trace has frozen become new ones at each call, of the same distribution,
shape and dtype. So it is made only when asked for, and a run shows no more than that shapes and dtypes stay.

What is left to you:

- The clock: read it before and after the call, the second time after `jax.block_until_ready(result)`, since a call
  returns before its result is there. Where the computation needs the time, pass it as an argument.
- Counters: pass the count and return it, `state, count = step(state, count)`, or count where the function is called.
- Files: return the values and write them outside, or use `jax.experimental.io_callback`.

## Limits

What prints or logs no traced value is a hint: a line that shows shapes, or that a trace begins, is often meant; under
an `if`, which JAX decides while tracing, it is taken to be. Code
that a constant of the module switches off, callbacks and `jax.debug` are not looked at. A generator that is made with
a seed while tracing gives the same numbers each time, and is not reported.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from jaxscope.refactor import random_forms
from jaxscope.rules.base import Context, Rule
from jaxscope.rules.effect_findings import finding_of, function_of, once_each
from jaxscope.rules.finding import Finding, FixOffer, Severity
from jaxscope.semantics.effects.effects import Effect, effects_of
from jaxscope.semantics.effects.impure import Impurity
from jaxscope.semantics.model import FileModel, squeezed

NAME = "side-effect"
_ONCE = "once per trace, not once per call"
_SAYS: dict[Impurity, str] = {
    "print": "prints while {function} is traced: " + _ONCE,
    "log": "logs while {function} is traced: " + _ONCE,
    "time": "is read while {function} is traced: every call gets the time of the trace",
    "random": "is drawn while {function} is traced: every call gets the same numbers",
    "write": "writes while {function} is traced: " + _ONCE,
    "input": "asks while {function} is traced: " + _ONCE,
    "count": "counts while {function} is traced: " + _ONCE,
}
_EXPLAINS: dict[Impurity | None, str] = {
    "print": "It prints something that is no array, or in a form that `jax.debug.print` does not have.",
    "log": "It logs something that is no array, which a callback would not be given.",
    "random": "New numbers for each call come from a `jax.random` key, which each caller has to give.",
    "time": "The time of a call can only be read outside, and given as an argument.",
    "count": "A count has to be an argument and a result, or be made where the function is called.",
    "write": "Write where the function is called, or with `jax.experimental.io_callback`.",
    "input": "Ask where the function is called, and pass the answer as an argument.",
    None: "What changes with each call has to be an argument and a result, or be changed where the function is called.",
}
"""Why there is no fix, and what to write instead."""
_TELLS = ("print", "log")
_TRACES = re.compile(r"trac|compil", re.IGNORECASE)
"""Names of what counts traces, which is right where it is."""
_PRINT = FixOffer("Print when the program runs, with `jax.debug.print`", "debug-print", "safe")
_LOG = FixOffer("Log when the program runs, with `jax.debug.callback`", "debug-callback", "safe")
_KEY = FixOffer("Draw new numbers at each call, with `jax.random` and a key as an argument", "random-key", "unsafe")


class SideEffect(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "Python code with an effect runs once per trace, not once per call"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Effects that follow from the source."""
        found = []
        for effect in effects_of(model):
            level = _level(effect)
            if level is not None:
                fixes = _fixes(effect)
                finding = finding_of(model, NAME, effect, level, _message(model, effect), fixes)
                why = None if fixes else finding.refused or _EXPLAINS.get(effect.call)
                found.append(replace(finding, refused=why))
        return once_each(found)


def _fixes(effect: Effect) -> tuple[FixOffer, ...]:
    if effect.call == "random" and random_forms.is_known(effect.name):
        return (_KEY,)
    if effect.call not in _TELLS or effect.stored != "tracer" or not effect.shown:
        return ()
    return (_PRINT,) if effect.name == "print" else (_LOG,) if effect.call == "log" else ()


def _level(effect: Effect) -> Severity | None:
    """None: nothing to say, or for other rules to say."""
    if effect.kind == "call":
        if effect.name.endswith("warn"):
            return "hint" if effect.stored == "tracer" else None  # of how it is called, not of what it computes
        if effect.call not in _TELLS or effect.stored == "tracer":
            return "warning"
        return None if effect.guarded else "hint"
    if effect.stored == "tracer" or effect.kind not in ("assign", "fill"):
        return None
    if effect.guarded or (effect.kind == "fill" and effect.read and not effect.candidate.augmented):
        return None
    return "warning" if effect.sure and not _is_meant(effect) else "hint"


def _is_meant(effect: Effect) -> bool:
    """Does it count traces, or only bring a value into another form?"""
    if _TRACES.search(effect.name):
        return True
    given = [part for value in effect.candidate.values for part in ast.walk(value) if isinstance(part, ast.expr)]
    again = any(squeezed(ast.unparse(part)) == squeezed(effect.name) for part in given)
    return again and not effect.candidate.augmented


def _message(model: FileModel, effect: Effect) -> str:
    function = function_of(model, effect)
    if effect.call is not None:
        return f"`{effect.name}` {_SAYS[effect.call].format(function=function)}"
    does = "is assigned" if effect.kind == "assign" else "is changed"
    return f"`{effect.name}` {does} while {function} is traced: {_ONCE}"


RULE = SideEffect()
