"""Reads requests and answers them, one after the other, on the main thread.

A request of method `m` is answered by `handlers/m.py`: its `handle(session, request, progress)` returns the reply, or
raises `Failed`. Any other exception is a fault of ours; it is answered too, and the worker goes on.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from .channel import Channel
from .failing import Failed
from .session import Session
from .wire import codec
from .wire.messages import PROTOCOL, Failure, FetchRequest, Hello, Progress, ShutdownReply
from .wire.requests import METHODS

Report = Callable[[str, str, "float | None"], None]
"""Tells how far a request is: stage, detail, share done."""


def serve(channel: Channel) -> int:
    """Says hello and answers until the server goes or asks to stop. Returns the exit status."""
    hello = _hello()
    channel.write({"hello": codec.to_json(hello)})
    session = Session()
    if hello.jax is not None:
        _warm_up()
    try:
        while (message := channel.read()) is not None:
            channel.write(_answer(message, hello, session, channel))
            if message.get("method") == "shutdown":
                break
    except OSError:
        return 1
    return 0


def _hello() -> Hello:
    error, versions, x64, hoisted = None, (None, None), False, False
    try:
        import jax
        import jaxlib

        versions = (jax.__version__, getattr(jaxlib, "__version__", None))
        x64 = bool(jax.config.jax_enable_x64)
        hoisted = bool(getattr(jax.config, "jax_use_simplified_jaxpr_constants", False))
    except BaseException as failure:  # an import can fail in any way, and the server must hear of it
        error = "".join(traceback.format_exception_only(type(failure), failure)).strip()
    return Hello(
        protocol=PROTOCOL,
        python="{}.{}.{}".format(*sys.version_info[:3]),
        executable=sys.executable,
        jax=versions[0],
        jaxlib=versions[1],
        platform=os.environ.get("JAX_PLATFORMS") or "default",
        constants="hoisted" if hoisted else "inlined",
        x64=x64,
        error=error,
    )


def _warm_up() -> None:
    """Imports what a first trace would import. A failure shows again, and better, when a request needs it."""
    try:
        importlib.import_module(".handlers.trace", __package__)
        from . import jax_compat

        jax_compat.warm_up()
    except Exception:
        traceback.print_exc()


def _answer(message: dict[str, Any], hello: Hello, session: Session, channel: Channel) -> dict[str, Any]:
    number, method = message.get("id"), message.get("method")

    def progress(stage: str, detail: str = "", done: float | None = None) -> None:
        channel.write({"progress": codec.to_json(Progress(number, stage, detail, done))})

    try:
        reply = _reply(method, message.get("params", {}), hello, session, progress)
    except Failed as failed:
        return {"id": number, "failure": codec.to_json(failed.failure)}
    except Exception as error:
        traceback.print_exc()
        failure = Failure("unsupported", f"{type(error).__name__}: {error}", None, traceback.format_exc())
        return {"id": number, "failure": codec.to_json(failure)}
    return {"id": number, "result": codec.to_json(reply)}


def _reply(method: Any, params: Any, hello: Hello, session: Session, progress: Report) -> Any:
    if method not in METHODS:
        raise Failed(Failure("unsupported", f"this worker knows no request {method!r}"))
    try:
        request = codec.from_json(METHODS[method], params)
    except codec.ProtocolError as error:
        raise Failed(Failure("unsupported", f"{method}: {error}")) from None
    if method == "shutdown":
        return ShutdownReply()
    if isinstance(request, FetchRequest):
        try:
            return session.fetch(request)
        except KeyError:
            raise Failed(Failure("unsupported", f"no text {request.handle!r} is kept")) from None
    if hello.jax is None:
        raise Failed(Failure("no-jax", f"jax cannot be imported: {hello.error}"))
    handler = importlib.import_module(f".handlers.{method}", __package__)
    return handler.handle(session, request, progress)
