"""Turns `print` in traced code into `jax.debug.print`: its arguments become a format string and the values for it."""

from __future__ import annotations

import ast
from string import Formatter

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.traced_call import TracedCall, traced_call
from jaxscope.semantics.effects import texts
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range

_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.Set)


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """Replaces the call of the `print` that stands at `place`."""
    try:
        return _Plan(traced_call(project, path, place)).change()
    except Refused as refused:
        return refused.refusal


class _Plan:
    """One call."""

    def __init__(self, call: TracedCall) -> None:
        self.call = call
        self.values: list[str] = []

    def change(self) -> SourceChange:
        """The call with another function and a format string."""
        between = self._options()
        node = self.call.node
        text = between.join(self._shown(argument) for argument in node.args)
        if ("{" in text or "}" in text) and next(iter(Formatter().parse(text)))[1] is None:
            # JAX 0.10 looks no further than there for values, and prints such a text as it is, with its braces doubled.
            raise self.call.refuse("`jax.debug.print` shows braces before the first value in another way", node)
        return self.call.called_back("print", ", ".join([_quoted(text), *self.values]))

    def _options(self) -> str:
        """What stands between two arguments."""
        between = " "
        for keyword in self.call.node.keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else ...
            if keyword.arg == "sep" and isinstance(value, str | None):
                between = " " if value is None else value
            elif keyword.arg == "end" and value not in (None, "\n"):
                raise self.call.refuse("`jax.debug.print` always ends the line", keyword.value)
            elif keyword.arg not in ("end", "flush") or value is ...:
                raise self.call.refuse(f"`jax.debug.print` has no `{keyword.arg or '**'}`", keyword.value)
        return _escaped(between)

    def _shown(self, node: ast.expr) -> str:
        """The part of the format string that shows an argument."""
        if isinstance(node, ast.Starred):
            raise self.call.refuse("It is not known how many arguments it has", node)
        try:
            parts = texts.parts(node)
        except texts.Unclear as unclear:
            raise self.call.refuse(str(unclear), node) from None
        parts = [texts.Shown(node)] if parts is None else parts
        return "".join(_escaped(part) if isinstance(part, str) else self._value(part) for part in parts)

    def _value(self, part: texts.Shown) -> str:
        node = part.node
        if isinstance(node, ast.Constant):
            try:
                return _escaped(format(node.value, part.how))
            except (TypeError, ValueError):
                raise self.call.refuse("It formats what is written out in a way that fails", self.call.node) from None
        if isinstance(node, _CONTAINERS) or (isinstance(node, ast.Attribute) and node.attr == "shape"):
            raise self.call.refuse("A container is printed in another form", self.call.node)
        text = ast.unparse(node) if part.literally else self.call.source(node)
        self.values.append(text)
        return f"{{:{part.how}}}" if part.how else "{}"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _quoted(text: str) -> str:
    return repr(text) if '"' in text else f'"{repr(text)[1:-1]}"'
