"""The language server: which request goes to which handler, and that no handler's mistake ends the server."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

import jaxscope
from jaxscope.lsp import ext
from jaxscope.lsp.client import Client
from jaxscope.lsp.convert import to_path
from jaxscope.lsp.handlers import (
    apply_fix,
    code_action,
    code_lens,
    configuration,
    fix_all,
    hover,
    show_place,
    text_documents,
)
from jaxscope.lsp.session import Session

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
_WATCHED = ("**/*.py", "**/pyproject.toml", "**/.jaxscope/recordings/**")
_SYNC = types.TextDocumentSyncKind.Incremental


class Server(LanguageServer):
    """One connection to one client."""

    def __init__(self) -> None:
        super().__init__(
            "jaxscope", jaxscope.__version__, _SYNC, None, protocol_cls=ext.Protocol, converter_factory=_converter
        )
        self.session: Session | None = None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Errors outside of a request are for the log: the user cannot do anything about them."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def _converter() -> Any:
    converter: Any = default_converter()  # type: ignore[no-untyped-call]
    ext.register_types(converter)
    return converter


def serve(port: int | None = None) -> None:
    """Serves one client on standard input and output, or one on this port of the loopback interface."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("jaxscope").setLevel(logging.INFO)
    logging.getLogger("pygls.protocol.json_rpc").setLevel(logging.CRITICAL)
    server = make_server()
    try:
        if port is None:
            server.start_io()
        else:
            server.start_tcp(LOOPBACK, port)
    finally:
        if server.session:
            server.session.stop()


def make_server() -> Server:
    """A server with all its handlers."""
    server = Server()
    server.feature(types.INITIALIZE)(lambda params: _initialize(server, params))
    server.feature(types.INITIALIZED)(_guarded(server, _initialized))
    server.feature(types.SHUTDOWN)(lambda *_: server.session.stop() if server.session else None)
    for method, handler, options in _FEATURES:
        server.feature(method, options)(_guarded(server, handler))
    for method, own in (ext.REQUESTS | ext.NOTIFICATIONS).items():
        server.feature(method)(_own(server, own))
    server.command(code_action.APPLY_FIX)(_command(server, apply_fix.handle))
    server.command(code_action.FIX_ALL)(_command(server, fix_all.handle))
    server.command(code_action.SHOW_PLACE)(_command(server, show_place.handle))
    server.command("jaxscope.cancel")(_command(server, _cancel))
    return server


def _initialize(server: Server, params: types.InitializeParams) -> None:
    options = params.initialization_options
    options = options if isinstance(options, Mapping) else {}
    commands = options.get("commands") is True
    if not commands:
        server.command("jaxscope.traceNow")(_command(server, _trace_now))
    folders = [folder.uri for folder in params.workspace_folders or []]
    if not folders and params.root_uri:
        folders = [params.root_uri]
    roots = [path for path in map(to_path, folders) if path]
    if not roots and params.root_path:
        roots = [os.path.normpath(params.root_path)]
    client = Client(server, params, commands)
    server.session = Session(client, roots, configuration.settings_of(options), options.get("trusted") is True)


async def _initialized(session: Session, params: types.InitializedParams) -> None:
    session.spawn(session.start())
    session.watch_recordings()
    await session.client.register_watchers(_WATCHED)


async def _cancel(session: Session, uri: Any, *rest: Any) -> None:
    if path := to_path(str(uri)):
        session.tracing(path).cancel(path)


async def _trace_now(session: Session, uri: Any, *rest: Any) -> None:
    if (path := to_path(str(uri))) and (failure := await session.tracing(path).trace(path)):
        session.client.message(failure.message, types.MessageType.Warning)


_FEATURES: tuple[tuple[str, Callable[..., Any], Any], ...] = (
    (types.TEXT_DOCUMENT_DID_OPEN, text_documents.did_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, text_documents.did_change, None),
    (types.TEXT_DOCUMENT_DID_SAVE, text_documents.did_save, types.SaveOptions(include_text=False)),
    (types.TEXT_DOCUMENT_DID_CLOSE, text_documents.did_close, None),
    (types.TEXT_DOCUMENT_HOVER, hover.handle, None),
    (types.TEXT_DOCUMENT_CODE_LENS, code_lens.handle, None),
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        code_action.handle,
        types.CodeActionOptions(code_action_kinds=list(code_action.KINDS)),
    ),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, configuration.did_change_configuration, None),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, configuration.did_change_folders, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, configuration.did_change_files, None),
)


def _guarded(server: Server, handler: Callable[..., Any]) -> Callable[..., Any]:
    """`handler` with the session as first argument; a mistake in it is logged and answered with nothing."""
    name = f"{handler.__module__.rsplit('.', 1)[-1]}.{handler.__name__}"
    if inspect.iscoroutinefunction(handler):

        async def run_async(params: Any) -> Any:
            if server.session is None:
                return None
            try:
                return await handler(server.session, params)
            except JsonRpcException:
                raise
            except Exception:
                logger.exception("in %s", name)
                return None

        return run_async

    def run(params: Any) -> Any:
        if server.session is None:
            return None
        try:
            return handler(server.session, params)
        except Exception:
            logger.exception("in %s", name)
            return None

    return run


def _own(server: Server, handler: ext.Handler) -> Callable[..., Any]:
    """A handler of our own requests; a mistake in it is logged and answered with an error."""

    async def run(params: Any) -> Any:
        if server.session is None:
            raise JsonRpcException("not initialized", -32002)
        try:
            return await handler(server.session, params if params is not None else {})
        except JsonRpcException:
            raise
        except Exception as error:
            logger.exception("in %s", handler.__name__)
            raise JsonRpcException(f"{type(error).__name__}: {error}", ext.REQUEST_FAILED) from error

    return run


def _command(server: Server, handler: Callable[..., Any]) -> Callable[..., Any]:
    async def run(*arguments: Any) -> Any:
        return await _own(server, lambda session, given: handler(session, *given))(arguments)

    return run
