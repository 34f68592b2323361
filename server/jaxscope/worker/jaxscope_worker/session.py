"""What a worker keeps between requests: the programs it saw being traced, and the texts it can be asked for.

A worker serves one version of one project, so nothing in here is ever invalidated. Later requests (`lower`, `time`,
`verify`) name a program by the id that the `trace` reply gave it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from .sources import UserFiles
from .wire.messages import Constant, FetchReply, FetchRequest, TracedFunction


@dataclass
class LiveConstant:
    """One captured array with its value, which never leaves the process."""

    value: Any
    """As it stands in the jaxpr: `jax.Array`, `numpy.ndarray` or one of JAX's wrappers around it (`.val`)."""
    key: tuple[Any, ...]
    """Equal for the same array: `("id", id)`, or `("np", address, shape, strides, dtype)` of a host array."""
    aval: Any
    """Abstract value of the constvar; its dtype may be narrower than the value's."""
    described: Constant | None = None
    """What the reply says of it; None for constants below `min_bytes`."""


@dataclass
class Program:
    """One function traced under one signature, alive."""

    id: str
    jaxpr: Any
    """The closed jaxpr as JAX returned it (`ClosedJaxpr`, or `Jaxpr` that owns its consts)."""
    in_avals: tuple[Any, ...]
    """Avals of the arguments, flat, in the order of `jaxpr.in_avals`."""
    donated: tuple[bool, ...]
    """One flag per entry of `in_avals`."""
    outer_tracers: int
    """So many leading `in_avals` are values of an enclosing trace, not arguments of the user's call."""
    constants: list[LiveConstant]
    """Array constants of the jaxpr and its nested ones, each once, in the order of the reply; small ones last."""
    name: str
    """What JAX calls it in the lowered module."""
    fun: Any = None
    """The callable that was given to `jit`."""
    wrapped: Any = None
    """The jit wrapper (`.trace`, `.lower`), when it is known."""
    params: dict[str, Any] = field(default_factory=dict)
    """Parameters of the jit equation (shardings, donation, ...), as this version of JAX has them."""
    function: TracedFunction | None = None
    """What the reply said."""
    shardings: tuple[Any, ...] = ()
    """How each of `in_avals` came spread over devices, None for one device; empty when that is not known."""
    call: Any = None
    """The `JitCall` that traced it, with shapes in place of arrays; None when it used values of an enclosing trace."""


@dataclass
class Session:
    """State of one worker process."""

    programs: dict[str, Program] = field(default_factory=dict)
    texts: dict[str, str | Callable[[], str]] = field(default_factory=dict)
    """By handle; a function is called when the text is first asked for."""
    files: UserFiles | None = None
    """Which files are the user's; set by the first trace."""
    module: ModuleType | None = None
    """The module that was imported last."""
    results: dict[str, Any] | None = None
    """What the entries returned, by entry; None when nobody wants them, for they may be large."""

    def add_text(self, handle: str, text: str | Callable[[], str]) -> str:
        """Keeps `text` for `fetch` and returns its handle."""
        self.texts[handle] = text
        return handle

    def text(self, handle: str) -> str:
        """The text of a handle. Raises KeyError."""
        text = self.texts[handle]
        if not isinstance(text, str):
            text = self.texts[handle] = text()
        return text

    def fetch(self, request: FetchRequest) -> FetchReply:
        """A slice of a kept text. Raises KeyError."""
        text = self.text(request.handle)
        return FetchReply(text[request.offset : request.offset + request.limit], len(text))
