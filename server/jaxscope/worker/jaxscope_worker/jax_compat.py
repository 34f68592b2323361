"""Everything that touches JAX's private parts. Works with 0.4.30 to 0.12; what a version lacks is left out.

Two places of JAX are watched. `_infer_params` is what every jitted call goes through when its signature is new: it has
the function, the arguments and, once it returns, the jaxpr that JAX itself traced, so nothing is traced twice.
`DynamicJaxprTrace._new_const` is where a trace meets a concrete array, while the frames that hold it are running.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Protocol

import jax
import numpy as np
from jax._src import core, pjit, traceback_util, xla_bridge
from jax._src.interpreters import partial_eval, pxla
from jax.extend import source_info_util

from .wire.recording import Devices

source_info_util.register_exclusion(os.path.dirname(__file__))  # else JAX writes our lines into the user's programs
traceback_util.register_exclusion(__file__)  # else tracebacks show our frames


@dataclass(frozen=True)
class JitCall:
    """One call that reached `_infer_params`."""

    fun: Any
    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    only_arrays: bool = False
    """Python numbers in the arguments are static too."""


@dataclass(frozen=True)
class Inferred:
    """What `_infer_params` made of it."""

    params: dict[str, Any]
    """Parameters of the jit equation; `jaxpr` is among them."""
    outer_tracers: int


class Observer(Protocol):
    """Who is told of traces. Neither method may raise."""

    def begin(self, call: JitCall, caller: FrameType) -> Any:
        """A jitted call; returns something for `end`, or None to hear no more of it."""

    def end(self, token: Any, inferred: Inferred | None, error: BaseException | None) -> None:
        """It has its jaxpr, or failed."""

    def constant(self, value: Any, frame: FrameType) -> None:
        """A running trace met a concrete array."""


_observer: Observer | None = None


def observe(observer: Observer | None) -> None:
    """Sets who is told; None for nobody."""
    global _observer
    _observer = observer


def _observed(*call: Any) -> Any:
    """Stands in for `_infer_params`: (info, args, kwargs) up to 0.4.30, (fun, info, args, kwargs) since."""
    observer = _observer
    if observer is None:
        return _infer_params(*call)
    fun, info = (call[0].fun, call[0]) if len(call) == 3 else call[:2]
    jit_call = JitCall(
        fun,
        tuple(info.static_argnums),
        tuple(info.static_argnames),
        tuple(info.donate_argnums),
        tuple(info.donate_argnames),
        call[-2],
        call[-1],
    )
    token = observer.begin(jit_call, sys._getframe(1))
    if token is None:
        return _infer_params(*call)
    return _user_trace(observer, token, _infer_params, call, _inferred)


def _inferred(result: Any) -> Inferred:
    first = result[0]
    if hasattr(first, "params"):
        return Inferred(first.params, len(getattr(first, "consts", ())))
    return Inferred(result[1], result[7])


def _observed_pmap(info: Any, fun: Any) -> Any:
    """Stands in for the tracing of `pmap` up to 0.9; later ones go through `_infer_params`."""
    observer = _observer
    avals = tuple(getattr(info, "avals", ()))
    call = JitCall(getattr(fun, "f", None), (), (), (), (), avals, {})
    token = observer.begin(call, sys._getframe(1)) if observer is not None else None
    if observer is None or token is None:
        return _stage_pmap(info, fun)
    return _user_trace(observer, token, _stage_pmap, (info, fun), _staged)


def _staged(result: Any) -> Inferred:
    # pmap drops no dead code before it lowers.
    return Inferred({"jaxpr": core.ClosedJaxpr(result[0], result[1]), "keep_unused": True}, 0)


def _user_trace(
    observer: Observer, token: Any, function: Any, call: tuple[Any, ...], inferred: Callable[[Any], Inferred]
) -> Any:
    try:
        result = function(*call)
    except BaseException as error:
        observer.end(token, None, error)
        raise
    try:
        seen = inferred(result)
    except Exception:  # another JAX, another result: the user's call goes on unwatched
        traceback.print_exc()
        seen = None
    observer.end(token, seen, None)
    return result


BOUNDARIES: frozenset[CodeType] = frozenset({_observed.__code__, _user_trace.__code__})
"""Frames of these lie between a jitted function's body and its call."""

