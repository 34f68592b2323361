"""What to run of a file, and which of its functions to trace under which signature."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping

from jaxscope.config import Config
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project
from jaxscope.tracing.call_sites import called_signatures
from jaxscope.tracing.locations import import_name, is_under, project_root
from jaxscope.tracing.recordings import recordings_for
from jaxscope.tracing.signatures import annotated_signatures, declared_signatures, project_signatures, to_guess
from jaxscope.worker.jaxscope_worker.wire.messages import DeclaredSignature, TraceRequest


def plan(
    model: FileModel,
    project: Project,
    config: Config,
    entries: tuple[str, ...] = (),
    *,
    args: str | None = None,
    function: str | None = None,
    text: str | None = None,
    overlay: Mapping[str, str] | None = None,
) -> TraceRequest:
    """The request that traces the file of `model`.

    `entries` are functions of the file to call. `args` is a signature given by hand for `function`, and goes before
    all others. `text` and `overlay` are unsaved texts of this file and of others. A name in `entries` that the file
    does not have is left out: the file is then simply imported.
    """
    path = model.module.path
    folder, name = import_name(path)
    root = project.root if is_under(folder, project.root) else project_root(path)
    given = (DeclaredSignature(function, args, "declared", "--args"),) if args is not None and function else ()
    declared = tuple(item for item in declared_signatures(model) if not given or item.function != function)
    in_project = tuple(item for item in project_signatures(model) if not given or item.function != function)
    declared += in_project
    better = frozenset(item.function for item in (*given, *declared))
    recordings = recordings_for(path)
    compiled = {site.function.qualname for site in model.traced}
    if recordings and (evidence := recordings.evidence(path, project)):
        compiled |= {item.function for item in evidence.reply.functions}
    # What was compiled in a run may be no more; tracing it would then tell of a program that nobody has.
    recorded = tuple(
        item
        for item in (recordings.signatures(model) if recordings else ())
        if item.function not in better and item.function in compiled
    )
    better |= {item.function for item in recorded}
    annotated = annotated_signatures(model, project, better)
    better |= {item.function for item in annotated}
    # The worker takes these where no call traced the function, a guess only where the call in the source did not do.
    unsure = (*called_signatures(model, project, better), *to_guess(model, better))
    later = [item for item in unsure if function in (None, item.function)]
    callable_here = entry_names(model)
    return TraceRequest(
        path=path,
        root=root,
        module=name,
        text=text,
        overlay=dict(overlay) if overlay else None,
        entries=tuple(entry for entry in entries if entry in callable_here),
        declared=(*given, *declared, *recorded, *annotated, *later),
        allow_side_effects=config.trace.allow_side_effects,
        paths=() if os.path.realpath(folder) == os.path.realpath(root) else (folder,),
    )


def entry_names(model: FileModel) -> frozenset[str]:
    """Names under which something of the file can be called once it is imported: functions, and what its top level
    imports or assigns."""
    names = {item.qualname for item in model.functions}
    for statement in model.module.tree.body if model.module.tree else ():
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, ast.Assign):
            names.update(target.id for target in statement.targets if isinstance(target, ast.Name))
    return frozenset(names)
