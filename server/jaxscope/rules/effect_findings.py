"""How effects of traced code are told: the place, the name, what belongs to it. Shared by the rules about them."""

from __future__ import annotations

from jaxscope.rules.finding import INFERRED, UNPARSED, Finding, FixOffer, Related, Severity, related
from jaxscope.semantics.effects.effects import Effect
from jaxscope.semantics.model import FileModel


def finding_of(
    model: FileModel, rule: str, effect: Effect, severity: Severity, message: str, fixes: tuple[FixOffer, ...] = ()
) -> Finding:
    """The finding at the place of an effect."""
    at = effect.at.place
    inner = model.function_of(effect.inner).qualname if effect.inner is not None else None
    stale = effect.at.chunk.broken
    return Finding(
        rule,
        severity,
        at.path,
        at.range,
        model.function_of(effect.site.function).qualname,
        effect.name,
        message + INFERRED,
        "static",
        inner,
        None,
        effect.how or None,
        related_of(effect),
        () if stale else fixes,
        UNPARSED if stale else None,
    )


def kept_outside(effect: Effect) -> tuple[FixOffer, ...]:
    """The fix for a traced value that is kept, where it can be one."""
    if effect.kind == "yield" or effect.stored != "tracer":
        return ()
    if effect.inner is not None and (effect.kind == "cache" or effect.guarded):
        return (FixOffer(f"Compute `{effect.inner.name}` at once while tracing", "return-state", "safe"),)
    offered = effect.inner is None and effect.sure
    return (FixOffer(f"Return the value, and keep `{effect.name}` outside", "return-state", "safe"),) if offered else ()


def related_of(effect: Effect) -> tuple[Related, ...]:
    """Where what is changed was made, and where it is handed to the function that changes it."""
    found = []
    if effect.bound is not None:
        found.append(related(effect.bound.place, "bound here"))
    if effect.through is not None:
        found.append(related(effect.through.place, "handed on here"))
    return tuple(found)


def function_of(model: FileModel, effect: Effect) -> str:
    """The compiled function, as messages call it."""
    name = model.function_of(effect.site.function).qualname
    return f"`{name}`"


def once_each(findings: list[Finding]) -> list[Finding]:
    """A helper that several compiled functions call has its effect at one place: it is told once."""
    kept: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.path, finding.range, finding.name), finding)
    return list(kept.values())
