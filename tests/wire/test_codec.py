"""Messages survive the way through JSON; anything that is not a message is told by field."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import io
import pkgutil
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxscope.worker.jaxscope_worker import wire
from jaxscope.worker.jaxscope_worker.wire import codec, messages, requests
from jaxscope.worker.jaxscope_worker.wire.codec import ProtocolError

MODULES = [importlib.import_module(f"{wire.__name__}.{item.name}") for item in pkgutil.iter_modules(wire.__path__)]
TYPES = [t for module in MODULES for t in vars(module).values() if isinstance(t, type) and dataclasses.is_dataclass(t)]
TYPES = list(dict.fromkeys(TYPES))


@functools.cache
def values_of(kind: typing.Any) -> st.SearchStrategy[typing.Any]:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{f.name: values_of(hints[f.name]) for f in dataclasses.fields(kind)})
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return st.lists(st.deferred(lambda: values_of(args[0])), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), values_of(args[1]), max_size=2)
    if origin is typing.Literal:
        return st.sampled_from(args)
    if args:
        return st.none() | values_of(args[0])
    return {str: st.text(max_size=5), int: st.integers(), bool: st.booleans(), float: st.floats(allow_nan=False)}[kind]


@pytest.mark.parametrize("kind", TYPES, ids=lambda t: t.__name__)
@given(data=st.data())
def test_round_trip(kind: type, data: st.DataObject) -> None:
    message = data.draw(values_of(kind))
    stream = io.BytesIO()
    codec.write_frame(stream, {"params": codec.to_json(message)})
    stream.seek(0)
    frame = codec.read_frame(stream)
    assert frame is not None
    assert codec.from_json(kind, frame["params"]) == message


def test_every_request_has_a_method_and_a_reply() -> None:
    assert set(requests.METHODS.values()) == set(requests.REPLIES)


def test_unknown_fields_are_ignored() -> None:
    assert codec.from_json(messages.FetchReply, {"text": "a", "total": 1, "later": 2}).total == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [({"text": "a"}, "total: missing"), ({"text": 1, "total": 1}, "text: str is wanted"), ([], "an object is wanted")],
)
def test_wrong_fields_are_named(data: object, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        codec.from_json(messages.FetchReply, data)


@pytest.mark.parametrize("raw", [b"hello\r\n\r\n", b"Content-Length: 3\r\n\r\n{}x", b"Content-Length: 2\r\n\r\n[]"])
def test_what_is_no_frame_is_told(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        codec.read_frame(io.BytesIO(raw))


@pytest.mark.parametrize("raw", [b"", b"Content-Length: 20\r\n\r\n{}"])
def test_a_closed_stream_is_the_end(raw: bytes) -> None:
    assert codec.read_frame(io.BytesIO(raw)) is None
