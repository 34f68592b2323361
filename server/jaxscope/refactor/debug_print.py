"""Turns `print` in traced code into `jax.debug.print`: its arguments become a format string and the values for it."""

from __future__ import annotations

import ast
from string import Formatter

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.traced_call import TracedCall, traced_call
from jaxscope.semantics.effects import texts
from jaxscope.semantics.evaluation.values import Array, Const, External, Scalar
from jaxscope.semantics.names.scopes import Binding
from jaxscope.semantics.project import Project
from jaxscope.semantics.vocabulary import ARRAY_METHODS, METADATA, words
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range

_NO_TUPLES = (ast.Constant, ast.JoinedStr, ast.Compare, ast.UnaryOp)
_OF_NUMBERS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult)
"""Operators that tuples do not have."""
_ARRAYS = tuple(f"jax.numpy.{name}" for name in words("sum mean max min prod std var dot vdot sqrt exp log abs tanh"))
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
        self.texts: list[str] = []
        """Names of strings, which JAX does not take everywhere: they are put in while tracing."""

    def change(self) -> SourceChange:
        """The call with another function and a format string."""
        between = self._options()
        node = self.call.node
        text = between.join(self._shown(argument) for argument in node.args)
        if ("{" in text or "}" in text) and next(iter(Formatter().parse(text)))[1] is None:
            # JAX 0.10 looks no further than there for values, and prints such a text as it is, with its braces doubled.
            raise self.call.refuse("`jax.debug.print` shows braces before the first value in another way", node)
        if self.texts:
            text = f"f{_quoted(_escaped(text))}"
            for number, name in enumerate(self.texts):
                if text.count(_mark(number)) > 1:
                    raise self.call.refuse(f"It prints `{_mark(number)}`", node)
                text = text.replace(_mark(number), f"{{{name}}}")
        else:
            text = _quoted(text)
        return self.call.called_back("print", ", ".join([text, *self.values]))

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
        right = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else None
        if right is not None and not isinstance(right, ast.Tuple) and not self._is_one(right):
            raise self.call.refuse(f"`{ast.unparse(right)}` may be a tuple, whose items `%` shows", node)
        parts = [texts.Shown(node)] if parts is None else parts
        return "".join(_escaped(part) if isinstance(part, str) else self._value(part) for part in parts)

    def _value(self, part: texts.Shown) -> str:
        node = part.node
        if isinstance(node, ast.Constant):
            try:
                return _escaped(format(node.value, part.how))
            except (TypeError, ValueError):
                raise self.call.refuse("It formats what is written out in a way that fails", self.call.node) from None
        known = self.call.text_of(node)
        if known is not None or self.call.is_text(node):
            if known is None or part.how or "{" in known or "}" in known:
                raise self.call.refuse(f"`{ast.unparse(node)}` is a string, which JAX does not take everywhere", node)
            self.texts.append(ast.unparse(node))
            return _mark(len(self.texts) - 1)
        if isinstance(node, _CONTAINERS) or (isinstance(node, ast.Attribute) and node.attr == "shape"):
            raise self.call.refuse("A container is printed in another form", self.call.node)
        text = ast.unparse(node) if part.literally else self.call.source(node)
        self.values.append(text)
        return f"{{:{part.how}}}" if part.how else "{}"

    def _is_one(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Is what stands to the right of `%` no tuple for certain?"""
        if isinstance(node, _NO_TUPLES) or isinstance(self.call.value(node), Array | Scalar | Const):
            return True
        if isinstance(node, ast.BinOp):
            sides = [self._is_one(node.left, seen), self._is_one(node.right, seen)]
            return isinstance(node.op, _OF_NUMBERS) or all(sides) or (isinstance(node.op, ast.Add) and any(sides))
        if isinstance(node, ast.Call):
            function = self.call.value(node.func)
            if isinstance(function, External):
                return function.name.startswith(_ARRAYS)
            return isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_METHODS
        if not isinstance(node, ast.Name):
            return False
        return node.id in seen or all(self._binds_one(one, seen | {node.id}) for one in self.call.bindings(node.id))

    def _binds_one(self, binding: Binding, seen: frozenset[str]) -> bool:
        if binding.kind == "parameter":  # an array, where it is used as one
            function = binding.scope.node
            return function is not None and any(_takes_numbers(node, binding.name) for node in ast.walk(function))
        return binding.value is not None and not binding.path and self._is_one(binding.value, seen)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _takes_numbers(node: ast.AST, name: str) -> bool:
    """Would the expression fail if what has the name were a tuple?"""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == name and node.attr in (*METADATA, *ARRAY_METHODS)
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
        other = [one for one in sides if not (isinstance(one, ast.Name) and one.id == name)]
        added = isinstance(node.op, ast.Add) and all(isinstance(one, ast.Constant) for one in other)
        return len(other) < 2 and (isinstance(node.op, _OF_NUMBERS) or added)
    return False


def _mark(number: int) -> str:
    """Stands for a string in the text."""
    return f"⟦{number}⟧"


def _quoted(text: str) -> str:
    return repr(text) if '"' in text else f'"{repr(text)[1:-1]}"'
