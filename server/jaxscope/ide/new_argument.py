"""The type of a new argument, put into the signatures under which its function is traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from jaxscope.ide.numbers import short_type
from jaxscope.rules.finding import Finding
from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange, TextEdit
from jaxscope.text.span import Position, Span
from jaxscope.tracing.signatures import declared_signatures
from jaxscope.worker.jaxscope_worker.wire.messages import DeclaredSignature


def in_comments(project: Project, finding: Finding, change: SourceChange) -> SourceChange:
    """`change`, with the type of the new argument put into the comments that declare the function's shapes."""
    model = project.model(finding.path)
    file = next((item for item in change.files if item.path == finding.path), None)
    declared = [item for item in declared_signatures(model) if item.function == finding.function] if model else []
    if model is None or file is None or not declared:
        return change
    scratch = Project(project.root)
    scratch.set_text(file.path, file.changed)
    edits = list(file.edit.edits)
    for item in declared:
        signature = _signature(model, scratch.model(file.path), item, [finding])
        if signature not in (None, item.signature):
            line = int(item.origin.rpartition(":")[2])
            start = file.original.find(item.signature, model.module.lines.offset(Position(line, 1)))
            edits.append(Edit(Span(start, start + len(item.signature)), str(signature)))
    other = dataclasses.replace(file, edit=TextEdit.of(edits))
    return dataclasses.replace(change, files=tuple(other if item is file else item for item in change.files))


def in_signatures(
    before: FileModel,
    after: FileModel,
    known: Iterable[DeclaredSignature],
    present: Iterable[DeclaredSignature],
    findings: Sequence[Finding],
) -> tuple[DeclaredSignature, ...]:
    """What to trace the changed file with: `present`, but the functions of `findings` as they were traced before.

    `known` are the signatures of the file before. Of the file after, neither recordings nor annotations tell the new
    argument, and calls in the source only at times.
    """
    touched = {finding.function for finding in findings if finding.path == before.module.path}
    made = [
        dataclasses.replace(item, signature=signature, line=0)
        for item in known
        if item.function in touched
        and item.source != "guess"
        and (signature := _signature(before, after, item, findings)) is not None
    ]
    named = {item.function for item in made}
    return (*made, *(item for item in present if item.function not in named))


def _signature(
    before: FileModel, after: FileModel | None, item: DeclaredSignature, findings: Iterable[Finding]
) -> str | None:
    """A signature with the types of the parameters that its function has got; None where that cannot be said."""
    old, new = before.function(item.function), after.function(item.function) if after else None
    if old is None or new is None:
        return None
    avals = split_avals(item.signature)
    names = _names(old)
    arrays = [finding for finding in findings if finding.function == item.function]
    added = [(index, name) for index, name in enumerate(_names(new)) if name not in names]
    for index, name in added:
        alike = [each for each in arrays if len(arrays) == len(added) == 1 or _last(each.name) == name]
        array = alike[0].array if len(alike) == 1 else None
        if array is None or array.shape is None or array.dtype is None or array.count != 1 or index > len(avals):
            return None
        avals.insert(index, short_type(array.dtype, array.shape))
    return ", ".join(avals)


def _names(function: Function) -> list[str]:
    """Parameters that a signature has an aval for."""
    names = [parameter.name for parameter in function.parameters if parameter.kind not in ("star", "double-star")]
    return names[1:] if function.owner_class is not None and names[:1] in (["self"], ["cls"]) else names


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def split_avals(signature: str) -> list[str]:
    """`f32[3,700], {w: f32[8,8], b: f32[8]}` as its two parts."""
    parts, depth, part = [], 0, ""
    for char in signature:
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    return [*parts, part.strip()] if part.strip() or parts else []
