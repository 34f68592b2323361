"""Turns `print` in traced code into `jax.debug.print`: its arguments become a format string and the values for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit
from jaxscope.text.span import Range, Span


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """Replaces the call of the `print` that stands at `place`."""
    model = project.model(path)
    found = None if model is None else _call_at(model, place)
    if model is None or found is None:
        return Refusal("`print` is not called here.", path, place.start.line)
    try:
        return _Plan(model, *found).change()
    except Refused as refused:
        return refused.refusal


def _call_at(model: FileModel, place: Range) -> tuple[ast.Call, Scope] | None:
    calls = (one for name in ("print", "") for one in model.calls_named(name))
    return next((one for one in calls if model.place(one[1], one[0].func).range == place), None)


class _Plan:
    """One call."""

    def __init__(self, model: FileModel, call: ast.Call, scope: Scope) -> None:
        self.model = model
        self.call = call
        self.scope = scope
        self.values: list[str] = []

    def change(self) -> SourceChange:
        """The call with another function and a format string."""
        for keyword in self.call.keywords:
            raise self._refuse(f"`jax.debug.print` has no `{keyword.arg or '**'}`", keyword.value)
        text = " ".join(self._shown(argument) for argument in self.call.args)
        place = self.model.place(self.scope, self.call).range
        lines = self.model.module.lines
        span = Span(lines.offset(place.start), lines.offset(place.end))
        original = self.model.module.text
        if "#" in original[span.start : span.end] and place.start.line != place.end.line:
            raise self._refuse("A comment stands between its arguments", self.call)
        new = f"{self._module()}.debug.print({', '.join([_quoted(text), *self.values])})"
        return SourceChange((FileChange(self.model.path, original, TextEdit.of([Edit(span, new)])),))

    def _module(self) -> str:
        """The name under which the file has JAX where the call stands."""
        owner = self.model.project.evaluator.owner
        for name, bindings in self.model.module_bindings.items():
            is_jax = [one.kind == "import" and (one.module, one.attribute) == ("jax", "") for one in bindings]
            if is_jax and all(is_jax):
                home = owner(name, self.scope)
                if home is not None and home.kind == "module":
                    return name
        raise self._refuse("The file does not import `jax`", self.call)

    def _shown(self, node: ast.expr) -> str:
        """The part of the format string that shows an argument."""
        if isinstance(node, ast.Starred):
            raise self._refuse("It is not known how many arguments it has", node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _escaped(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._parts(node))
        self.values.append(self._source(node))
        return "{}"

    def _parts(self, node: ast.JoinedStr) -> Iterator[str]:
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before = str(part.value)
                yield _escaped(before)
            elif isinstance(part, ast.FormattedValue):
                yield self._formatted(part, before)

    def _formatted(self, part: ast.FormattedValue, before: str) -> str:
        value = ast.unparse(part.value)
        if part.conversion != -1 and not "".join(before.split()).endswith("".join(value.split()) + "="):
            raise self._refuse("It converts a value with `!`", self.call)
        spec = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
        if any(not isinstance(one, ast.Constant) for one in spec):
            raise self._refuse("It works out how to format a value", self.call)
        how = "".join(str(one.value) for one in spec if isinstance(one, ast.Constant))
        self.values.append(value)
        return f"{{:{how}}}" if how else "{}"

    def _source(self, node: ast.expr) -> str:
        return self.model.module.source(self.model.place(self.scope, node).range)

    def _refuse(self, reason: str, node: ast.AST) -> Refused:
        return Refused(f"{reason}.", self.model.path, self.model.place(self.scope, node).range.start.line)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    shown = repr(text)
    return shown if '"' in text else '"' + shown[1:-1].replace("\\'", "'") + '"'
