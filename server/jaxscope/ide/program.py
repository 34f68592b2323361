"""A lowered module as the rows of the StableHLO tab."""

from __future__ import annotations

from jaxscope.ide.hover import unnamed
from jaxscope.ide.panel_model import OperationRow, ProgramText, SourceLine
from jaxscope.worker.jaxscope_worker.wire.messages import LowerReply, Operation, TracedFunction


def program_text(reply: LowerReply, traced: TracedFunction) -> ProgramText:
    """The rows of `reply`, with the captured arrays by name."""
    rows = tuple(_row(item, traced) for item in reply.operations)
    operations = [row for row in rows if row.op]
    return ProgramText(
        rows=rows,
        module_bytes=reply.module_bytes,
        seconds=reply.seconds,
        platform=reply.platform,
        operations=len(operations),
        located=sum(1 for row in operations if row.lines),
    )


def _row(item: Operation, traced: TracedFunction) -> OperationRow:
    captured = ""
    if 0 <= item.captured < len(traced.constants):
        constant = traced.constants[item.captured]
        captured = constant.name or unnamed(traced.path, constant)
    return OperationRow(
        text=item.text,
        op=item.op,
        lines=tuple(SourceLine(frame.path, frame.line) for frame in item.frames),
        captured=captured,
        literal=item.literal,
    )
