"""Runs small programs one after another in one process: JSON in, JSON out, one line each.

In: `{"module": file text, …}`. Out: what `main()` of `case` returned (without one: its global arrays), and whether an
array of at least `BYTES` became a constant of a compiled program, which JAX itself says by a warning.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import traceback
import warnings

BYTES = 1024


def plain(value: object) -> object:
    """Arrays as nested lists, with their dtypes."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "dtype"):
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
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for name, text in files.items():
            with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            module = importlib.import_module("case")
            result = plain(module.main() if hasattr(module, "main") else arrays(module))
        except Exception:
            return {"error": traceback.format_exc(limit=-4)}
        finally:
            sys.path.remove(folder)
            for name in files:
                sys.modules.pop(name, None)
        return {"result": result, "captured": any("constants were captured" in str(w.message) for w in seen)}


def main() -> None:
    """Answers one line for each line."""
    import jax

    jax.config.update("jax_captured_constants_warn_bytes", BYTES)
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        replies.write(json.dumps(run(json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
