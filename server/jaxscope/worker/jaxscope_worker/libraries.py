"""How libraries on JAX wrap what they jit, so that functions, arguments and arrays are told as their users write them.

A library's `jit` gives `jax.jit` a function of its own that takes the user's arguments apart. The user's function and
arguments are in the frame of the library's wrapper, which runs while JAX traces. Whatever a release of a library has
changed here is told as `jax.jit` was given it.
"""

from __future__ import annotations

from dataclasses import replace
from types import FrameType, FunctionType, MethodType
from typing import Any

from .jax_compat import JitCall
from .signatures import LITERALS

_NNX_JIT = ("flax.nnx.transforms.compilation", ("__call__", "trace", "lower", "eval_shape"))
_UNWRITTEN = ("_raw_value", "raw_value", "_mapping", "_dict", "_fields_dict")
"""Attributes in which containers of flax keep what one gets by the container itself."""


def as_written(call: JitCall, caller: FrameType) -> JitCall:
    """The call as the user wrote it; `call` itself where no library is known to stand in between."""
    home = call.fun.__module__ if isinstance(call.fun, FunctionType) else type(call.fun).__module__
    try:
        if home == "equinox._jit":
            values = _running(caller, home, ("_call",))
            return _equinox(call, values) if values is not None else call
        if home == _NNX_JIT[0]:
            values = _running(caller, *_NNX_JIT)
            own = values["self"].fun if values is not None else None
            return replace(call, fun=own, args=tuple(values["args"]), kwargs=values["kwargs"]) if values else call
    except Exception:
        return call
    return call


def _running(frame: FrameType | None, module: str, functions: tuple[str, ...]) -> dict[str, Any] | None:
    """Locals of the nearest running function of these."""
    while frame is not None:
        if frame.f_code.co_name in functions and frame.f_globals.get("__name__") == module:
            return frame.f_locals
        frame = frame.f_back
    return None


def _equinox(call: JitCall, values: dict[str, Any]) -> JitCall:
    wrapper, args, kwargs = values["jit_wrapper"], tuple(values["args"]), values["kwargs"]
    given = range(len(args))
    donated = tuple(n for n in given if (wrapper.donate_first if n == 0 else wrapper.donate_rest))
    return replace(
        call,
        fun=wrapper.__wrapped__,
        static_argnums=tuple(n for n in given if _is_static(args[n])),
        static_argnames=tuple(name for name, value in kwargs.items() if _is_static(value)),
        donate_argnums=donated,
        donate_argnames=tuple(kwargs) if wrapper.donate_rest else (),
        args=args,
        kwargs=kwargs,
        only_arrays=True,
    )


def _is_static(value: Any) -> bool:
    """Is it a number or a text, which equinox compiles anew for?"""
    return value is not None and type(value) in LITERALS


def body_of(fun: Any) -> Any:
    """For `module.apply` of flax.linen, the bound method that it runs; else None."""
    if not isinstance(fun, MethodType) or fun.__func__.__name__ != "apply":
        return None
    if fun.__func__.__module__ != "flax.linen.module":
        return None
    return MethodType(type(fun.__self__).__call__, fun.__self__)


def own_outputs(fun: Any) -> int:
    """How many results a library's wrapper returns before those of the user's function: equinox waits for a marker."""
    code = getattr(fun, "__code__", None)
    return int(code is not None and fun.__module__ == "equinox._jit" and "marker" in code.co_varnames)


def is_internal(value: Any) -> bool:
    """Is it an object in which a library keeps what it works on, and which no user's expression goes through?"""
    return type(value).__name__ == "Scope" and type(value).__module__.startswith("flax.")


def is_unwritten(owner: Any, attribute: str) -> bool:
    """Is the attribute one by which a container of a library holds what one gets by the container itself?"""
    return attribute in _UNWRITTEN and type(owner).__module__.startswith("flax.")
