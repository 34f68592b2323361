"""A call in traced code that a fix replaces by one that JAX makes when the program runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxscope.refactor.change import Refused
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.syntax import replace
from jaxscope.semantics.effects.effects import effects_of
from jaxscope.semantics.evaluation.values import Const, Scalar, Value
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Binding, Scope
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call, and the scope that it stands in."""

    model: FileModel
    node: ast.Call
    scope: Scope

    def called_back(self, function: str, arguments: str) -> SourceChange:
        """The change that calls a function of `jax.debug` instead. Raises Refused where a comment would be lost."""
        file = Files(self.model.project).get(self.model.path)
        place = self.model.place(self.scope, self.node).range
        node = file.at(place)
        if node is None or ("#" in file.layout.source(node) and place.start.line != place.end.line):
            raise self.refuse("A comment stands between its arguments", self.node)
        name, imports = imported(file, node, "jax.debug")
        edits = Edits()
        edits.add(file, [*imports, replace(file.layout, node, f"{name}.{function}({arguments})")])
        return edits.change()

    def value(self, node: ast.expr) -> Value:
        """What is known of a part of it, whoever calls the function."""
        evaluator = self.model.project.evaluator
        return evaluator.evaluate(node, self.scope, evaluator.generic_frame(self.scope, self.model))

    def bindings(self, name: str) -> list[Binding]:
        """What binds a name that it reads."""
        owner = self.model.project.evaluator.owner(name, self.scope)
        found = self.model.module_bindings if owner is None or owner.kind == "module" else owner.bindings
        return list(found.get(name, ()))

    def is_text(self, node: ast.expr) -> bool:
        """Is it known to be a string?"""
        value = self.value(node)
        return (isinstance(value, Const) and isinstance(value.value, str)) or value == Scalar("str")

    def text_of(self, node: ast.expr) -> str | None:
        """What a name holds all the time, where that is a string. What a parameter holds, other files may say too."""
        bindings = self.bindings(node.id) if isinstance(node, ast.Name) else []
        if len(bindings) != 1 or bindings[0].kind == "parameter":
            return None
        value = self.value(node)
        return value.value if isinstance(value, Const) and isinstance(value.value, str) else None

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
