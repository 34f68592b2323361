"""The table of array functions that are known, by name; other files fill it."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope.semantics.evaluation.arrays import Call, Handler, as_array
from jaxscope.semantics.evaluation.values import Array

TABLE: dict[str, Handler] = {}


def named(*names: str) -> Callable[[Handler], Handler]:
    """Registers a handler under the names of the functions that it stands for."""

    def register(handler: Handler) -> Handler:
        for name in names:
            TABLE[name] = handler
        return handler

    return register


def first_array(call: Call) -> Array | None:
    """The array that the function works on; None when it is not known to be one."""
    value = call.args[0] if call.args else call.get("a") or call.get("x") or call.get("arr")
    return None if value is None else as_array(value, call)
