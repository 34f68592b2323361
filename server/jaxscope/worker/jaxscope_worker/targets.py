"""Finds the user's function in what was given to `jit`: through partial, vmap, grad, methods, objects, decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

import jax

from . import libraries
from .jax_compat import JitCall
from .sources import UserFiles

_DEPTH = 30
_CALLABLES = (FunctionType, MethodType, functools.partial)


@dataclass
class Target:
    """The user's function whose body is jitted."""

    function: FunctionType
    path: str
    qualname: str
    line: int
    bound: dict[str, str] = field(default_factory=dict)
    """How parameters got values that are not the call's: name to `partial`, `self`, `callable`, `static`, `default`."""
    column: int | None = 0
    """As in `TracedFunction`."""


@dataclass
class _Binding:
    positional: int = 0
    named: set[str] = field(default_factory=set)
    receiver: str | None = None
    before: int = 0
    """Parameters of a library's wrapper that come before those of the function in it: `params, *args`."""


def find(call: JitCall, files: UserFiles) -> Target | None:
    """The target of a jitted call; None when it is not the user's."""
    binding = _Binding()
    function = _unwrap(call.fun, files, binding)
    if function is None:
        return None
    target = describe(function, files)
    _bind(target, binding, call)
    return target


def user_function(fun: Any, files: UserFiles) -> FunctionType | None:
    """The user's function inside `fun`."""
    return _unwrap(fun, files, _Binding())


def describe(function: FunctionType, files: UserFiles) -> Target:
    """What is known of a function of the user's."""
    code = function.__code__
    found = files.definition(code)
    line = found.line if found is not None else code.co_firstlineno
    path, column = files.path(code.co_filename), files.column(code)
    return Target(function, path, files.qualname(code), line, column=column)


def _unwrap(fun: Any, files: UserFiles, binding: _Binding) -> FunctionType | None:
    mine: FunctionType | None = None
    for _ in range(_DEPTH):
        if isinstance(fun, functools.partial):
            binding.positional += len(fun.args)
            binding.named |= set(fun.keywords)
            fun = fun.func
        elif (body := libraries.body_of(fun)) is not None:
            binding.before += _leading(fun)
            fun = body
        elif isinstance(fun, MethodType):
            binding.receiver = "self"
            fun = fun.__func__
        elif isinstance(fun, FunctionType):
            if files.owns(fun.__code__.co_filename):
                mine = fun
            inner = getattr(fun, "__wrapped__", None)
            if inner is None and mine is None:
                inner = next(_user_functions(fun, files), None)
                binding.before += _leading(fun)
            if inner is None:
                return mine
            fun = inner
        elif getattr(fun, "__wrapped__", None) is not None and not isinstance(fun, type):
            fun = fun.__wrapped__
        elif isinstance(getattr(type(fun), "__call__", None), FunctionType):  # noqa: B004
            binding.receiver = "callable"
            fun = type(fun).__call__
        else:
            return mine
    return mine


def bound_by_partial(fun: Any) -> Iterator[Any]:
    """The arguments that `partial` binds to a callable."""
    while isinstance(fun, functools.partial):
        yield from (*fun.args, *fun.keywords.values())
        fun = fun.func


def _leading(fun: Any) -> int:
    """Number of parameters in front of `*args`; 0 where there is no `*args`."""
    try:
        kinds = [parameter.kind for parameter in inspect.signature(fun).parameters.values()]
    except (TypeError, ValueError):
        return 0
    starred = inspect.Parameter.VAR_POSITIONAL
    return kinds.index(starred) if starred in kinds else 0


def _user_functions(function: FunctionType, files: UserFiles, depth: int = 4) -> Iterator[Any]:
    """Functions of the user's that a library's wrapper closes over, the nearest first."""
    level: list[Any] = [function]
    seen: set[int] = set()
    for _ in range(depth):
        following: list[Any] = []
        for item in level:
            for value in _held(item):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                if isinstance(value, FunctionType) and files.owns(value.__code__.co_filename):
                    yield value
                following.append(value)
        level = following


