"""An array becomes a constant of a compiled function.

## What it says

A function that JAX compiles reads an array that is not one of its arguments: a module global, a variable of an
enclosing function, an attribute of a static or bound `self`, a `partial` argument, a default, a field of a static
argument or of an object, or a NumPy result made while the function is traced. Its elements become part of the program.

## Why it matters

The constant is written into the program that is lowered, optimised and kept. On JAX 0.10.2 a captured array of 1 GiB
took 4 to 34 s longer to compile and up to 9 GiB more memory than the same array as an argument; XLA may spend minutes
folding it. It is copied into every program that captures it, it loses its sharding, and later changes of the variable
are never seen.

## Example

```python
W = jnp.asarray(np.random.default_rng(0).random((768, 3072), dtype=np.float32))

@jax.jit
def block(x):
    return jnp.tanh(x @ W)
```

## Use instead

```python
@jax.jit
def block(x, W):
    return jnp.tanh(x @ W)

block(x, W)
```

A table that NumPy makes while the function is traced is cheaper made with `jax.numpy`, which computes it on the device.

## Fix safety

The fix passes the array as an argument: the definition, every call and the options of the transforms in between change
together. It is refused, with the reason, where a call cannot be found. With tracing it is verified before it is
written: the constant is gone, and output shapes, dtypes and values are the same.

## Limits

Without a trace, sizes are known only where they follow from the source; an array of unknown size is a hint. Layers of
Equinox and flax.nnx tell them; the variables of flax.linen and Haiku are of unknown size. Arrays
below `captured-threshold` (1 MiB) are not reported, nor containers below `captured-total-threshold` in all. Arrays
that `jax.numpy` makes inside the function are computed by the program and are no constants. Uses of `.shape`, `.dtype`
and the like capture nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from jaxscope.config import Config
from jaxscope.rules import traced_constants, traced_settings
from jaxscope.rules.base import Context, Judgement, Rule
from jaxscope.rules.finding import UNPARSED, ArrayFacts, Finding, FixOffer, Related, related
from jaxscope.rules.traced_constants import Claim
from jaxscope.semantics.captured.capture import Capture
from jaxscope.semantics.captured.captures import captures_of
from jaxscope.semantics.evaluation.arrays import most_bytes, size_bytes
from jaxscope.semantics.evaluation.dtypes import narrowed
from jaxscope.semantics.evaluation.values import Array
from jaxscope.semantics.model import FileModel, Place, squeezed
from jaxscope.text.figures import format_bytes
from jaxscope.worker.jaxscope_worker.wire.messages import TraceReply

NAME = "captured-array"


class CapturedArray(Rule):
    """See the module's docstring."""

    name = NAME
    summary = "An array becomes a constant of a compiled function"

    def static(self, model: FileModel, ctx: Context) -> list[Finding]:
        """Captures that follow from the source."""
        return [claim.finding for claim in _claims(model, ctx.config)]

    def traced(self, model: FileModel, static: list[Finding], evidence: TraceReply, ctx: Context) -> Judgement:
        """Captures as the trace saw them."""
        wanted = set(static)
        claims = [claim for claim in _claims(model, ctx.config) if claim.finding in wanted]
        return traced_settings.told(traced_constants.merge(model, claims, evidence, ctx.config), evidence)


@dataclass(slots=True)
class _Size:
    """Leaves of one captured value."""

    largest: Array
    bytes: int | None
    count: int | None
    total: int | None
    unknown: bool
    """Is the size of some leaf, or their number, not known?"""


def _size(leaves: Iterable[tuple[str, Array, int | None]], x64: bool, least: int) -> _Size:
    """What is known of the leaves; of a leaf that is below `least` whatever its dtype, that is enough."""
    largest: tuple[int, Array] | None = None
    first, count, total, unknown = None, 0, 0, False
    for _, array, many in leaves:
        first = first or array
        one = size_bytes(array, x64)
        small = one is None and (most_bytes(array) or least) < least
        unknown = unknown or (one is None and not small) or (many is None and array.shape != ())
        count += many or 1
        total += (one or 0) * (many or 1)
        if one is not None and (largest is None or one > largest[0]):
            largest = (one, array)
    assert first is not None
    known = None if unknown else count
    if largest is None:
        return _Size(first, None, known, None, unknown)
    return _Size(largest[1], largest[0], known, None if unknown else total, unknown)


def _of_unknown_size(capture: Capture) -> _Size:
    """Nothing is said of the leaves of a container of which some are known and small."""
    array = capture.leaves[0][1]
    return _Size(Array(None, None, array.library) if capture.container else array, None, None, None, True)


