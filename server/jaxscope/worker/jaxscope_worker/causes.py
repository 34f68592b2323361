"""Why JAX traced a function again, in words: what differs from the nearest signature that it had already."""

from __future__ import annotations

import hashlib
import re
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from . import jax_compat, signatures

FIRST = "first call"
_KEPT = 64
"""Earlier signatures that are compared with."""
_SAID = 3
"""Differences that are told."""


@dataclass(frozen=True)
class Signature:
    """What JAX tells calls of a function apart by, as far as it can be read."""

    leaves: dict[str, str]
    """Path to aval: `params['w']` to `f32[8,8]`, or to `~f32[]` when it is weakly typed."""
    statics: dict[str, tuple[str, str]]
    """Name to repr and hash."""
    shardings: dict[str, str]
    donated: frozenset[str]
    keywords: frozenset[str] = frozenset()
    """Those that are passed by keyword."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal signatures."""
        leaves, statics = tuple(self.leaves.items()), tuple(self.statics.items())
        return leaves, statics, tuple(self.shardings.items()), self.donated, self.keywords


def signature_of(
    arguments: Sequence[tuple[str, Any, bool, bool]], keywords: Iterable[str], only_arrays: bool = False
) -> Signature:
    """Of the arguments of a call: name, value, static, donated; and the names of those passed by keyword.

    `only_arrays`: numbers and texts in them are static.
    """
    donated = frozenset(name for name, _, _, donated in arguments if donated)
    found = Signature({}, {}, {}, donated, frozenset(keywords))
    for name, value, static, _ in arguments:
        if static:
            found.statics[name] = (signatures.static_repr(value), _static_hash(value))
            continue
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            where = name + jax.tree_util.keystr(path)
            if only_arrays and type(leaf) in signatures.LITERALS:
                found.statics[where] = (signatures.static_repr(leaf), _static_hash(leaf))
                continue
            found.leaves[where] = signatures.short_tree(leaf)
            if jax_compat.is_array(leaf) and (sharding := jax_compat.sharding_of(leaf)):
                found.shardings[where] = sharding
    return found


def _static_hash(value: Any) -> str:
    """Equal for equal static values of this process; of plain values in every process."""
    if type(value) in signatures.LITERALS:
        return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    try:
        return f"{type(value).__name__}:{hash(value):x}"
    except Exception:
        return f"{type(value).__name__}:unhashable"


class Earlier:
    """The signatures that one function was traced under."""

    def __init__(self) -> None:
        self.signatures: deque[Signature] = deque(maxlen=_KEPT)
        self._last: Any = None
        """Weak reference to what was given to `jit` the last time."""

    def cause(self, now: Signature, fun: Any) -> str:
        """Why it is traced under `now`, which is then one of the earlier ones."""
        same_function = self._last is not None and self._last() is fun
        try:
            self._last = weakref.ref(fun)
        except TypeError:
            self._last = None
        if not self.signatures:
            said = FIRST
        else:
            nearest = min(reversed(self.signatures), key=lambda before: _distance(before, now))
            said = _said(_differences(nearest, now), same_function)
        if all(known.key != now.key for known in self.signatures):
            self.signatures.append(now)
        return said


def _said(differences: list[str], same_function: bool) -> str:
    if not differences and same_function:
        return "the same signature again: JAX's configuration or mesh is another, or its caches were cleared"
    if not differences:
        return "a new function object with the same signature"
    more = len(differences) - _SAID
    return "; ".join(differences[:_SAID]) + (f"; and {more} more" if more > 0 else "")


def _differences(before: Signature, now: Signature) -> list[str]:
    found = [f"{name} is not given any more" for name in sorted(_names(before) - _names(now))]
    found += [f"{name} is given as well" for name in sorted(_names(now) - _names(before))]
    for name, (text, digest) in now.statics.items():
        old = before.statics.get(name)
        if old is not None and old != (text, digest):
            how = f"{old[0]} → {text}" if old[0] != text else f"another {text}, not equal to the last"
            found.append(f"static {name}: {how}")
    for path, aval in now.leaves.items():
        if path in before.leaves:
            found += _leaf(path, before, now, aval)
    for name in sorted((before.keywords ^ now.keywords) & _given(before) & _given(now)):
        found.append(f"{name} is passed by {'keyword' if name in now.keywords else 'position'}")
    for name in sorted(before.donated ^ now.donated):
        found.append(f"{name} is {'donated' if name in now.donated else 'not donated any more'}")
    return found


def _distance(before: Signature, now: Signature) -> int:
    both = [(before.leaves[path], aval) for path, aval in now.leaves.items() if path in before.leaves]
    return len(_differences(before, now)) + sum(
        _dtype(old) != _dtype(new) and _shape(old) != _shape(new) for old, new in both
    )


def _dtype(aval: str) -> str:
    return aval.lstrip("~").partition("[")[0]


def _shape(aval: str) -> str:
    return aval.partition("[")[2]


def _leaf(path: str, before: Signature, now: Signature, aval: str) -> list[str]:
    old = before.leaves[path]
    if old.lstrip("~") == aval.lstrip("~") and old != aval:
        first, second = (one.lstrip("~") + " of a Python number" * one.startswith("~") for one in (old, aval))
        return [f"weak type of {path}: {first} → {second}"]
    if old != aval:
        kind = "shape" if _dtype(old) == _dtype(aval) else "type"
        return [f"new {kind} of {path}: {old} → {aval}"]
    if before.shardings.get(path) != now.shardings.get(path):
        one, other = (each.shardings.get(path, "one device") for each in (before, now))
        return [f"new sharding of {path}: {one} → {other}"]
    return []


def _given(signature: Signature) -> set[str]:
    """Names of the parameters."""
    return {*signature.statics, *(re.split(r"[.\[]", path, maxsplit=1)[0] for path in signature.leaves)}


def _names(signature: Signature) -> set[str]:
    return {*signature.leaves, *(f"static {name}" for name in signature.statics)}
