"""Brings together what the source suggests about captured arrays and what a trace saw.

A constant that the trace saw confirms a static finding of the same function and name, and its figures win; a static
finding of a function that was traced without such a constant is refuted; what only the trace saw is added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from jaxscope.config import Config
from jaxscope.rules.base import Judgement
from jaxscope.rules.finding import ArrayFacts, Finding, FixOffer, Refuted, Related
from jaxscope.rules.traced_places import Spot, spot_of
from jaxscope.semantics.model import FileModel, Function, squeezed
from jaxscope.text.figures import format_bytes, long_type
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, TracedFunction, TraceReply

_VIA = {
    "global": "module-global",
    "closure": "enclosing-scope",
    "self": "static-self-attribute",
    "partial": "functools.partial",
    "default": "default-argument",
    "static": "static-argument",
    "callable": "jitted-callable-object",
    "module": "module-attribute",
    "made": "numpy-made-inside",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A static finding with what is needed to compare it with a trace."""

    finding: Finding
    function: Function
    """The compiled function."""
    container: bool
    """Is it about a container of arrays?"""


@dataclass(slots=True)
class _Group:
    """One function of the user's under all signatures that were traced."""

    traced: list[TracedFunction] = field(default_factory=list)
    constants: dict[object, Constant] = field(default_factory=dict)

    def add(self, traced: TracedFunction, hidden: set[int]) -> None:
        self.traced.append(traced)
        alike: Counter[object] = Counter()
        for constant in traced.constants:
            if constant.key and constant.key in hidden:
                continue
            # A constant made anew for each signature has a new key and the same name; one program may have several of
            # that name: `self.w` of two layers.
            if traced.source == "guess" and constant.holder == "made":
                continue  # its size may follow from shapes that nobody has
            name: object = squeezed(constant.name) if constant.name else None
            name = name or (constant.shape, constant.dtype, _first_place(constant))
            key = (name, alike[name])
            alike[name] += 1
            kept = self.constants.get(key)
            if kept is None or kept.bytes < constant.bytes:
                self.constants[key] = constant


def merge(model: FileModel, claims: list[Claim], evidence: TraceReply, config: Config) -> Judgement:
    """The findings of one file after a trace of its present text."""
    groups = _groups(evidence)
    findings: list[Finding] = []
    refuted: list[Refuted] = []
    for (path, name, line), group in groups.items():
        own = [claim for claim in claims if _is_about(claim, path, name, line, groups)]
        claims = [claim for claim in claims if claim not in own]
        left = list(group.constants.values())
        for claim, matches in _matched(own, left):
            seen = _seen(matches, config)
            if seen is None and not matches and all(traced.source == "guess" for traced in group.traced):
                findings.append(claim.finding)  # under other arguments it may well be there
            elif seen is None:
                refuted.append(Refuted(claim.finding, _reason(claim, matches, group)))
            else:
                findings.append(_confirmed(claim, seen))
            left = [constant for constant in left if constant not in matches]
        if path == model.path:
            findings += _added(model, group, left, findings, config)
    findings += [claim.finding for claim in claims]
    return Judgement(tuple(findings), tuple(refuted))


def _groups(evidence: TraceReply) -> dict[tuple[str, str, int], _Group]:
    """Constants by function; one that a function only has through another traced one counts for the inner one."""
    inside: dict[str, set[int]] = defaultdict(set)
    parents = {traced.id: traced.under for traced in evidence.functions}
    for traced in evidence.functions:
        at = traced.under
        while at is not None:
            inside[at] |= {constant.key for constant in traced.constants}
            at = parents.get(at)
    found: dict[tuple[str, str, int], _Group] = {}
    for traced in evidence.functions:
        group = found.setdefault((traced.path, traced.function, traced.line), _Group())
        group.add(traced, inside[traced.id])
    return found


def _is_about(claim: Claim, path: str, name: str, line: int, groups: dict[tuple[str, str, int], _Group]) -> bool:
    function = claim.function
    if (function.path, function.qualname) != (path, name):
        return False
    alike = [at for other, qualname, at in groups if (other, qualname) == (path, name)]
    if function.line in alike:
        return line == function.line
    return len(alike) == 1


# ---------------------------------------------------------------- matching


def _matched(claims: list[Claim], constants: list[Constant]) -> Iterator[tuple[Claim, list[Constant]]]:
    """Each claim with the constants that it is about: by name, else by being the only one of that type."""
    taken: set[int] = set()
    waiting: list[Claim] = []
    found: dict[int, list[Constant]] = {}
    for claim in sorted(claims, key=lambda claim: -len(claim.finding.name)):
        matches = [c for c in constants if id(c) not in taken and c.name and _same_name(claim, c)]
        taken.update(map(id, matches))
        if matches:
            found[id(claim)] = matches
        else:
            waiting.append(claim)
    for claim in waiting:
        array = claim.finding.array
        alike = [
            c
            for c in constants
            if id(c) not in taken and array is not None and (array.shape, array.dtype) == (c.shape, c.dtype)
        ]
        found[id(claim)] = alike if len(alike) == 1 else []
        taken.update(map(id, found[id(claim)]))
    for claim in claims:
        yield claim, found[id(claim)]


