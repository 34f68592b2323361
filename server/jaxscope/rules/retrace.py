"""A compiled function is traced and compiled again and again.

## What it says

JAX keeps what it compiled by the function object, the shapes and types of the arguments, the values of static
arguments, and which arguments are passed by keyword. Something here is new at each call, so that nothing that was kept
fits: a lambda, an inner function, a `partial` or a bound method that is made anew and compiled anew; a static argument
that changes, or an object that is equal only to itself; an array that gets longer; a Python number where an array came
before. The message says what it is.

## Why it matters

A call that is found in JAX's cache takes some 2 µs on JAX 0.10.2; one that is traced and compiled again takes from
10 ms for a few operations to minutes for a large model, at every step. What is compiled is kept as well, so memory
grows. The only sign is that the program is slow.

## Example

```python
for batch in batches:
    loss = jax.jit(lambda x: evaluate(params, x))(batch)
```

## Use instead

```python
evaluate_batch = jax.jit(evaluate)

for batch in batches:
    loss = evaluate_batch(params, batch)
```

A static argument that is only a number in array code need not be static. To `eqx.filter_jit` every Python number is
static; `jnp.asarray(rate)` is an argument.

## Arrays of differing length

Each length is a program of its own. Give the function one length, or one of few, and a mask for what is real:

```python
length = 1 << (len(x) - 1).bit_length()  # the next power of two: 11 programs for all lengths up to 1,000
mask = jnp.arange(length) < len(x)
y = f(jnp.pad(x, (0, length - len(x))), mask)  # in f: jnp.where(mask, ..., 0); a mean divides by mask.sum()
```

Where only the last batch is shorter, drop it (`drop_remainder=True`) or pad it to the length of the others. An array
that grows is made once at its final length and filled with `x.at[i].set(row)`.

## Fix safety

- A call of `jit` in a loop is moved in front of it where it takes nothing from the loop, neither a name that it binds
  nor an attribute that may be set there; `jit` of a method of `self` moves into `__init__` where all that the method
  reads of the object is set there alone.
- A static number that is only computed with becomes an ordinary argument; so do the numbers and arrays that a method
  reads of a static `self`, and those that a compiled function takes from the function that makes it.
- A Python number that is static for `eqx.filter_jit` is passed as an array, unless the function may return it as it is.
- A number that begins a loop as a Python number gets the type that the run showed afterwards, and one that is `int` at
  times becomes a `float`. Both are made only where a run gives the same results.
- A dict, list or set that is static is passed as a tuple where it is written out in every call.

JAX computes with Python numbers in 64 bits while it traces, and with arguments in their own type, so the last digit of
a result may differ. Arrays whose length differs are explained, not edited.

## Limits

The same function under its own name may be compiled again as often as one likes: JAX finds it in its cache. A function
that nobody in sight calls may be called once only, so `jit` of something new inside of it is a hint. Shapes that follow
from data, and types that differ between calls, are seen in a trace or in a recorded run (`jaxscope record`). A recorded
run also tells how long the programs that were compiled again took, and what each differs in from the nearest earlier
one; it counts as long as the function, its caller, and what its files do outside of functions are what they were.
"""

from __future__ import annotations

import ast

from jaxscope.refactor import hoist_jit, jit_in_init, make_hashable, static_object
from jaxscope.refactor.to_argument import factory_argument
from jaxscope.rules import traced_retraces
from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.finding import Finding, FixOffer, Related, Severity
from jaxscope.rules.padding import PADDING, padding
from jaxscope.rules.traced_retraces import Claim
from jaxscope.semantics.compiled.repetition import Again
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.retracing.rebuilt import Rebuilt
from jaxscope.semantics.retracing.retraces import retraces_of
from jaxscope.semantics.retracing.varied import Resized, ShapeCause, Varied
from jaxscope.text.span import Range
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply

NAME = "retrace"
_LONGEST = 60
_KINDS = {
    "lambda": "a new lambda",
    "function": "a new function",
    "partial": "a new `partial`",
    "bound method": "a new bound method",
    "transformed": "a new function",
    "made by a call": "a new function",
}


