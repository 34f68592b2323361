"""Dataclasses to JSON and back, and the frames they travel in. No pickle: replies come from the user's process.

Frame: `Content-Length: N`, blank line, N bytes of JSON. A request is `{"id", "method", "params"}`, an answer
`{"id", "result"}` or `{"id", "failure"}`; `{"hello": ...}` and `{"progress": ...}` have no answer.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Any, BinaryIO


class ProtocolError(Exception):
    """A message that does not fit its type; the text names the field."""


def to_json(value: Any) -> Any:
    """`value` as JSON knows it: dataclasses as objects, tuples as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    return value


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def from_json(kind: Any, data: Any, path: str = "") -> Any:
    """Builds `kind` from `data`. Raises ProtocolError where a field is missing or of another type."""
    if dataclasses.is_dataclass(kind):
        return _object(typing.cast(type, kind), data, path)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if data is None and type(None) in args else from_json(args[0], data, path)
    if origin is tuple:
        if not isinstance(data, list):
            raise ProtocolError(f"{path}: a list is wanted")
        return tuple(from_json(args[0], item, f"{path}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise ProtocolError(f"{path}: an object is wanted")
        return {key: from_json(args[1], item, f"{path}.{key}") for key, item in data.items()}
    if origin is typing.Literal:
        if data not in args:
            raise ProtocolError(f"{path}: {data!r} is none of {args}")
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ProtocolError(f"{path}: {kind.__name__} is wanted, not {type(data).__name__}")
    return data


def _object(cls: type, data: Any, path: str) -> Any:
    if not isinstance(data, dict):
        raise ProtocolError(f"{path or cls.__name__}: an object is wanted")
    hints, found = _hints(cls), {}
    for field in dataclasses.fields(cls):
        if field.name in data:
            found[field.name] = from_json(hints[field.name], data[field.name], f"{path}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ProtocolError(f"{path}.{field.name}: missing")
    return cls(**found)


def write_frame(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Writes one frame and flushes."""
    body = json.dumps(message, separators=(",", ":")).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """The next frame; None at the end of the stream. Raises ProtocolError for anything that is not a frame."""
    length = None
    while line := stream.readline():
        line = line.strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
    else:
        return None
    if length is None:
        raise ProtocolError("a frame without Content-Length")
    body = stream.read(length)
    if len(body) < length:
        return None
    try:
        message = json.loads(body)
    except ValueError as error:
        raise ProtocolError(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError("a frame must hold an object")
    return message
