"""Traces the functions of a file that nothing else traced, under arguments that were guessed.

Only the last trace of each, under the guess that works, is seen; of the attempts nothing is told: neither their errors,
nor what they print, nor what the guard stopped.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import time
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import jax

from . import declaring, functions, jax_compat, parameters, repairs
from .deadline import OutOfTime, within
from .declaring import Arguments
from .guessing import PLAIN_SIZE, Fixed, Leaf, Search, Shaped, State, leaves
from .observing import Observer
from .sources import UserFiles
from .wire.messages import DeclaredSignature, Denied

FILE_SECONDS = 2.0
"""For all guesses of one file."""
FUNCTION_SECONDS = 1.0


def trace(
    module: ModuleType, path: str, wanted: list[DeclaredSignature], observer: Observer, denied: list[Denied]
) -> None:
    """Traces the functions in `wanted` that `observer` has not seen yet, as far as guesses are found in the time."""
    until = time.perf_counter() + FILE_SECONDS
    for item in wanted:
        seconds = min(FUNCTION_SECONDS, until - time.perf_counter())
        if seconds <= 0:
            return
        if is_traced(item, path, observer):
            continue
        with unseen(observer, denied):
            function, arguments = _guess(module, item, observer.files, seconds)
        if arguments is not None:
            observer.source, observer.origin = "guess", ""
            with _quiet(observer, denied):
                _trace(function, arguments)
            observer.source = "run"


def arguments(
    function: Any, signature: str, build: declaring.Build, observer: Observer, denied: list[Denied]
) -> Arguments:
    """The arguments of a signature; the sizes of dimensions that it only names are those that fit.

    Raises BadSignature.
    """
    with unseen(observer, denied):
        call, _ = _call(function)
        search = Search(call, observer.files, repairs.repairs)
        arrays: dict[Leaf, Shaped] = {}
        names: dict[str, int] = {}

        def array(dtype: str, dims: tuple[int | str, ...], weak: bool) -> Leaf:
            declaring.dtype_of(dtype)
            free = (dim if isinstance(dim, int) else names.setdefault(dim, search.free()) for dim in dims)
            return parameters.new_array(arrays, Shaped(tuple(free), dtype, weak))

        given = declaring.parse(signature, build, array)
        trees = {str(at): tree for at, tree in enumerate(given.args)} | given.kwargs
        trees = {name: tree if leaves(tree) else Fixed(tree) for name, tree in trees.items()}
        state = State(trees, arrays, frozenset(given.kwargs), frozen=True)
        found = search.run([state], FUNCTION_SECONDS) if names else None
        return found if found is not None else search.arguments(state, PLAIN_SIZE)


def is_traced(item: DeclaredSignature, path: str, observer: Observer) -> bool:
    """Did a trace of the function end well?"""
    targets = (record.target for record in observer.records if record.inferred is not None)
    return any(
        (target.path, target.qualname) == (path, item.function) and item.line in (0, target.line)
        for target in targets
        if target is not None
    )


def _guess(
    module: ModuleType, item: DeclaredSignature, files: UserFiles, seconds: float
) -> tuple[Any, Arguments | None]:
    try:
        function = functions.find(module, item.function, files, item.line)
    except LookupError:
        return None, None
    call, static = _call(function)
    search = Search(call, files, repairs.repairs, static.__contains__ if static is not None else lambda name: True)
    return function, search.run(parameters.Beginning(call, static or (), search.free).states(), seconds)


def _call(function: Any) -> tuple[Callable[..., Any], frozenset[str] | None]:
    """The Python function inside a jitted one with what is bound to it, and its static parameters; None: any may be."""
    if not functions.is_jitted(function):
        return function, None
    options = jax_compat.options_of(function)
    if options is None:
        return inspect.unwrap(function), frozenset()
    try:
        names = list(inspect.signature(options.fun).parameters)
    except (TypeError, ValueError):
        names = []
    numbers = [number for number in options.static_argnums if -len(names) <= number < len(names)]
    static = {*options.static_argnames, *(names[number] for number in numbers)}
    return functools.partial(options.fun, *options.args), frozenset(static)


def _trace(function: Any, arguments: Arguments) -> None:
    """Traces for good. A guess that holds for `eval_shape` and not for `jit` is none."""
    jax.clear_caches()  # what the attempts traced is not traced again, and so not seen
    if not functions.is_jitted(function):
        numbers = [at for at, value in enumerate(arguments.args) if _is_python(value)]
        names = [name for name, value in arguments.kwargs.items() if _is_python(value)]
        function = jax.jit(function, static_argnums=numbers or None, static_argnames=names or None)
    with contextlib.suppress(Exception, OutOfTime), within(FUNCTION_SECONDS):
        functions.traceable(function).trace(*arguments.args, **arguments.kwargs)


def _is_python(value: Any) -> bool:
    return not any(hasattr(leaf, "shape") for leaf in jax.tree_util.tree_leaves(value))


@contextlib.contextmanager
def _quiet(observer: Observer, denied: list[Denied]) -> Iterator[None]:
    """Forgets what failed and what was denied inside, and what was printed."""
    failures, denials = len(observer.failed), len(denied)
    nowhere = io.StringIO()
    try:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del observer.failed[failures:], denied[denials:]


@contextlib.contextmanager
def unseen(observer: Observer, denied: list[Denied]) -> Iterator[None]:
    """What is traced inside is not the program's doing, and nobody hears of it."""
    jax_compat.observe(None)
    try:
        with _quiet(observer, denied):
            yield
    finally:
        jax_compat.observe(observer)
