"""64-bit data meets JAX while `jax_enable_x64` is off, and is silently halved.

## What it says

A NumPy array of 64-bit numbers becomes part of a compiled function, or JAX is asked for a 64-bit dtype, in a program
that does not enable x64: JAX uses 32 bits. Floating-point numbers lose half of their digits, integers that do not fit
wrap around.

## Why it matters

Nothing fails. `1.0 + 1e-12` becomes 1.0, so that differences of nearly equal numbers vanish; `2**40` in an array
becomes 0 without a word. For a dtype that is asked for by name JAX warns once, when that line runs, and goes on.

## Example

```python
COEFFS = np.array([1.0, 1.0 + 1e-12])

@jax.jit
def spread(x):
    return x * (jnp.asarray(COEFFS)[1] - 1.0)    # always 0
```

## Use instead

```python
jax.config.update("jax_enable_x64", True)        # at the start of the program: 64 bits everywhere
COEFFS = np.array([1.0, 1.5], dtype=np.float32)  # or say what is meant
```

## Fix safety

`jnp.float64` becomes `jnp.float32`, as JAX has it anyway: the program stays the same, and shows what it computes. Of a
NumPy array of floats the dtype is said where it is bound, if it stands in the same file; where NumPy computes with it
before JAX does, a run has to show that the results stay. This is safe where a trace has shown that x64 is off.

Where integers do not fit, the fix is `jax.config.update("jax_enable_x64", True)` after the imports of the file, offered
where no other file of the project imports it. It changes dtypes, memory and speed everywhere, and so is only made when
asked for. Whether digits matter only the author knows: to keep those of a float, enable x64 instead.

## Limits

Arrays whose values survive, as those of `np.zeros` or `np.arange(10)` do, are not reported. What is read from a file
is a hint. In a project that speaks of `enable_x64` anywhere a trace has to show that it is off, and only a trace sees
the environment variable `JAX_ENABLE_X64`, and integers that a program computes from its own constants and that do not
fit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.finding import ArrayFacts, Evidence, Finding, FixOffer, Refuted, Severity, related
from jaxscope.semantics.captured.capture import Capture, Mark
from jaxscope.semantics.captured.captures import captures_of, traced_code_of
from jaxscope.semantics.evaluation.dtypes import narrowed
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.wide.narrowing import Narrowed, narrowing
from jaxscope.semantics.wide.wide_requests import WideRequest, wide_requests_of
from jaxscope.text.span import Range
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply
from jaxscope.worker.jaxscope_worker.wire.overflow import Overflow

NAME = "x64-truncation"
_SWITCH = "enable_x64"
_SAYS = "say-dtype"
_ENABLE = FixOffer("Enable x64 where the program starts", "enable-x64", "unsafe")


class X64Truncation(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "64-bit data meets JAX while `jax_enable_x64` is off"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Captured 64-bit arrays and requests for 64 bits, in a project that never enables them."""
        found = [] if model.x64 else _candidates(model, ctx)
        return [] if found and ctx.project.mentions(_SWITCH) else found

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """Nothing is truncated where the trace ran with x64 on; where it was off, that is certain."""
        settings: dict[str, set[bool]] = {}
        for traced in evidence.functions:
            if traced.x64 is not None:
                settings.setdefault(traced.function, set()).add(traced.x64)
        findings, refuted = _overflows(model, evidence), []
        for finding in _candidates(model, ctx):
            seen = settings.get(finding.function, set())
            known = finding in static
            if False in seen:
                message = finding.message.removesuffix(" (inferred)")
                fixes = tuple(replace(one, safety="safe") if one.kind == _SAYS else one for one in finding.fixes)
                by: Evidence = "both" if known else "traced"
                findings.append(replace(finding, message=message, evidence=by, fixes=fixes))
            elif seen == {True} and known:
                refuted.append(Refuted(finding, "traced with x64 on"))
            elif known:
                findings.append(finding)
        return Judgement(tuple(findings), tuple(refuted))


def _candidates(model: FileModel, ctx: Context) -> list[Finding]:
    """What is truncated if x64 is off."""
    return [*_captured(model, ctx), *_requested(model)]


