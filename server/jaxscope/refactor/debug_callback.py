"""Turns a logging call in traced code into one that `jax.debug.callback` makes when the program runs.

The call stays as it is, in a lambda that is given the values of that moment.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.program.names import identifiers, unused_numbered
from jaxscope.refactor.traced_call import TracedCall, traced_call
from jaxscope.semantics.effects import texts
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange, TextEdit
from jaxscope.text.span import Range, Span

_STATIC = ("shape", "dtype")
"""Attributes that a value has at the call and when it is called back alike."""


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """Replaces the logging call that stands at `place`."""
    try:
        return _Plan(traced_call(project, path, place)).change()
    except Refused as refused:
        return refused.refusal


class _Plan:
    """One call."""

    def __init__(self, call: TracedCall) -> None:
        self.call = call
        self.given: dict[str, str] = {}
        """The lambda's parameters, and what each is given."""
        self.edits: list[Edit] = []
        """Of the call's own text, where values become parameters."""

    def change(self) -> SourceChange:
        """The call, called back."""
        self._check()
        for argument in self.call.node.args:
            self._take(argument)
        text = TextEdit.of(self.edits).apply(self.call.source(self.call.node))
        parameters, values = ", ".join(self.given), "".join(f", {value}" for value in self.given.values())
        space = " " if parameters else ""
        return self.call.called_back("callback", f"lambda{space}{parameters}: {text}{values}")

    def _check(self) -> None:
        call, node = self.call, self.call.node
        if node.keywords:
            raise call.refuse(
                f"`{node.keywords[0].arg or '**'}` tells of the moment of the call", node.keywords[0].value
            )
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method == "exception":
            raise call.refuse("It logs the exception of the moment of the call", node)
        if method == "log" and not all(map(self._is_fixed, node.args[:1])):
            raise call.refuse("Its level would become an array", node)
        root = _root(node.func)
        if not isinstance(root, ast.Name) or not call.bindings(root.id):
            raise call.refuse("The logger is not a name", node)
        if len(call.bindings(root.id)) != 1:
            raise call.refuse(f"`{root.id}` may be another logger by then", node)

    def _is_fixed(self, node: ast.expr) -> bool:
        """Is it written out, or something imported: the same whenever it is called?"""
        root = _root(node)
        if not isinstance(root, ast.Name):
            return isinstance(root, ast.Constant)
        home = self.call.model.project.evaluator.owner(root.id, self.call.scope)
        bindings = self.call.model.module_bindings.get(root.id, ())
        return home is not None and home.kind == "module" and [one.kind for one in bindings] == ["import"]

    def _take(self, argument: ast.expr) -> None:
        """Makes parameters of the values in an argument."""
        if isinstance(argument, ast.Starred):
            raise self.call.refuse("It is not known how many arguments it has", argument)
        inside = texts.values(argument)
        for node in [argument] if inside is None else inside:
            if self._is_fixed(node) or self.call.text_of(node) is not None:
                continue
            if isinstance(node, ast.Attribute) and node.attr in _STATIC:
                node = node.value  # a shape that is given becomes one of arrays
            elif self.call.is_text(node):
                raise self.call.refuse(f"`{ast.unparse(node)}` is a string, which a callback is not given", node)
            if isinstance(node, ast.Name):
                self.given[node.id] = node.id
            elif isinstance(argument, ast.JoinedStr):
                raise self.call.refuse("The f-string works something out", argument)
            else:
                self._replace(node)

    def _replace(self, node: ast.expr) -> None:
        taken = identifiers(self.call.node) | self.given.keys()
        name = next(unused_numbered("value", taken))
        self.given[name] = self.call.source(node)
        lines, model, scope = self.call.model.module.lines, self.call.model, self.call.scope
        place, whole = model.place(scope, node).range, model.place(scope, self.call.node).range
        start = lines.offset(whole.start)
        self.edits.append(Edit(Span(lines.offset(place.start) - start, lines.offset(place.end) - start), name))


def _root(node: ast.expr) -> ast.expr:
    """`a` of `a.b.c`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
