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
from jaxscope.rules.traced_places import Spot, also_read, spot_of
from jaxscope.semantics.model import FileModel, Function, squeezed
from jaxscope.text.figures import format_bytes, long_type
from jaxscope.tracing.evidence import is_recorded
from jaxscope.tracing.totals import passing
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, TracedFunction, TraceReply

READ = "read here too"
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
    arrays: dict[object, dict[int, Constant]] = field(default_factory=dict)
    """The arrays that programs of the function hold by the name of a constant, each once: two closures hold two."""

    def add(self, traced: TracedFunction, hidden: set[int]) -> None:
        self.traced.append(traced)
        alike: Counter[object] = Counter()
        for constant in traced.constants:
            if constant.key and constant.key in hidden:
                continue
            if traced.source == "guess" and constant.holder == "made":
                continue  # its size may follow from shapes that nobody has
            # A constant made anew for each signature has a new key and the same name; one program may have several of
            # that name: `self.w` of two layers.
            name = squeezed(constant.name) if constant.name else _without_name(constant)
            key = (name, alike[name])
            alike[name] += 1
            kept = self.constants.get(key)
            if kept is None or kept.bytes < constant.bytes:
                self.constants[key] = constant
            for source in constant.sources:
                self.arrays.setdefault(key, {}).setdefault(source, constant)

    def seen(self, constants: list[Constant], config: Config) -> _Seen | None:
        """The constants, if they are worth a finding: some one program must hold so much."""
        if not constants:
            return None
        seen = _Seen(constants)
        large = seen.largest.bytes >= config.threshold
        if not large and (len(constants) == 1 or seen.total < config.total_threshold):
            return None
        every: dict[object, Constant] = {}
        for key, kept in self.constants.items():
            if any(kept is one for one in constants):
                arrays = self.arrays.get(key) or {0: kept}
                every |= {(kept.name, source) if source else key: one for source, one in arrays.items()}
        return _Seen([one for one in every.values() if not large or one.bytes >= config.threshold or one in constants])


def merge(model: FileModel, claims: list[Claim], evidence: TraceReply, config: Config) -> Judgement:
    """The findings of one file after a trace of its present text."""
    groups = _groups(evidence)
    compiled = {(site.function.path, site.function.qualname, site.function.line) for site in model.traced}
    findings: list[Finding] = []
    refuted: list[Refuted] = []
    for (path, name, line), group in groups.items():
        own = [claim for claim in claims if _is_about(claim, path, name, line, groups)]
        claims = [claim for claim in claims if claim not in own]
        left = list(group.constants.values())
        before = len(findings)
        for claim, matches in _matched(own, left):
            seen = group.seen(matches, config)
            if seen is None and not matches and all(traced.source == "guess" for traced in group.traced):
                findings.append(claim.finding)  # under other arguments it may well be there
            elif seen is None:
                refuted.append(Refuted(claim.finding, _reason(claim, matches, group)))
            else:
                findings.append(_confirmed(model, claim, seen))
            left = [constant for constant in left if constant not in matches]
        if path == model.path:
            findings += _added(model, group, left, findings, config)
            findings += _small_ones(model, group, left, findings[before:], config)
        if not any(traced.jitted for traced in group.traced) and (path, name, line) not in compiled:
            findings[before:] = [_if_jitted(one) for one in findings[before:]]
        if all(map(is_recorded, group.traced)):
            findings[before:] = [replace(one, recorded=one.evidence != "static") for one in findings[before:]]
        if total := passing(group.traced, evidence):
            findings[before:] = [_with_total(finding, path, line, total) for finding in findings[before:]]
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
            if c.name is None or _is_read_in(c, claim.finding.inner or claim.finding.function)
        ]
        found[id(claim)] = alike if len(alike) == 1 else []
        taken.update(map(id, found[id(claim)]))
    for claim in claims:
        yield claim, found[id(claim)]


def _is_read_in(constant: Constant, function: str) -> bool:
    return any(frame.function == function for read in constant.reads for frame in read.frames)


def _same_name(claim: Claim, constant: Constant) -> bool:
    said, seen = squeezed(claim.finding.name), squeezed(constant.name or "")
    if claim.finding.via == _VIA["made"] and constant.holder == "made" and constant.bound is not None:
        return seen == said and constant.bound.line == claim.finding.range.start.line
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


def _confirmed(model: FileModel, claim: Claim, seen: _Seen) -> Finding:
    finding = claim.finding
    spot = Spot(finding.path, finding.range, finding.name, finding.inner or finding.function)
    known = {(one.path, one.line) for one in finding.related if one.message == READ}
    reads = tuple(one for one in _reads(model, seen, spot) if (one.path, one.line) not in known)
    return replace(
        finding,
        severity="warning",
        message=_message(finding.name, finding.function, seen),
        evidence="both",
        array=seen.facts,
        related=(*finding.related, *reads),
    )


