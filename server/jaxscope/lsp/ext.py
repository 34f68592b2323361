"""The server's own requests, `jaxscope/…`: their JSON is that of the engine's dataclasses in camelCase."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

from jaxscope.config import WHEN
from jaxscope.ide.panel import panel
from jaxscope.lsp.convert import to_camel, to_path
from jaxscope.lsp.session import Session
from jaxscope.lsp.tracing import Form
from jaxscope.text.span import LineIndex, Position
from jaxscope.worker.jaxscope_worker.wire.messages import Failure

T = TypeVar("T")
REQUEST_FAILED, REQUEST_CANCELLED, INVALID_PARAMS = -32803, -32800, -32602


@attrs.define
class Request:
    """A request of ours; its parameters stay plain JSON."""

    id: int | str
    method: str
    jsonrpc: str
    params: Any


@attrs.define
class Notification:
    """A notification of ours."""

    method: str
    jsonrpc: str
    params: Any


class Protocol(LanguageServerProtocol):
    """pygls's protocol, which leaves the parameters of our own methods as they are."""

    def get_message_type(self, method: str) -> Any:  # type: ignore[override]  # pygls's is wrapped in a cache
        """The class that a message is made into."""
        if method in REQUESTS:
            return Request
        return Notification if method in NOTIFICATIONS else super().get_message_type(method)


def register_types(converter: Any) -> None:
    """Teaches pygls's converter our messages."""
    converter.register_structure_hook(
        Request, lambda data, _: Request(data["id"], data["method"], data["jsonrpc"], data.get("params"))
    )
    converter.register_structure_hook(
        Notification, lambda data, _: Notification(data["method"], data["jsonrpc"], data.get("params"))
    )


def failed(failure: Failure) -> JsonRpcException:
    """A failure as the error that the request is answered with."""
    code = REQUEST_CANCELLED if failure.kind == "cancelled" else REQUEST_FAILED
    return JsonRpcException(failure.message, code, to_camel(failure))


def answered(value: T | Failure) -> T:
    """`value`, unless it is a failure."""
    if isinstance(value, Failure):
        raise failed(value)
    return value


def _path(params: Any) -> str:
    uri = params.get("uri") if isinstance(params, Mapping) else None
    path = to_path(uri) if isinstance(uri, str) else None
    if path is None:
        raise JsonRpcException("`uri` must name a file", INVALID_PARAMS)
    return path


def _function(params: Mapping[str, Any]) -> str:
    name = params.get("function")
    if not isinstance(name, str) or not name:
        raise JsonRpcException("`function` must be a qualified name", INVALID_PARAMS)
    return name


def _signature(params: Mapping[str, Any]) -> str:
    """Id of one of the function's signatures; empty for its first one."""
    return str(params.get("signature") or "")


def _form(value: object) -> Form:
    if value == "captured":
        return "captured"
    if value == "hoisted":
        return "hoisted"
    raise JsonRpcException("a form is `captured` or `hoisted`", INVALID_PARAMS)


async def _panel(session: Session, params: Any) -> Any:
    path = _path(params)
    workspace = session.folder(path).workspace
    position = None
    if isinstance(at := params.get("position"), Mapping):
        where = types.Position(int(at["line"]), int(at["character"]))
        text = workspace.text(path)
        position = session.client.columns.from_lsp(LineIndex(text), where) if text is not None else Position(1, 1)
    name = params.get("function") or ""
    signature = _signature(params)
    return to_camel(panel(workspace, path, str(name), position, session.situation(path), signature=signature))


async def _program(session: Session, params: Any) -> Any:
    path, name = _path(params), _function(params)
    form = _form(params.get("form", "captured"))
    return to_camel(answered(await session.tracing(path).program(path, name, form, _signature(params))))


async def _constants(session: Session, params: Any) -> Any:
    path, name = _path(params), _function(params)
    return to_camel(answered(await session.tracing(path).constants(path, name, _signature(params))))


async def _jaxpr(session: Session, params: Any) -> Any:
    path = _path(params)
    return {"text": answered(await session.tracing(path).jaxpr(path, _function(params)))}


async def _time(session: Session, params: Any) -> Any:
    path, name = _path(params), _function(params)
    forms = tuple(_form(item) for item in params.get("forms") or ("captured",))
    return to_camel(answered(await session.tracing(path).time(path, name, forms, _signature(params))))


async def _trace(session: Session, params: Any) -> None:
    path = _path(params)
    if failure := await session.tracing(path).trace(path):
        raise failed(failure)


async def _consent(session: Session, params: Any) -> None:
    answer = params.get("answer") if isinstance(params, Mapping) else None
    if answer not in WHEN:
        raise JsonRpcException(f"`answer` must be one of {', '.join(WHEN)}", INVALID_PARAMS)
    named = "uri" in params and session.folder(_path(params))
    for folder in [named] if named else list(session.folders.values()):
        await session.answer(folder, answer)


async def _restart(session: Session, params: Any) -> None:
    for folder in list(session.folders.values()):
        await session.restart(folder)


async def _trusted(session: Session, params: Any) -> None:
    await session.grant_trust()


Handler = Callable[[Session, Any], Awaitable[Any]]
REQUESTS: dict[str, Handler] = {
    "jaxscope/panel": _panel,
    "jaxscope/program": _program,
    "jaxscope/constants": _constants,
    "jaxscope/jaxpr": _jaxpr,
    "jaxscope/time": _time,
    "jaxscope/trace": _trace,
    "jaxscope/consent": _consent,
    "jaxscope/restart": _restart,
}
NOTIFICATIONS: dict[str, Handler] = {"jaxscope/trusted": _trusted}
