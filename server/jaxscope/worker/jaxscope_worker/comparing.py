"""Are two results of one computation the same, as far as two compilations of it can be?"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from . import printing

RTOL = 1e-5
"""Relative to the largest value of an array. Another program adds in another order."""


def equal(before: Any, after: Any, results: str = "same") -> tuple[bool | None, str]:
    """Whether two trees of results are equal, and what differs, as far as `VerifyRequest.results` wants them so:
    `arrays` leaves out Python's truth values, which tell whether an array has been given away; `before` of `eager` has
    Python's numbers where compiled code gives arrays; of `types` only shapes and dtypes are, of `any` the structure;
    with `prints` more may be printed.

    None when they hold nothing, or something that cannot be compared and nothing that differs.
    """
    if isinstance(before, printing.Printed) and isinstance(after, printing.Printed):
        if results in ("types", "any"):
            return None, ""
        return printing.equal(before, after, more=results == "prints")
    left, tree = jax.tree_util.tree_flatten_with_path(before)
    right, other = jax.tree_util.tree_flatten_with_path(after)
    if [path for path, _ in left] != [path for path, _ in right] or tree != other:
        return False, "has another structure"
    all_known = bool(left)
    for (path, a), (_, b) in zip(left, right, strict=True):
        if results == "any" or (results == "arrays" and isinstance(a, bool) and isinstance(b, bool)):
            continue
        if results == "eager" and type(a) in (int, float, complex) and isinstance(b, jax.Array):
            a = np.asarray(a, b.dtype)
        same, how = _leaf(a, b, numbers=results != "types")
        if same is False:
            at = jax.tree_util.keystr(path)
            return False, f"{how} at {at}" if at else how
        all_known = all_known and same is True
    return True if all_known else None, ""


def moved(before: Any, after: Any, eager: Any) -> tuple[bool | None, str]:
    """Is each result after a change what it was or, where that was out of date, what nothing compiled gives; and is
    some of what was out of date right now? Another value may still be out of date, which is not this change's fault.
    """
    texts = [each for each in (before, after, eager) if isinstance(each, printing.Printed)]
    if len(texts) == 3:
        return printing.moved(*texts)
    old, tree = jax.tree_util.tree_flatten_with_path(before)
    new, other = jax.tree_util.tree_flatten_with_path(after)
    right, third = jax.tree_util.tree_flatten_with_path(eager)
    if tree != other or tree != third:
        return False, "has another structure"
    behind = better = False
    for (path, a), (_, b), (_, c) in zip(old, new, right, strict=True):
        fits = equal([c], [b], "eager")[0] is not False
        stays, how = equal([a], [b])
        if not fits and stays is False:
            return False, f"{how} at {jax.tree_util.keystr(path)}"
        if equal([c], [a], "eager")[0] is False:
            behind, better = True, better or fits
    return (True, "") if better or not behind else (False, "is still what it was, and not what it is without `jit`")


def identical(a: Any, b: Any) -> bool:
    """Do two arrays hold the same, to the last bit?"""
    left, right = _values(a), _values(b)
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return left.tobytes() == right.tobytes()


def _leaf(a: Any, b: Any, *, numbers: bool = True) -> tuple[bool | None, str]:
    if isinstance(a, (str, bytes, bool)) or isinstance(b, (str, bytes, bool)):
        return (True, "") if type(a) is type(b) and (a == b or not numbers) else (False, "differs")
    try:
        left, right = _values(a), _values(b)
    except (TypeError, ValueError, RuntimeError):  # an object of the user's, or an array that was donated away
        return None, ""
    if left.dtype.kind == "O" or right.dtype.kind == "O":
        return None, ""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False, f"changes from {left.dtype}{list(left.shape)} to {right.dtype}{list(right.shape)}"
    return _arrays(left, right) if numbers else (True, "")


def _values(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def _arrays(left: np.ndarray, right: np.ndarray) -> tuple[bool, str]:
    if not jax.numpy.issubdtype(left.dtype, np.inexact):
        return (True, "") if np.array_equal(left, right) else (False, "has other values")
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    a, b = left.astype(wide), right.astype(wide)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return False, "has NaN in other places"
    with np.errstate(invalid="ignore"):
        off = ~((a == b) | np.isnan(a))
        if not off.any():
            return True, ""
        finite = np.abs(a[np.isfinite(a)])
        largest = float(finite.max()) if finite.size else 0.0
        gap = np.abs(a - b)[off].max()
    tolerance = max(RTOL, 8 * float(jax.numpy.finfo(left.dtype).eps)) * largest
    return bool(gap <= tolerance), f"is off by up to {gap:.3g}, its largest value being {largest:.3g}"
