"""Where JAX is asked for 64-bit data by name: `dtype=jnp.float64`, `.astype("int64")`, `jnp.float64(x)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation import dtypes
from jaxscope.semantics.evaluation.values import TRACER, Array, Const, External, Method, Value
from jaxscope.semantics.names.scopes import Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel
    from jaxscope.source.module import Chunk

_MAKING = "jax.numpy."
_ASKING = (_MAKING, "jax.random.", "jax.lax.", "jax.nn.", "jax.scipy.")


@dataclass(frozen=True, slots=True)
class WideRequest:
    """One call that asks for 64 bits."""

    node: ast.Call
    scope: Scope
    dtype: str
    written: ast.expr
    """What says so."""


def wide_requests_of(model: FileModel) -> list[WideRequest]:
    """Those of a file, in source order."""
    found: list[WideRequest] = []
    for chunk in model.module.chunks:
        if "64" in chunk.good_text or "complex128" in chunk.good_text or "double" in chunk.good_text:
            found += model.kept(chunk, "wide_requests", partial(_of_chunk, model, chunk))
    return found


def _of_chunk(model: FileModel, chunk: Chunk, ev: Evaluator) -> list[WideRequest]:
    found = []
    for scope in facts_of(chunk).scopes:
        for call, _ in scope.calls:
            request = _request(ev, call, scope, model)
            if request is not None:
                found.append(request)
    return sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset))


def _request(ev: Evaluator, call: ast.Call, scope: Scope, model: FileModel) -> WideRequest | None:
    frame = ev.generic_frame(scope, model)
    callee = ev.evaluate(call.func, scope, frame)
    named = callee.name if isinstance(callee, External) else ""
    if named.startswith(_MAKING) and (dtype := _wide(callee)) is not None and call.args:
        return WideRequest(call, scope, dtype, call.func)
    casts = isinstance(callee, Method) and callee.name == "astype" and _is_jax(callee.owner)
    if not casts and not named.startswith(_ASKING):
        return None
    given = [keyword.value for keyword in call.keywords if keyword.arg in ("dtype", "new_dtype")]
    for node in [*given, *call.args[0 if casts else 1 :]]:
        if isinstance(node, ast.Attribute | ast.Name | ast.Constant):
            dtype = _wide(ev.evaluate(node, scope, frame))
            if dtype is not None:
                return WideRequest(call, scope, dtype, node)
    return None


def _is_jax(value: Value) -> bool:
    return value is TRACER or (isinstance(value, Array) and value.library == "jax")


def _wide(value: Value) -> str | None:
    """The 64-bit dtype that a value names. Python's own `float` and `int` ask for whatever is the default."""
    by_name = isinstance(value, External) and value.name.partition(".")[0] in ("jax", "numpy")
    if not by_name and not (isinstance(value, Const) and isinstance(value.value, str)):
        return None
    dtype = dtypes.from_value(value)
    return dtype if dtype is not None and dtypes.narrowed(dtype, False) != dtype else None
