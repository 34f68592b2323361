"""`lower`: the StableHLO of a traced function, as JAX lowers it or with its constants as arguments."""

from __future__ import annotations

import os
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
    module = lowering.lower(lowering.form_of(program, request.form, program.donated))
    files = session.files or UserFiles(os.getcwd())
    operations = rows.describe(module, program, files)
    return LowerReply(operations, lowering.bytecode_size(module.lowered), module.seconds, jax.default_backend())
