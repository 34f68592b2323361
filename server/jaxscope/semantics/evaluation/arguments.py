"""Arguments of calls and parameters of functions: how the one becomes the other."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import UNKNOWN, Mapping, Sequence, Value
from jaxscope.semantics.names.scopes import FunctionNode, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator


class Given:
    """Evaluated arguments of one call."""

    __slots__ = ("args", "keywords", "starred")

    def __init__(self, args: list[Value], keywords: dict[str, Value], starred: bool) -> None:
        self.args = args
        self.keywords = keywords
        self.starred = starred
        """Are there `*args` or `**kwargs` whose items are not known?"""


def arguments(ev: Evaluator, node: ast.Call, scope: Scope, frame: Frame) -> Given:
    """Evaluates the arguments of a call."""
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    starred = False
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            many = ev.evaluate(argument.value, scope, frame)
            if isinstance(many, Sequence) and many.items is not None and not starred:
                args += many.items
            else:
                starred = True
        elif not starred:
            args.append(ev.evaluate(argument, scope, frame))
    for keyword in node.keywords:
        value = ev.evaluate(keyword.value, scope, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping) and value.element == UNKNOWN:
            keywords.update((str(key), item) for key, item in value.items)
        else:
            starred = True
    return Given(args, keywords, starred)


def parameters(node: FunctionNode) -> list[str]:
    """Names of parameters that can be given by position."""
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]


def every_parameter(node: FunctionNode) -> list[ast.arg]:
    """Those that stand for one argument each."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def bind(ev: Evaluator, scope: Scope, given: Given, home: Frame, bound: Value | None) -> dict[str, Value]:
    """Values of a function's parameters in one call; defaults are evaluated in `home`, the frame around it."""
    node = scope.function_node
    names = parameters(node)
    args = [bound, *given.args] if bound is not None else given.args
    values: dict[str, Value] = dict.fromkeys((argument.arg for argument in node.args.kwonlyargs), UNKNOWN)
    values.update(dict.fromkeys(names, UNKNOWN))
    if not given.starred:
        values.update(defaults(ev, scope, home))
    values.update(zip(names, args, strict=False))
    extra: dict[str, Value] = {}
    for key, value in given.keywords.items():
        (values if key in values else extra)[key] = value
    if node.args.vararg is not None:
        rest = tuple(args[len(names) :])
        values[node.args.vararg.arg] = Sequence(None) if given.starred else Sequence(rest)
    if node.args.kwarg is not None:
        values[node.args.kwarg.arg] = Mapping(tuple(extra.items()))
    return values


def defaults(ev: Evaluator, scope: Scope, home: Frame) -> dict[str, Value]:
    """Values of the parameters' defaults."""
    found = {}
    outer = scope.parent or scope
    for name, default in default_nodes(scope.function_node).items():
        found[name] = ev.evaluate(default, outer, home)
    return found


def default_nodes(node: FunctionNode) -> dict[str, ast.expr]:
    """Expressions of the parameters' defaults."""
    names = parameters(node)
    count = len(node.args.defaults)
    found = dict(zip(names[len(names) - count :], node.args.defaults, strict=True)) if count else {}
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            found[argument.arg] = default
    return found
