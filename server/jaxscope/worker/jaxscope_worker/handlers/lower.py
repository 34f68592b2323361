"""`lower`: the StableHLO of a traced function, as JAX lowers it or with its constants as arguments."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import jax

from .. import lowering, rows
from ..session import Session
from ..sources import UserFiles
from ..wire.messages import LowerReply, LowerRequest

Report = Callable[[str, str, "float | None"], None]


def handle(session: Session, request: LowerRequest, progress: Report) -> LowerReply:
    """Answers a lower request. Raises Failed for an unknown function."""
    program = lowering.program_of(session, request.function)
    progress("lowering", program.name, None)
    form = lowering.form_of(program, request.form, donate=True)
    traced = form.trace()
    started = time.perf_counter()
    lowered = traced.lower()
    seconds = time.perf_counter() - started
    files = session.files or UserFiles(os.getcwd())
    operations = rows.describe(lowering.printed(lowered), program, traced, form.staged.constants, files)
    return LowerReply(operations, lowering.bytecode_size(lowered), seconds, jax.default_backend())
