"""Finds functions of the user's module by qualified name, as something that JAX can trace."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import jax

from . import objects, targets
from .sources import UserFiles


def attribute(module: ModuleType, dotted: str) -> Any:
    """What a dotted name stands for. Raises LookupError."""
    value: Any = module
    for name in dotted.split("."):
        if not hasattr(value, name):
            raise LookupError(f"{module.__name__} has no {dotted}")
        value = getattr(value, name)
    return value


def find(module: ModuleType, qualname: str, files: UserFiles, line: int = 0) -> Any:
    """The function of that qualified name: a method comes bound to an instance that the module holds.

    A nested function or a lambda is found where the module holds it, jitted or not; `line` then tells which.
    Raises LookupError.
    """
    if "<" in qualname:
        found = next(_held(module, qualname, files, line), None)
        if found is None:
            raise LookupError(_only_while(qualname))
        return found
    owner_name, _, name = qualname.rpartition(".")
    if not owner_name:
        return _jitted(module, attribute(module, qualname), files)
    owner = attribute(module, owner_name)
    if not isinstance(owner, type):
        return attribute(module, qualname)
    stored = next((vars(cls)[name] for cls in owner.__mro__ if name in vars(cls)), None)
    if stored is None:
        raise LookupError(f"{owner_name} has no {name}")
    if isinstance(stored, (staticmethod, classmethod)):
        return getattr(owner, name)
    for value in objects.held(module):
        if isinstance(value, owner):
            return _bound(stored, value)
    raise LookupError(f"no instance of {owner_name} exists once {module.__name__} is imported")


def _only_while(qualname: str) -> str:
    outer = qualname.split(".<locals>")[0]
    return (
        f"{qualname} exists only while {outer} runs" if ".<locals>" in qualname else "the module holds no such lambda"
    )


def _held(module: ModuleType, qualname: str, files: UserFiles, line: int) -> Iterator[Any]:
    """What the module holds of a function, the jitted ones first."""
    found = []
    for value in objects.held(module):
        if not callable(value) or isinstance(value, (type, ModuleType)):
            continue
        function = targets.user_function(value, files)
        if function is None:
            continue
        target = targets.describe(function, files)
        if target.qualname == qualname and line in (0, target.line):
            found.append(value)
    yield from sorted(found, key=lambda value: not is_jitted(value))


def _jitted(module: ModuleType, function: Any, files: UserFiles) -> Any:
    """`function`, or what the module made of it by `jit`, which has the options that its calls are traced with."""
    if not isinstance(function, FunctionType) or is_jitted(function):
        return function
    for value in vars(module).values():
        if is_jitted(value) and inspect.unwrap(value) is function:
            return value
    return function


def is_jitted(value: Any) -> bool:
    """Can it be traced as it is?"""
    return callable(getattr(value, "trace", None)) and callable(getattr(value, "lower", None))


def traceable(function: Any) -> Any:
    """`function` if it is jitted, the jitted function inside a decorator, or `function` jitted now."""
    return jitted_inside(function) or jax.jit(function)


def jitted_inside(function: Any) -> Any:
    """`function` if it is jitted, else the jitted function inside a decorator; None where there is none."""
    for _ in range(20):
        if function is None or is_jitted(function):
            return function
        function = getattr(function, "__wrapped__", None)
    return None


def _bound(stored: Any, instance: Any) -> Any:
    if isinstance(stored, FunctionType) and not hasattr(stored, "__wrapped__"):
        return getattr(instance, stored.__name__)
    return _WithInstance(stored, instance)


class _WithInstance:
    """A jitted method with its instance: as static or traced first argument, as it was declared."""

    def __init__(self, method: Any, instance: Any) -> None:
        self._method, self._instance = traceable(method), instance
        self.__wrapped__ = method

    def trace(self, *arguments: Any, **named: Any) -> Any:
        return self._method.trace(self._instance, *arguments, **named)

    def lower(self, *arguments: Any, **named: Any) -> Any:
        return self.trace(*arguments, **named).lower()