def _captured(model: FileModel, ctx: Context) -> Iterator[Finding]:
    for capture in captures_of(model):
        wide = next(
            (array for _, array, _ in capture.leaves if array.library == "numpy" and _is_wide(array.dtype)), None
        )
        if wide is None or wide.dtype is None:
            continue
        bound = capture.at if capture.via == "numpy-made-inside" else capture.bound
        becomes = narrowing(ctx.project.evaluator, bound, wide.dtype)
        is_filled = wide.shape != () and 0 not in (wide.shape or ())
        perhaps = becomes.changes is None and wide.dtype.startswith(("float", "complex")) and is_filled
        if becomes.changes or perhaps:
            yield _of_capture(model, capture, wide.dtype, becomes)


def _is_wide(dtype: str | None) -> bool:
    return narrowed(dtype, False) != dtype


def _of_capture(model: FileModel, capture: Capture, dtype: str, becomes: Narrowed) -> Finding:
    function = model.function_of(capture.site.function).qualname
    level: Severity = "warning" if becomes.changes else "hint"
    narrow = narrowed(dtype, False)
    shown = f": {becomes.before} becomes {becomes.after}" if becomes.before else ""
    place = (capture.first or capture.at).place
    return Finding(
        NAME,
        level,
        place.path,
        place.range,
        function,
        capture.name,
        f"`{capture.name}` is {dtype}, and `{function}` gets {narrow} while x64 is off{shown} (inferred)",
        "static",
        array=ArrayFacts(None, narrow, None, source_dtype=dtype),
        via=capture.via,
        related=(related(capture.bound.place, "bound here"),) if capture.bound is not None else (),
        fixes=(_ENABLE,) if dtype != "float64" else (_say(narrow),) if capture.name.isidentifier() else (),
    )


def _say(dtype: str | None) -> FixOffer:
    """Safe once a trace shows that x64 is off: until then the environment may have it on."""
    return FixOffer(f"Say `{dtype}`, which JAX uses", _SAYS, "unsafe")


def _requested(model: FileModel) -> Iterator[Finding]:
    inside = {scope: code.site.function for code in traced_code_of(model) for scope in code.scopes}
    for request in wide_requests_of(model):
        place = Mark(request.scope.chunk, request.node).place
        traced = inside.get(request.scope)
        within = model.function_of(traced).qualname if traced is not None else request.scope.owner().qualname
        narrow = narrowed(request.dtype, False)
        yield Finding(
            NAME,
            "warning",
            place.path,
            place.range,
            within,
            _assigned(request) or model.module.source(place.range),
            f"{request.dtype} is asked for, and JAX gives {narrow} while x64 is off (inferred)",
            "static",
            array=ArrayFacts(None, narrow, None, source_dtype=request.dtype),
            fixes=(_say(narrow),),
        )


def _assigned(request: WideRequest) -> str:
    """The name that the call's result is given at once."""
    for name, bindings in request.scope.owner().bindings.items():
        if any(binding.value is request.node for binding in bindings):
            return name
    return ""


def _overflows(model: FileModel, evidence: TraceReply) -> list[Finding]:
    """Integers that wrapped around in the trace; each line once."""
    found: dict[int, Finding] = {}
    for traced in evidence.functions:
        for one in traced.overflows:
            is_new = one.place.path == model.path and one.place.line not in found
            if is_new and (finding := _of_overflow(model, traced.function, one)) is not None:
                found[one.place.line] = finding
    return list(found.values())


def _of_overflow(model: FileModel, function: str, one: Overflow) -> Finding | None:
    statement = _statement_at(model, one.place.line)
    value = getattr(statement, "value", None) or statement
    if value is None:
        return None
    place = _range(model, value)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = target.id if isinstance(target, ast.Name) else model.module.source(place)
    where = f" at [{', '.join(map(str, one.index))}]" if one.index else ""
    message = f"`{name}` does not fit into {one.dtype} while x64 is off: {one.before}{where} becomes {one.after}"
    inner = one.place.function
    return Finding(
        NAME,
        "warning",
        model.path,
        place,
        function,
        name,
        message,
        "traced",
        inner=inner if inner and inner != function else None,
        array=ArrayFacts(None, one.dtype, None),
        fixes=(_ENABLE,),
    )


def _statement_at(model: FileModel, line: int) -> ast.stmt | None:
    """The smallest statement around a line. Python 3.10 knows no columns, and they differ from one JAX to the next."""
    found = None
    for node in ast.walk(model.module.tree or ast.Module([], [])):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node
    return found


def _range(model: FileModel, node: ast.expr | ast.stmt) -> Range:
    lines = model.module.lines
    assert node.end_lineno is not None and node.end_col_offset is not None
    return Range(lines.from_utf8(node.lineno, node.col_offset), lines.from_utf8(node.end_lineno, node.end_col_offset))


RULE = X64Truncation()