def _held(item: Any) -> Iterator[Any]:
    if isinstance(item, functools.partial):
        yield item.func
    elif isinstance(item, MethodType):
        yield item.__func__
    elif isinstance(item, FunctionType):
        if hasattr(item, "__wrapped__"):
            yield item.__wrapped__
        for cell in item.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            values = value[:20] if isinstance(value, (tuple, list)) else (value,)
            yield from (v for v in values if isinstance(v, _CALLABLES) or type(v).__name__ == "WrappedFun")
    elif type(item).__name__ == "WrappedFun":
        # How JAX holds a function with its transformations, and what pmap closes over.
        yield item.f
    elif getattr(item, "__wrapped__", None) is not None:
        yield item.__wrapped__


def parameters_of(function: FunctionType) -> list[str]:
    """Names of a function's parameters, in order."""
    code = function.__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _bind(target: Target, binding: _Binding, call: JitCall) -> None:
    code = target.function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    if binding.receiver and names:
        target.bound[names.pop(0)] = binding.receiver
    for name in names[: max(0, binding.positional - binding.before)]:
        target.bound[name] = "partial"
    target.bound.update(dict.fromkeys(binding.named, "partial"))
    left = [name for name in names if target.bound.get(name) is None]
    before = max(0, binding.before - binding.positional)
    for number in call.static_argnums:
        index = number if number < 0 else number - before
        if -len(left) <= index < len(left) and (number < 0 or index >= 0):
            target.bound[left[index]] = "self" if left[index] == "self" else "static"
    target.bound.update({n: "static" for n in call.static_argnames if n not in target.bound})
    for name in parameters_of(target.function):
        target.bound.setdefault(name, "default")


def call_arguments(call: JitCall, target: Target | None = None) -> list[tuple[str, Any, bool, bool]]:
    """Arguments of a jitted call by parameter: name, value, static, donated."""
    found = _arguments(call)
    starred = [index for index, (name, *_) in enumerate(found) if "[" in name]
    if target is None or not starred or target.function.__code__.co_flags & inspect.CO_VARARGS:
        return found
    # A wrapper that takes *args: pmap's, a decorator's, or a library's. The names are those of the function in it.
    names = [n for n in parameters_of(target.function) if target.bound.get(n) in (None, "default", "static")]
    if len(names) == len(found):
        starred = list(range(len(found)))
    for name, index in zip(names, starred, strict=False):
        found[index] = (name, *found[index][1:])
    return found


def _arguments(call: JitCall) -> list[tuple[str, Any, bool, bool]]:
    try:
        signature = inspect.signature(call.fun)
        bound = signature.bind(*call.args, **call.kwargs)
    except (TypeError, ValueError):
        found = [(f"arg{i}", v, i in call.static_argnums, i in call.donate_argnums) for i, v in enumerate(call.args)]
        return found + [(k, v, k in call.static_argnames, k in call.donate_argnames) for k, v in call.kwargs.items()]
    found, position = [], 0
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            for offset, item in enumerate(value):
                index = position + offset
                found.append((f"{name}[{offset}]", item, index in call.static_argnums, index in call.donate_argnums))
            position += len(value)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found += [(k, v, k in call.static_argnames, k in call.donate_argnames) for k, v in value.items()]
        else:
            named = name in call.kwargs
            static = name in call.static_argnames or (not named and _at(position, call.static_argnums, len(call.args)))
            donated = name in call.donate_argnames or (not named and _at(position, call.donate_argnums, len(call.args)))
            found.append((name, value, static, donated))
            position += 0 if named else 1
    return found


def array_names(call: JitCall) -> list[str]:
    """The parameter that each array argument belongs to, in the order of the traced program's arguments."""
    found = [(name, value) for name, value, static, _ in call_arguments(call) if not static]
    named = sorted((item for item in found if item[0] in call.kwargs), key=lambda item: item[0])
    ordered = [*(item for item in found if item[0] not in call.kwargs), *named]
    return [name for name, value in ordered for _ in jax.tree_util.tree_leaves(value)]


def _at(position: int, numbers: tuple[int, ...], count: int) -> bool:
    return position in numbers or position - count in numbers