def _claims(model: FileModel, config: Config) -> list[Claim]:
    found: list[Claim] = []
    containers: dict[tuple[int, str], list[Capture]] = {}
    least = min(config.threshold, config.total_threshold)
    for capture in captures_of(model):
        size = _size(capture.leaves, model.x64, least)
        if _over(size, config):
            found.append(_claim(model, capture, size))
        elif size.unknown:
            if capture.via != "numpy-made-inside":
                found.append(_claim(model, capture, _of_unknown_size(capture)))
        elif capture.part_of is not None:
            containers.setdefault((id(capture.site), capture.part_of[0]), []).append(capture)
    for parts in containers.values():
        size = _size([leaf for part in parts for leaf in part.leaves], model.x64, least)
        if len(parts) > 1 and _over(size, config):
            found.append(_claim(model, _whole(parts), size))
    return _each_array_once(found)


def _each_array_once(claims: list[Claim]) -> list[Claim]:
    """`TABLES[1]` where all of `TABLES` is captured as well is no other array: the one finding names both places."""
    parts: dict[int, list[Claim]] = {}
    containers = [claim for claim in claims if claim.container]
    for part in claims:
        whole = next((whole for whole in containers if _has_part(whole, part)), None)
        if whole is not None:
            parts.setdefault(id(whole), []).append(part)
    left_out = {id(part) for group in parts.values() for part in group}
    return [_with_reads(claim, parts.get(id(claim), [])) for claim in claims if id(claim) not in left_out]


def _with_reads(claim: Claim, parts: list[Claim]) -> Claim:
    also = [_read(part.finding) for part in parts]
    if not also:
        return claim
    related = tuple(dict.fromkeys((*claim.finding.related, *also)))
    return replace(claim, finding=replace(claim.finding, related=related))


def _has_part(whole: Claim, part: Claim) -> bool:
    if whole is part or whole.function is not part.function:
        return False
    if whole.finding.severity == "hint" and part.finding.severity != "hint":
        return False
    return squeezed(part.finding.name).startswith(
        (squeezed(whole.finding.name) + "[", squeezed(whole.finding.name) + ".")
    )


def _read(finding: Finding) -> Related:
    return related(Place(finding.path, finding.range), "read here too")


def _over(size: _Size, config: Config) -> bool:
    if size.bytes is not None and size.bytes >= config.threshold:
        return True
    return size.total is not None and (size.count or 1) > 1 and size.total >= config.total_threshold


def _whole(parts: list[Capture]) -> Capture:
    """The container of which several known parts are captured."""
    first = min(parts, key=lambda part: (part.at.place.path, part.at.place.range))
    assert first.part_of is not None
    name, at = first.part_of
    also = [mark for part in parts if part is not first for mark in (part.at, *part.also)]
    return replace(first, name=name, at=at, container=True, also=also)


def _claim(model: FileModel, capture: Capture, size: _Size) -> Claim:
    many = capture.container
    known = size.bytes is not None and not (size.unknown and many and size.bytes == 0)
    array, function = size.largest, model.function_of(capture.site.function)
    dtype = narrowed(array.dtype, model.x64)
    shape = None
    if array.shape is not None and all(side is not None for side in array.shape):
        shape = tuple(side for side in array.shape if side is not None)
    facts = ArrayFacts(
        shape, dtype, size.bytes, size.count or 1, size.total if many else size.bytes, None, array.source or array.dtype
    )
    via = "module-global-container" if many and capture.via == "module-global" else capture.via
    inner = model.function_of(capture.inner).qualname if capture.inner is not None else None
    at = capture.at.place
    finding = Finding(
        NAME,
        "warning" if known else "hint",
        at.path,
        at.range,
        function.qualname,
        capture.name,
        _message(capture.name, function.qualname, size, many, known),
        "static",
        inner,
        facts,
        via,
        _related(capture),
        () if capture.stale else (FixOffer(f"Pass `{capture.name}` as an argument", "array-to-argument", "safe"),),
        UNPARSED if capture.stale else None,
    )
    return Claim(finding, function, many)


def _message(name: str, function: str, size: _Size, many: bool, known: bool) -> str:
    if not known:
        return f"`{name}` may be compiled into `{function}` as a constant (inferred; size not known)"
    if many and size.count is not None and size.count > 1 and size.total is not None:
        total = format_bytes(size.total)
        return (
            f"`{name}` looks like {size.count} arrays of {total} together that `{function}` will compile in as "
            "constants (inferred)"
        )
    shown = format_bytes(size.bytes or 0)
    if many and size.count is None:
        return (
            f"`{name}` looks like arrays, the largest known of {shown}, that `{function}` will compile in as constants "
            "(inferred; total not known)"
        )
    return f"`{name}` looks like an array of {shown} that `{function}` will compile in as a constant (inferred)"


def _related(capture: Capture) -> tuple[Related, ...]:
    found = []
    if capture.bound is not None:
        found.append(related(capture.bound.place, "bound here"))
    places = sorted((mark.place for mark in capture.also), key=lambda place: (place.path, place.range))
    found += [related(place, "read here too") for place in places]
    return tuple(found)


RULE = CapturedArray()