USER_BOUNDARY: CodeType = _user_trace.__code__
"""The same, only for functions that are the observer's business."""


def _observed_constant(self: Any, aval: Any, value: Any, *rest: Any, **named: Any) -> Any:
    tracer = _new_const(self, aval, value, *rest, **named)
    if _observer is not None and getattr(value, "shape", ()) and not isinstance(value, core.Tracer):
        _observer.constant(value, sys._getframe(1))
    return tracer


_infer_params: Callable[..., Any] | None = getattr(pjit, "_infer_params", None)
if _infer_params is not None:
    pjit._infer_params = _observed

_stage_pmap: Callable[..., Any] | None = getattr(pxla, "stage_parallel_callable", None)
if _stage_pmap is not None:
    pxla.stage_parallel_callable = _observed_pmap

_dynamic_trace = getattr(partial_eval, "DynamicJaxprTrace", None)
_new_const: Callable[..., Any] | None = getattr(_dynamic_trace, "_new_const", None)
if _new_const is not None:
    _dynamic_trace._new_const = _observed_constant  # type: ignore[union-attr]


NOT_COMPILED = frozenset({"eval_shape", "jit_eval_shape", "make_jaxpr_f"})
"""Functions of JAX that trace only to look."""


def is_tracer(value: Any) -> bool:
    """Is it a value of a running trace?"""
    return isinstance(value, core.Tracer)


def is_array(value: Any) -> bool:
    """Is it a concrete array, of NumPy or of JAX?"""
    return isinstance(value, (np.ndarray, jax.Array)) and not isinstance(value, core.Tracer)


def unwrapped(value: Any) -> Any:
    """A constant of a jaxpr without the wrapper that JAX put around host arrays (0.7 on)."""
    if type(value).__name__ in ("LiteralArray", "TypedNdArray"):
        return getattr(value, "val", value)
    return value


def without_dead_code(closed: Any) -> Any:
    """The closed jaxpr as JAX lowers it, without the equations and constants that it has no use for."""
    inner = closed.jaxpr if hasattr(closed, "jaxpr") else closed
    if not hasattr(partial_eval, "dce_jaxpr_consts"):
        return closed
    left, used, _ = partial_eval.dce_jaxpr_consts(inner, [True] * len(inner.outvars))
    if hasattr(left, "consts"):
        return left
    return core.ClosedJaxpr(left, [const for const, is_used in zip(closed.consts, used, strict=True) if is_used])


def printed(jaxpr: Any) -> tuple[str, dict[Any, str]]:
    """The text of a closed jaxpr, and the names that its variables have in it. No array is printed."""
    inner = jaxpr.jaxpr if hasattr(jaxpr, "jaxpr") else jaxpr
    with np.printoptions(threshold=8, edgeitems=2):
        if not (hasattr(core, "pp_jaxpr") and hasattr(core, "JaxprPpContext") and hasattr(core, "JaxprPpSettings")):
            return str(inner), {}
        context, settings = core.JaxprPpContext(), core.JaxprPpSettings()
        text = str(core.pp_jaxpr(inner, context, settings))
        return text, dict(context.var_names)


def variable(names: dict[Any, str], var: Any) -> str:
    """Name of a variable in the printed jaxpr; empty when it is not in there."""
    name = names.get(var, "")
    return f"{name}{getattr(var, 'suffix', '') or ''}" if name else ""


def raw_frames(eqn: Any) -> list[tuple[CodeType, int]]:
    """Code and instruction of every frame that led to an equation, innermost first."""
    trace = getattr(getattr(eqn, "source_info", None), "traceback", None)
    if trace is None:
        return []
    try:
        codes, instructions = trace.raw_frames()
    except Exception:
        return []
    return list(zip(codes, instructions, strict=False))