def _same_name(claim: Claim, constant: Constant) -> bool:
    said, seen = squeezed(claim.finding.name), squeezed(constant.name or "")
    if claim.finding.via == "jitted-callable-object":
        # The trace names it from inside, `self.w`; the source from where the object is jitted, `layer.w`.
        said, seen = _after_root(said), _after_root(seen)
    if claim.container:
        return seen == said or seen.startswith((said + "[", said + "."))
    return seen == said


def _after_root(name: str) -> str:
    return name.partition(".")[2]


@dataclass(slots=True)
class _Seen:
    """Constants that belong together."""

    constants: list[Constant]

    @property
    def largest(self) -> Constant:
        return max(self.constants, key=lambda constant: constant.bytes)

    @property
    def total(self) -> int:
        return sum(constant.bytes for constant in self.constants)

    @property
    def facts(self) -> ArrayFacts:
        one = self.largest
        count = len(self.constants)
        return ArrayFacts(
            one.shape, one.dtype, one.bytes, count, self.total, one.sharding, one.source_dtype or one.dtype
        )


def _seen(constants: list[Constant], config: Config) -> _Seen | None:
    """The constants, if they are worth a finding."""
    if not constants:
        return None
    seen = _Seen(constants)
    large = seen.largest.bytes >= config.threshold
    return seen if large or (len(constants) > 1 and seen.total >= config.total_threshold) else None


def _confirmed(claim: Claim, seen: _Seen) -> Finding:
    finding = claim.finding
    return replace(
        finding,
        severity="warning",
        message=_message(finding.name, finding.function, seen),
        evidence="both",
        array=seen.facts,
    )


def _reason(claim: Claim, matches: list[Constant], group: _Group) -> str:
    finding = claim.finding
    signature = ", ".join(parameter.type for parameter in group.traced[0].parameters)
    if matches:
        seen = _Seen(matches)
        return (
            f"traced with ({signature}), `{finding.name}` is {_type(seen)} of {format_bytes(seen.total)}: "
            "below the threshold"
        )
    return f"traced with ({signature}), `{finding.function}` has no such constant"


def _type(seen: _Seen) -> str:
    if len(seen.constants) > 1:
        return f"{len(seen.constants)} arrays"
    return long_type(seen.largest.dtype, seen.largest.shape)


def _message(name: str, function: str, seen: _Seen) -> str:
    if len(seen.constants) > 1:
        return (
            f"`{name}` ({len(seen.constants)} arrays, {format_bytes(seen.total)} together) "
            f"is compiled into `{function}` as constants"
        )
    size = format_bytes(seen.largest.bytes)
    return f"`{name}` ({_type(seen)}, {size}) is compiled into `{function}` as a constant"


# ---------------------------------------------------------------- what only the trace saw


def _added(
    model: FileModel, group: _Group, constants: list[Constant], known: Iterable[Finding], config: Config
) -> Iterator[Finding]:
    traced = group.traced[0]
    taken = [(finding.path, finding.range.start.line) for finding in known if finding.function == traced.function]
    for name, parts in _containers(constants, config).items():
        seen = _seen(parts, config)
        if seen is None:
            continue
        spot = spot_of(model, traced, seen.largest, name)
        read_lines = {(frame.path, frame.line) for read in seen.largest.reads for frame in read.frames[:1]}
        if seen.largest.name is None and read_lines & set(taken):
            continue  # what JAX made of a constant that is reported already, for the same operation
        yield _found(traced, seen, spot)


def _containers(constants: list[Constant], config: Config) -> dict[str, list[Constant]]:
    """Constants by what to call them: leaves of one container together when none of them is large by itself."""
    whole: dict[str, list[Constant]] = defaultdict(list)
    for number, constant in enumerate(constants):
        whole[(constant.name or f"#{number}").partition("[")[0]].append(constant)
    found: dict[str, list[Constant]] = {}
    for root, parts in whole.items():
        large = [part for part in parts if part.bytes >= config.threshold]
        if len(parts) == 1 or (len(large) == 1 and large[0].name):
            one = large[0] if large else parts[0]
            found[one.name or root] = [one]
        else:
            found[root] = parts
    return found


def _found(traced: TracedFunction, seen: _Seen, spot: Spot) -> Finding:
    one = seen.largest
    related: tuple[Related, ...] = ()
    if one.bound is not None and (one.bound.path, one.bound.line) != (spot.path, spot.range.start.line):
        related = (Related(one.bound.path, one.bound.line, "bound here"),)
    elif spot.bound is not None:
        place = spot.bound.range
        related = (Related(spot.bound.path, place.start.line, "bound here", place.start.column, place.end.column),)
    return Finding(
        "captured-array",
        "warning",
        spot.path,
        spot.range,
        traced.function,
        spot.name,
        _message(spot.name, traced.function, seen),
        "traced",
        None if spot.function == traced.function else spot.function or None,
        seen.facts,
        _VIA.get(one.holder, one.holder),
        related,
        (FixOffer(f"Pass `{spot.name}` as an argument", "array-to-argument", "safe"),),
    )


def _first_place(constant: Constant) -> object:
    place = constant.bound
    for read in constant.reads:
        place = place or next(iter(read.frames), None)
    return None if place is None else (place.path, place.line, place.column)
