"""Runs small programs one after another in one process: JSON in, JSON out, one line each.

In: `{"files": {"module": file text, "package/module": …}}`. Out: what `main()` of `case` returned (without one: its
global arrays), and whether an array of at least `BYTES` became a constant of a compiled program, which JAX itself says
by a warning.
In: `{"before": files, "after": files}`. Out: how they differ in what they compile and in what they call it with.
Nothing of theirs is compiled, which would take most of the time.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy

BYTES = 1024
Params = dict[str, Any]


def plain(value: object) -> object:
    """Arrays as nested lists, with their dtypes."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return [str(value.dtype), value.tolist()]
    return value


def arrays(module: object) -> dict[str, object]:
    """The module's globals with short names that are arrays, or lists and tuples of such."""
    return {name: value for name, value in vars(module).items() if len(name) == 1 and is_array(value)}


def is_array(value: object) -> bool:
    """Is it one, or a list or tuple of such?"""
    if isinstance(value, (list, tuple)):
        return all(map(is_array, value))
    return hasattr(value, "tolist") and hasattr(value, "dtype")


def run(files: dict[str, str]) -> dict[str, object]:
    """Imports `case` of the program and calls its `main()`."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with imported(files) as module:
            result = plain(module.main() if hasattr(module, "main") else arrays(module))
    return {"result": result, "captured": any("constants were captured" in str(w.message) for w in seen)}


def compare(before: dict[str, str], after: dict[str, str]) -> dict[str, object]:
    """Runs `main()` of both, all but their compiled calls: which compile an array in, and how the calls differ."""
    (old_calls, old), (new_calls, new) = calls_of(before), calls_of(after)
    held = [any(captured(call["jaxpr"]) for call, _ in calls) for calls in (old_calls, new_calls)]
    found = "the number of calls" if len(old_calls) != len(new_calls) else None
    for (a, old_arguments), (b, new_arguments) in zip(old_calls, new_calls, strict=False):
        found = found or difference(a, old_arguments, b, new_arguments)
    return {"captured": held, "difference": found or (None if old == new else "the result")}


def difference(a: Params, old: tuple[Any, ...], b: Params, new: tuple[Any, ...]) -> str | None:
    """How two calls of compiled functions differ: programs, arguments, what is given away."""
    from jaxscope_worker.matching import match

    found = match(a["jaxpr"], b["jaxpr"], a["donated_invars"], b["donated_invars"])
    if found.difference:
        return found.difference.what
    for before, after in found.inputs.items():
        if plain(old[before]) != plain(new[after]):
            return "an argument"
    for position, array in found.hoisted.items():
        if plain(array) != plain(new[position]):
            return "the array that is passed"
    return None


def captured(program: object) -> bool:
    """Does a traced program hold an array of at least `BYTES`?"""
    from jaxscope_worker.hoisting import Constants

    return bool(Constants(program, BYTES).values)


def calls_of(files: dict[str, str]) -> tuple[list[tuple[Params, tuple[Any, ...]]], object]:
    """Calls of the program's own compiled functions, which give ones; and what `main()` returns with these."""
    import jax
    from jax._src import pjit  # there is no other place where a call is known, and not yet compiled

    calls: list[tuple[Params, tuple[Any, ...]]] = []
    real = pjit._pjit_call_impl_python

    def call(*arguments: Any, **params: Any) -> Any:
        inside = params["jaxpr"].jaxpr.debug_info.func_filename or ""
        if not inside.startswith(tempfile.gettempdir()):
            return real(*arguments, **params)
        calls.append((params, arguments))
        ones = [jax.device_put(numpy.ones(aval.shape, aval.dtype)) for aval in params["jaxpr"].out_avals]
        return ones, None, None, []

    pjit._pjit_call_impl_python = call
    try:
        with imported(files) as module:
            return calls, plain(module.main())
    finally:
        pjit._pjit_call_impl_python = real


@contextlib.contextmanager
def imported(files: dict[str, str]) -> Iterator[ModuleType]:
    """The module `case` of a program, as long as its files are there."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = os.path.join(folder, f"{name}.py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            yield importlib.import_module("case")
        finally:
            sys.path.remove(folder)
            for name in [*sys.modules]:
                if name.partition(".")[0] in {each.partition("/")[0] for each in files}:
                    del sys.modules[name]


def answer(request: dict[str, dict[str, str]]) -> dict[str, object]:
    """What is asked for, or the traceback."""
    try:
        return compare(request["before"], request["after"]) if "before" in request else run(request["files"])
    except Exception:
        return {"error": traceback.format_exc(limit=-4)}


def main() -> None:
    """Answers one line for each line."""
    import jax

    jax.config.update("jax_captured_constants_warn_bytes", BYTES)
    replies, sys.stdout = sys.stdout, sys.stderr
    for number, line in enumerate(sys.stdin):
        if number % 500 == 499:
            jax.clear_caches()
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "server", "jaxscope", "worker"))
    sys.dont_write_bytecode = True
    main()
