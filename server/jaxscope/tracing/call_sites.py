"""Signatures from the calls in a file whose arguments follow from the source: literals, arrays of known shapes."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator

from jaxscope.semantics.compiled.sites import peel
from jaxscope.semantics.evaluation.arguments import arguments
from jaxscope.semantics.evaluation.dtypes import narrowed
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.evaluation.values import Array, Const, Instance, Mapping, Scalar, Sequence, Value
from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.worker.jaxscope_worker.wire.messages import DeclaredSignature

_LETTERS = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}
_LONG = re.compile(r"(bfloat|float|uint|int|complex)(?=\d)")
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
_MOST_CALLS = 50
"""Calls of one function that are looked at."""


def called_signatures(model: FileModel, project: Project, skip: frozenset[str]) -> tuple[DeclaredSignature, ...]:
    """The signature of the first call that can be evaluated, for each of the file's compiled functions but `skip`."""
    found = []
    compiled = (site.function for site in model.traced if site.function.path == model.module.path)
    for function in dict.fromkeys(compiled):
        if function.qualname in skip:
            continue
        for line, signature in _calls(function, model, project.evaluator):
            origin = f"{os.path.basename(function.path)}:{line}"
            found.append(DeclaredSignature(function.qualname, signature, "call site", origin, function.line))
            break
    return tuple(found)


def _calls(function: Function, model: FileModel, ev: Evaluator) -> Iterator[tuple[int, str]]:
    calls = [call for name in _names(function, model) for call in model.calls_named(name)]
    for call, scope in calls[:_MOST_CALLS]:
        frame = ev.generic_frame(scope, model)
        target = peel(ev, ev.evaluate(call.func, scope, frame))
        if target.function is None or target.function.scope is not function.scope or target.partials:
            continue
        given = arguments(ev, call, scope, frame)
        if given.starred:
            continue
        texts = [type_text(value, model.x64) for value in given.args]
        named = {name: type_text(value, model.x64) for name, value in given.keywords.items()}
        if None not in texts and None not in named.values():
            parts = [str(text) for text in texts] + [f"{name}={text}" for name, text in named.items()]
            yield _line(call, scope, model), ", ".join(parts)


def _names(function: Function, model: FileModel) -> Iterable[str]:
    """Names under which the function is called: its own, and those given to what wraps it."""
    names, waiting = {function.name: None}, [function.name]
    while waiting:
        for name in sorted(model.other_names(waiting.pop())):
            if name not in names:
                names[name] = None
                waiting.append(name)
    return names


def _line(call: ast.Call, scope: Scope, model: FileModel) -> int:
    return model.place(scope, call).range.start.line


def type_text(value: Value, x64: bool) -> str | None:
    """A value as a signature has it, `f32[3,700]`; None where it is not known."""
    if isinstance(value, Array):
        dtype = narrowed(value.dtype, x64)
        if dtype is None or value.shape is None or None in value.shape:
            return None
        short = _LONG.sub(lambda match: _LETTERS[match[1]], dtype)
        return f"{short}[{','.join(map(str, value.shape))}]"
    if isinstance(value, Const):
        known = isinstance(value.value, (bool, int, float, complex, str, type(None)))
        return repr(value.value) if known else None
    if isinstance(value, Scalar):
        return value.kind if value.kind in ("int", "float", "bool") else None
    if isinstance(value, Sequence) and value.items is not None and not value.fields:
        inside = [type_text(item, x64) for item in value.items]
        return f"({', '.join(map(str, inside))}{',' if len(inside) == 1 else ''})" if None not in inside else None
    if isinstance(value, Mapping):
        return _tree(((_key(key), item) for key, item in value.items), x64, "{", "}")
    if isinstance(value, Instance) and value.given is not None:
        return _tree(value.given, x64, f"{value.cls.scope.name}(", ")")
    return None


def _tree(items: Iterable[tuple[str, Value]], x64: bool, opening: str, closing: str) -> str | None:
    inside = [(key, type_text(item, x64)) for key, item in items]
    if any(text is None for _, text in inside):
        return None
    return opening + ", ".join(f"{key}: {text}" for key, text in inside) + closing


def _key(key: object) -> str:
    plain = isinstance(key, str) and _NAME.fullmatch(key) and key not in ("None", "True", "False", "inf", "nan")
    return str(key) if plain else repr(key)