def tree_children(value: Any) -> list[tuple[str | None, Any]] | None:
    """One level of a pytree: (name of a field or text key, child); None for one that has no name.

    None when `value` is a leaf.
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda inner: inner is not value)
    if len(leaves) == 1 and not leaves[0][0]:
        return None
    found = []
    for (step, *_), child in leaves:
        name = getattr(step, "name", getattr(step, "key", None))
        found.append((name if isinstance(name, str) else None, child))
    return found


def canonical_dtype(dtype: Any) -> Any:
    """The dtype that JAX makes of it under the present x64 setting."""
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return dtype
    return jax.dtypes.canonicalize_dtype(dtype)


def sharding_of(value: Any) -> str | None:
    """How a jax.Array is spread over devices; None when it lies on one."""
    sharding = getattr(value, "sharding", None)
    if sharding is None or type(sharding).__name__ == "SingleDeviceSharding":
        return None
    try:
        if len(sharding.device_set) == 1:
            return None
    except Exception:
        return None
    spec = getattr(sharding, "spec", None)
    return f"{spec} over {len(sharding.device_set)} devices" if spec is not None else str(sharding)


def device_of(value: Any) -> str:
    """The device of a jax.Array that lies on one; empty for others."""
    try:
        devices = list(value.sharding.device_set)
        return f"{devices[0].platform}:{devices[0].id}" if len(devices) == 1 else ""
    except (AttributeError, ValueError):
        return ""


def warn_bytes() -> int | None:
    """The total of captured arrays from which JAX itself warns; None where it never does."""
    value = getattr(jax.config, "jax_captured_constants_warn_bytes", None)
    return int(value) if value is not None and value >= 0 else None


def warm_up() -> None:
    """Traces once, so that what JAX imports late is there. Starts no backend."""
    jax.jit(lambda x: jax.numpy.tanh(x @ x).sum()).trace(jax.ShapeDtypeStruct((2, 2), np.float32))


def weak_struct(shape: tuple[int, ...], dtype: Any) -> Any:
    """A weakly typed argument: what a Python number is, or what comes of one."""
    try:
        return jax.ShapeDtypeStruct(shape, dtype, weak_type=True)
    except TypeError:  # 0.4.30
        return core.ShapedArray(shape, dtype, weak_type=True)


GENERATORS = {"": None, "fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
"""Name in a key array's dtype, `key<fry>`, to name of the generator."""


def key_dtype(kind: str = "") -> Any:
    """The dtype of random keys of a kind, `fry` or `rbg`; of the default one where it is empty."""
    impl = GENERATORS.get(kind, kind)
    return jax.eval_shape(lambda: jax.random.key(0, impl=impl)).dtype


def is_weak(value: Any) -> bool:
    """Is its dtype only what JAX made of a Python number?"""
    return bool(getattr(value, "weak_type", False))


def devices() -> Devices | None:
    """The devices of a running backend; None while there is none, for asking would start one."""
    if not xla_bridge.backends_are_initialized():
        return None
    return Devices(
        platform=jax.default_backend(),
        count=jax.device_count(),
        local_count=jax.local_device_count(),
        process_index=jax.process_index(),
        process_count=jax.process_count(),
        x64=bool(jax.config.jax_enable_x64),
    )


class _Asked(BaseException):
    """Ends a call once its options are known."""


def options_of(jitted: Any) -> JitCall | None:
    """The options that a jit wrapper was made with, as in a call without arguments; None where it does not tell."""
    global _observer
    asked: list[JitCall] = []

    class Asking:
        def begin(self, call: JitCall, caller: FrameType) -> Any:
            asked.append(call)
            raise _Asked

    before, _observer = _observer, Asking()  # type: ignore[assignment]
    try:
        jitted.trace()
    except _Asked:
        pass
    except Exception:
        return None
    finally:
        _observer = before
    return asked[0] if asked else None


def no_trace_runs() -> bool:
    """Is nothing being traced at the moment? True also where this version cannot tell."""
    ask = getattr(core, "trace_state_clean", None)
    return bool(ask()) if ask is not None else True


def stands_for_argument(tracer: Any) -> bool:
    """Is it, or does it wrap, a tracer of a function that is traced to be compiled?"""
    for _ in range(8):
        if isinstance(tracer, partial_eval.DynamicJaxprTracer):
            return True
        tracer = getattr(tracer, "primal", getattr(tracer, "val", None))
        if not isinstance(tracer, core.Tracer):
            return False
    return False
