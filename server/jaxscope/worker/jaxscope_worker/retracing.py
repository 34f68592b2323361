"""A jitted call without its arrays, so that it can be traced again."""

from __future__ import annotations

import dataclasses
import time
from types import MethodType
from typing import Any

import jax

from . import jax_compat
from .hoisting import spread_sharding
from .jax_compat import JitCall


def without_values(call: JitCall) -> JitCall:
    """`call` with shapes in place of arrays; static values stay. Arrays must not outlive the call.

    Trees of the user's own classes are rebuilt for it; one that cannot be leaves a call without arguments.
    """
    count, names = len(call.args), call.static_argnames
    static = {number % count for number in call.static_argnums if -count <= number < count}
    try:
        args = tuple(value if i in static else _shapes(value) for i, value in enumerate(call.args))
        kwargs = {name: value if name in names else _shapes(value) for name, value in call.kwargs.items()}
    except Exception:
        args, kwargs = (), {}
    return dataclasses.replace(call, fun=_another(call.fun), args=args, kwargs=kwargs)


def _another(fun: Any) -> Any:
    """`fun`; of a bound method another object. JAX forgets what it traced once the one that it was given is gone."""
    return MethodType(fun.__func__, fun.__self__) if isinstance(fun, MethodType) else fun


def _shapes(value: Any) -> Any:
    return jax.tree_util.tree_map(_shape, value)


def _shape(leaf: Any) -> Any:
    if jax_compat.is_weak(leaf):
        return jax_compat.weak_struct(leaf.shape, leaf.dtype)
    if jax_compat.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=spread_sharding(leaf))
    if jax_compat.is_tracer(leaf) or hasattr(leaf, "aval"):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    return leaf


def shardings(call: JitCall) -> list[Any]:
    """How each array argument is spread, in the order of the traced program's arguments; None for one device."""
    count, names = len(call.args), call.static_argnames
    static = {number % count for number in call.static_argnums if -count <= number < count}
    dynamic = (
        [value for i, value in enumerate(call.args) if i not in static],
        {name: value for name, value in call.kwargs.items() if name not in names},
    )
    return [spread_sharding(leaf) for leaf in jax.tree_util.tree_leaves(dynamic)]


def seconds(call: JitCall) -> float:
    """How long it takes to trace it. Raises whatever the function raises."""
    jitted = _forgotten(call)
    started = time.perf_counter()
    jitted.trace(*call.args, **call.kwargs)
    return time.perf_counter() - started


def program(call: JitCall) -> Any:
    """The closed jaxpr of a new trace. Raises whatever the function raises."""
    return _forgotten(call).trace(*call.args, **call.kwargs).jaxpr


def _forgotten(call: JitCall) -> Any:
    """Its function, jitted as if for the first time: JAX has forgotten it, and the functions inside it."""
    options: dict[str, Any] = {"static_argnums": call.static_argnums or None}
    if call.static_argnames:
        options["static_argnames"] = call.static_argnames
    jax.clear_caches()
    return jax.jit(call.fun, **options)
