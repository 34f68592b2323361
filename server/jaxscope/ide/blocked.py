"""What the side-effect guard stopped, in words, the same in every surface."""

from __future__ import annotations

from jaxscope.worker.jaxscope_worker.wire.messages import Denied

_DEEDS = {
    "write": "write",
    "delete": "delete",
    "rename": "rename",
    "process": "start the process",
    "connect": "connect to",
}


def blocked_text(item: Denied) -> str:
    """``tried to write `ckpt/step_0`; it was blocked``."""
    return f"tried to {_DEEDS[item.operation]} `{item.target}`; it was blocked"