def _reads(model: FileModel, seen: _Seen, spot: Spot) -> Iterator[Related]:
    for path, place in also_read(model, seen.constants, spot):
        end = place.end.column if place.end.line == place.start.line else 0
        yield Related(path, place.start.line, READ, place.start.column, end)


def _reason(claim: Claim, matches: list[Constant], group: _Group) -> str:
    finding = claim.finding
    traced = group.traced[0]
    signature = ", ".join(parameter.type for parameter in traced.parameters)
    how = "recorded" if is_recorded(traced) else "traced"
    if matches:
        seen = _Seen(matches)
        return (
            f"{how} with ({signature}), `{finding.name}` is {_type(seen)} of {format_bytes(seen.total)}: "
            "below the threshold"
        )
    return f"{how} with ({signature}), `{finding.function}` has no such constant"


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
    for name, parts in _containers(constants, config):
        seen = group.seen(parts, config)
        if seen is None:
            continue
        spot = spot_of(model, traced, seen.largest, name)
        read_lines = {(frame.path, frame.line) for read in seen.largest.reads for frame in read.frames[:1]}
        if seen.largest.name is None and read_lines & set(taken):
            continue  # what JAX made of a constant that is reported already, for the same operation
        yield _found(model, traced, seen, spot)


def _small_ones(
    model: FileModel, group: _Group, constants: list[Constant], known: list[Finding], config: Config
) -> Iterator[Finding]:
    """Arrays that nothing else reports, when they pass the limit for totals together."""
    names = [squeezed(finding.name) for finding in known]
    left = [c for c in constants if c.bytes < config.threshold and not _is_named(c, names)]
    if len({(c.name or "").partition("[")[0] for c in left}) < 2 or sum(c.bytes for c in left) < config.total_threshold:
        return
    seen, traced = _Seen(left), group.traced[0]
    one = seen.largest
    spot = spot_of(model, traced, one, one.name or "")
    found = _found(model, traced, seen, spot)
    others = f"`{spot.name}` and {len(left) - 1} other{'s' if len(left) > 2 else ''}"
    yield replace(
        found,
        message=f"{others} ({_type(seen)}, {format_bytes(seen.total)} together) are compiled into "
        f"`{traced.function}` as constants",
        fixes=(),
        refused="They have no name in common that could be passed as an argument.",
    )


def _is_named(constant: Constant, names: list[str]) -> bool:
    name = squeezed(constant.name or "")
    return any(name == known or name.startswith((known + "[", known + ".")) for known in names)


def _if_jitted(finding: Finding) -> Finding:
    """What was seen of a function that nothing is known to compile."""
    would = finding.message.replace("is compiled into", "would be compiled into").replace("are compiled", "would be")
    message = f"{would} if it were jitted: it was traced only because its shapes are declared"
    return replace(finding, severity="hint", message=message, fixes=())


def _with_total(finding: Finding, path: str, line: int, total: str) -> Finding:
    return replace(finding, related=(*finding.related, Related(path, line, total)))


def _containers(constants: list[Constant], config: Config) -> Iterator[tuple[str, list[Constant]]]:
    """Constants with what to call them: leaves of one container together when none of them is large by itself."""
    whole: dict[tuple[str, int], list[Constant]] = defaultdict(list)
    for constant in constants:
        name = _without_name(constant) if constant.name is None else constant.name.partition("[")[0]
        # A local that is bound anew is another array, with a place of its own.
        bound = constant.bound if constant.holder == "made" else None
        whole[name, bound.line if bound is not None else 0].append(constant)
    for (root, _), parts in whole.items():
        large = [part for part in parts if part.bytes >= config.threshold]
        if len(parts) == 1 or (len(large) == 1 and large[0].name):
            one = large[0] if large else parts[0]
            yield one.name or root, [one]
        else:
            yield root, parts


def _found(model: FileModel, traced: TracedFunction, seen: _Seen, spot: Spot) -> Finding:
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
        (*related, *_reads(model, seen, spot)),
        (FixOffer(f"Pass `{spot.name}` as an argument", "array-to-argument", "safe"),),
    )


def _without_name(constant: Constant) -> str:
    """Tells arrays without a name apart by what they are and where they are met; one line may make several."""
    place = constant.bound
    for read in constant.reads:
        place = place or next(iter(read.frames), None)
    at = (place.path, place.line, place.column) if place else None
    return f"{constant.shape} {constant.dtype} {at}"
