"""Runs a program with nothing of its own compiled, so that every value is the one of the moment.

JAX compiles each operation by itself then, once for each shape. Random numbers are made of very many, and call nothing
of the user's: they stay compiled, which saves a fifth of the time where a model is initialised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import jax


@contextmanager
def uncompiled() -> Iterator[None]:
    """As `jax.disable_jit()`, but for the functions of `jax.random`."""
    random = vars(jax.random)
    own = {name: value for name, value in random.items() if _is_function(value)}
    random.update({name: _compiled(function) for name, function in own.items()})
    try:
        with jax.disable_jit():
            yield
    finally:
        random.update(own)


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType) or hasattr(value, "clear_cache")


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with jax.disable_jit(False):
            return function(*args, **kwargs)

    return run