class Retrace(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "A compiled function is traced again at each call or iteration"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """What the source shows to be new each time."""
        return [claim.finding for claim in _claims(model)]

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """Retraces as the run showed them."""
        return traced_retraces.merge(model, NAME, _claims(model), evidence)


def _claims(model: FileModel) -> list[Claim]:
    rebuilt, varied, resized = retraces_of(model)
    found = []
    for one in rebuilt:
        lines = model.module.range(one.scope.chunk, one.node)
        functions = tuple(model.function_of(scope) for scope in one.fresh.code)
        found.append(Claim(_of_rebuilt(model, one), functions, range(lines.start.line, lines.end.line + 1)))
    for item in varied:
        lines = model.module.range(item.call.scope.chunk, item.call.node)
        function = model.function_of(item.call.function)
        found.append(Claim(_of_varied(model, item), (function,), range(lines.start.line, lines.end.line + 1)))
    # A run tells nothing of functions of libraries.
    return [*found, *(Claim(_of_resized(model, other), (), range(0)) for other in resized)]


# ---------------------------------------------------------------- compiled anew


def _of_rebuilt(model: FileModel, one: Rebuilt) -> Finding:
    when = "in each iteration"
    if one.again.through:
        when = f"at each call of `{model.function_of(one.again.through[0]).qualname}`"
    what = f"`{_short(one.name)}` is {_KINDS[one.fresh.kind]} {when}"
    text = f"{what}, so `{one.transform}` traces it every time (inferred)"
    if not one.again.is_certain:
        text = f"{what}: `{one.transform}` traces it anew whenever that is called (inferred)"
    around = one.scope.owner()
    around = around if around.is_function else one.scope.enclosing_function() or around
    return Finding(
        NAME,
        "warning" if one.sure else "hint",
        model.path,
        _site_range(model, one.scope, one.node),
        model.function_of(around).qualname if around.is_function else one.name,
        one.name,
        text,
        "static",
        via=f"new-{one.fresh.kind.replace(' ', '-')}",
        related=_again(model, one.again),
        fixes=_fixes(one),
    )


def _fixes(one: Rebuilt) -> tuple[FixOffer, ...]:
    if one.sure and factory_argument.can_plan(one):
        names = " and ".join(f"`{name}`" for name in one.names)
        return (
            FixOffer(f"Compile `{_short(one.name)}` once, with {names} as an argument", "scalar-to-argument", "safe"),
        )
    if not one.sure or not hoist_jit.can_plan(one):
        return ()
    where = "in `__init__`" if jit_in_init.is_of_self(one) else "before the loop"
    return (FixOffer(f"Compile `{_short(one.name)}` once, {where}", "hoist-jit", "safe"),)


def _short(text: str) -> str:
    """A long call without its arguments."""
    return text if len(text) <= _LONGEST else f"{text.partition('(')[0]}(…)"


def _again(model: FileModel, again: Again) -> tuple[Related, ...]:
    if again.why == "called from outside":
        return ()
    said = {
        "loop": "in this loop",
        "called in a loop": "called in this loop",
        "called several times": "called here too",
    }
    scope = again.at.chunk.facts["model"]
    place = scope.place_in(again.at.chunk, again.at.node)
    start = place.range.start
    return (Related(place.path, start.line, said[again.why], start.column),)


def _site_range(model: FileModel, scope: Scope, node: ast.expr) -> Range:
    """Of the decorator or call; of one on several lines, of what is called."""
    whole = model.module.range(scope.chunk, node)
    if whole.start.line != whole.end.line and isinstance(node, ast.Call):
        return model.module.range(scope.chunk, node.func)
    return whole


# ---------------------------------------------------------------- called with something new


def _of_varied(model: FileModel, one: Varied) -> Finding:
    function = model.function_of(one.call.function).qualname
    severity: Severity = "warning" if one.sure else "hint"
    written = ast.unparse(one.node)
    advice = padding(one.cause) if one.cause in ("length", "grows", "last batch") else ""
    return Finding(
        NAME,
        severity,
        model.path,
        _argument_range(model, one),
        function,
        written if advice else one.parameter,
        _said(model, one, function, written),
        "static",
        via=one.cause.replace(" ", "-"),
        related=_places(model, one),
        fixes=_fixes_of_varied(one),
        refused=PADDING if advice else _needed(one, function),
        advice=advice,
    )


def _of_resized(model: FileModel, one: Resized) -> Finding:
    function, shape, scope = one.call.function, one.shape, one.call.scope
    written = ast.unparse(shape.node)
    around = next((outer for outer in scope.around() if outer.kind == "function"), None)
    start = model.module.range(scope.chunk, shape.loop.node).start
    return Finding(
        NAME,
        "warning" if shape.sure else "hint",
        model.path,
        _given_range(model, scope, one.call.node, one.argument),
        model.function_of(around).qualname if around is not None else function,
        written,
        _said_of_shape(shape.cause, written, function),
        "static",
        via=shape.cause.replace(" ", "-"),
        related=(Related(model.path, start.line, "in this loop", start.column),),
        refused=PADDING,
        advice=padding(shape.cause),
    )


def _fixes_of_varied(one: Varied) -> tuple[FixOffer, ...]:
    if one.cause == "number" and one.sure and one.use in ("array", "exponent"):
        title = f"Pass `{one.parameter}` as an {'array' if one.is_marked_nowhere else 'ordinary argument'}"
        return (FixOffer(title, "drop-static", "safe", (one.parameter,)),)
    if one.sure and static_object.can_plan(one):
        title = f"Pass what it reads of `{one.parameter}` as arguments"
        return (FixOffer(title, "drop-static", "safe", (one.parameter,)),)
    if make_hashable.can_plan(one):
        return (FixOffer(f"Pass `{one.parameter}` as a tuple", "make-hashable", "safe", (one.parameter,)),)
    return ()


def _needed(one: Varied, function: str) -> str | None:
    """Why a number has to stay static."""
    if one.cause != "number" or one.sure:
        return None
    if one.use in ("array", "exponent"):
        return f"`{one.parameter}` is another number only in a loop further out, which may be meant"
    if one.use == "value":
        return f"`{function}` may need the value of `{one.parameter}` when it is traced"
    return f"it cannot be seen whether `{function}` can do with `{one.parameter}` as an array"


def _said(model: FileModel, one: Varied, function: str, written: str) -> str:
    parameter = f"`{one.parameter}`"
    if one.cause == "unhashable":
        return f"{parameter} is static and gets `{written}`, which cannot be hashed: `{function}` raises (inferred)"
    if one.cause == "new function":
        return f"Static {parameter} is a new function each time, so `{function}` is traced every time (inferred)"
    if one.cause == "new object":
        return (
            f"Static {parameter} is a new object each time and equal only to itself, so `{function}` is traced "
            "every time (inferred)"
        )
    if one.is_marked_nowhere:
        return (
            f"{parameter} is another number in each iteration, and `{one.call.anew}` takes Python numbers as static: "
            f"`{function}` is traced for each (inferred)"
        )
    if one.cause == "number":
        return f"Static {parameter} is another number in each iteration: `{function}` is traced for each (inferred)"
    if one.cause in ("length", "grows", "last batch"):
        return _said_of_shape(one.cause, written, function)
    assert one.other is not None
    here, there = "keyword", "position"
    if all(key.arg != one.parameter for key in one.call.node.keywords):
        here, there = there, here
    line = model.place(one.other.scope, one.other.node).range.start.line
    both = f"`{function}` is traced for both (inferred)"
    return f"{parameter} is passed by {here} here and by {there} on line {line}: {both}"


def _said_of_shape(cause: ShapeCause, written: str, function: str) -> str:
    if cause == "length":
        return f"`{written}` has another shape in each iteration: `{function}` is traced for each (inferred)"
    if cause == "grows":
        return f"`{written}` is longer in each iteration: `{function}` is traced for each length (inferred)"
    return f"The last `{written}` may be shorter than the others: `{function}` is then traced again (inferred)"


def _argument_range(model: FileModel, one: Varied) -> Range:
    """Of the argument."""
    func = one.call.node.func
    receiver = isinstance(func, ast.Attribute) and func.value is one.node
    given = next((value for _, value in one.call.given if value is one.node), None)
    node = one.node if receiver else given or next(v for key, v in one.call.given if key == one.parameter)
    return _given_range(model, one.call.scope, one.call.node, node)


def _given_range(model: FileModel, scope: Scope, call: ast.Call, node: ast.expr) -> Range:
    """Of an argument; where that is on another line than the call, of what is called."""
    place = model.module.range(scope.chunk, node)
    if place.start.line != place.end.line or node.lineno != call.lineno:
        return model.module.range(scope.chunk, call.func)
    return place


def _places(model: FileModel, one: Varied) -> tuple[Related, ...]:
    found = []
    compiled = one.call.function.chunk.facts["model"]
    if one.cause in ("unhashable", "new object", "new function", "number"):
        function = compiled.function_of(one.call.function)
        found.append(Related(compiled.path, function.line, "compiled here" if one.is_marked_nowhere else "static here"))
    if one.loop is not None:
        start = model.module.range(one.call.scope.chunk, one.loop.node).start
        found.append(Related(model.path, start.line, "in this loop", start.column))
    if one.other is not None:
        start = model.place(one.other.scope, one.other.node).range.start
        found.append(Related(model.path, start.line, "passed the other way here", start.column))
    return tuple(found)


RULE = Retrace()
