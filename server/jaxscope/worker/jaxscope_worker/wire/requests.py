"""What a worker can be asked: the name of each request on the wire, its message and that of its reply."""

from __future__ import annotations

from .constants import ConstantsReply, ConstantsRequest
from .messages import (
    FetchReply,
    FetchRequest,
    LowerReply,
    LowerRequest,
    ShutdownReply,
    ShutdownRequest,
    TraceReply,
    TraceRequest,
    VerifyReply,
    VerifyRequest,
)
from .timing import TimeReply, TimeRequest

REPLIES: dict[type, type] = {
    TraceRequest: TraceReply,
    LowerRequest: LowerReply,
    ConstantsRequest: ConstantsReply,
    TimeRequest: TimeReply,
    VerifyRequest: VerifyReply,
    FetchRequest: FetchReply,
    ShutdownRequest: ShutdownReply,
}

METHODS: dict[str, type] = {
    "trace": TraceRequest,
    "lower": LowerRequest,
    "constants": ConstantsRequest,
    "time": TimeRequest,
    "verify": VerifyRequest,
    "fetch": FetchRequest,
    "shutdown": ShutdownRequest,
}
