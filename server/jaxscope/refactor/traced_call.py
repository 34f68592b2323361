"""A call in traced code that a fix replaces by one that JAX makes when the program runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxscope.refactor.change import Refused
from jaxscope.refactor.program.references import Files
from jaxscope.semantics.effects.effects import effects_of
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit
from jaxscope.text.span import Range, Span


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call, and the scope that it stands in."""

    model: FileModel
    node: ast.Call
    scope: Scope

    def module(self) -> str:
        """The name under which the file has JAX where the call stands. Raises Refused."""
        file = Files(self.model.project).get(self.model.path)
        node = file.at(self.model.place(self.scope, self.node).range)
        name = file.name_of("jax", file.scope_of(node)) if node is not None else None
        if name is not None:
            return name
        raise self.refuse("The file does not import `jax`", self.node)

    def replaced(self, new: str) -> SourceChange:
        """The change that writes `new` for it. Raises Refused where a comment would be lost."""
        place = self.model.place(self.scope, self.node).range
        lines = self.model.module.lines
        span = Span(lines.offset(place.start), lines.offset(place.end))
        original = self.model.module.text
        if "#" in original[span.start : span.end] and place.start.line != place.end.line:
            raise self.refuse("A comment stands between its arguments", self.node)
        return SourceChange((FileChange(self.model.path, original, TextEdit.of([Edit(span, new)])),))

    def source(self, node: ast.expr) -> str:
        """A part of it as written."""
        return self.model.module.source(self.model.place(self.scope, node).range)

    def refuse(self, reason: str, node: ast.AST) -> Refused:
        """The refusal that `node` is the cause of."""
        return Refused(f"{reason}.", self.model.path, self.model.place(self.scope, node).range.start.line)


def traced_call(project: Project, path: str, place: Range) -> TracedCall:
    """The call of what stands at `place`. Raises Refused."""
    model = project.model(path)
    for effect in effects_of(model) if model is not None else ():
        node = effect.candidate.node
        if effect.call is not None and effect.at.place.range == place and isinstance(node, ast.Call):
            assert model is not None
            return TracedCall(model, node, effect.candidate.scope)
    raise Refused("Nothing is called here.", path, place.start.line)
