"""The retraces that a fix is asked for, found again in the text as it is by then."""

from __future__ import annotations

from jaxscope.refactor.change import Refused
from jaxscope.semantics.compiled.callers import CompiledCall
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.rebuilt import Rebuilt
from jaxscope.semantics.retracing.retraces import retraces_of
from jaxscope.semantics.retracing.varied import Varied
from jaxscope.semantics.stale.staleness import stale_of
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range


def varied_at(project: Project, path: str, place: Range, parameter: str) -> tuple[FileModel, Varied]:
    """The argument for `parameter` that differs each time, in a call on the line of `place`. Raises Refused."""
    model = project.model(path)
    for one in retraces_of(model)[1] if model else ():
        assert model is not None
        whole = model.module.range(one.call.scope.chunk, one.call.node)
        if one.parameter == parameter and whole.start.line <= place.start.line <= whole.end.line:
            return model, one
    raise Refused("There is no argument here that makes JAX trace again.", path, place.start.line)


def rebuilt_at(project: Project, path: str, place: Range) -> tuple[FileModel, Rebuilt]:
    """The function that is compiled anew each time, at `place`. Raises Refused."""
    model = project.model(path)
    for one in retraces_of(model)[0] if model else ():
        assert model is not None
        if model.module.range(one.scope.chunk, one.node).start == place.start:
            return model, one
    raise Refused("There is no compiled function here that is made anew.", path, place.start.line)


def compiled_place(model: FileModel, call: CompiledCall) -> tuple[str, Range]:
    """Where the function that is called is compiled. Raises Refused."""
    other: FileModel = call.function.chunk.facts["model"]
    for one in (model, other):
        for site in one.sites:
            if site.node is call.compiled_at:
                return one.path, one.module.range(site.scope.chunk, site.node)
    line = model.module.range(call.scope.chunk, call.node).start.line
    raise Refused("It cannot be seen where the function is compiled.", model.path, line)


def check_stale(project: Project, change: SourceChange, path: str, line: int) -> None:
    """Raises Refused, for the line, where a function that is compiled once would read what changes afterwards."""
    scratch = project.changed({file.path: file.changed for file in change.files})
    for file in change.files:
        before = project.model(file.path)
        after = scratch.model(file.path)
        known = {one.name for one in stale_of(before)} if before else set()
        found = sorted({one.name for one in stale_of(after)} - known) if after else []
        if found:
            raise Refused(f"`{found[0]}` may change after it was compiled.", path, line)
