"""Derivative rules of a function that takes the value as its last argument: they take it too, and give it none.

Nothing is differentiated by a value that was captured, so that its derivative is zero.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.transforms import decorated_by
from jaxscope.refactor.to_argument.sites import Form
from jaxscope.refactor.to_argument.value import inside
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import add_parameter, insert_before, insert_item, positional, starts_own_line
from jaxscope.semantics.vocabulary import CUSTOM_DERIVATIVES
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span

if TYPE_CHECKING:
    from jaxscope.refactor.to_argument.thread_through import Threading


def take_rules(threading: Threading, file: File, node: ast.Attribute, form: Form) -> None:
    """Adapts the functions of `f.defvjp(forward, backward)` or `@f.defjvp`, which `node` is. Raises Refused."""
    if not form.at_end or form.optional:
        raise file.refuse("The derivative rules take another number of arguments.", node)
    rules = _Rules(threading, file, node, form)
    parent = file.parents[node]
    if node.attr == "defjvp" and isinstance(parent, ast.FunctionDef) and parent.decorator_list == [node]:
        if threading.files.of_function(file, parent):
            raise file.refuse(f"The derivative rule `{parent.name}` is used elsewhere, too.", parent)
        rules.jvp(parent)
        rules.thread_helpers()
        return
    call = parent if isinstance(parent, ast.Call) and parent.func is node and not parent.keywords else None
    functions = [rules.function(arg) for arg in call.args] if call is not None else []
    if node.attr == "defvjp" and len(functions) == 2:
        rules.vjp(*functions)
    elif node.attr == "defjvp" and len(functions) == 1:
        rules.jvp(functions[0])
    else:
        raise file.refuse(f"`.{node.attr}` gives derivative rules in a way that cannot be followed.", node)
    rules.thread_helpers()


class _Rules:
    def __init__(self, threading: Threading, file: File, node: ast.Attribute, form: Form) -> None:
        self.threading = threading
        self.file = file
        self.node = node
        self.form = form
        self.not_differentiated = self._not_differentiated()
        self._helpers: list[FunctionNode] = []
        """Functions that the rules call, and that read the value."""

    def _not_differentiated(self) -> int:
        """How many arguments the rules are given in front of all others."""
        found = list(self.threading.compiled.definition(self.file, self.node.value))
        decorators = getattr(found[0][1], "decorator_list", []) if len(found) == 1 else []
        application = decorated_by(found[0][0], decorators[0]) if len(decorators) == 1 else None
        if application is None or application.transform.name not in CUSTOM_DERIVATIVES or application.unclear:
            raise self.file.refuse(f"It cannot be seen what `{ast.unparse(self.node.value)}` is made of.", self.node)
        if application.option("nondiff_argnames") is not None:
            raise self.file.refuse("Arguments that are not differentiated are given by name.", self.node)
        option = application.option("nondiff_argnums")
        try:
            numbers = ast.literal_eval(option) if option is not None else ()
        except ValueError:
            raise self.file.refuse("`nondiff_argnums` is not written as numbers.", self.node) from None
        return len(numbers) if isinstance(numbers, tuple | list) else 1

    def function(self, node: ast.expr) -> ast.FunctionDef:
        """The function that is given as a rule, and used for nothing else."""
        found = list(self.threading.compiled.definition(self.file, node)) if isinstance(node, ast.Name) else []
        function = found[0][1] if len(found) == 1 and found[0][0] is self.file else None
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            raise self.file.refuse(f"The derivative rule `{ast.unparse(node)}` cannot be followed.", node)
        if [use.node for use in self.threading.files.of_function(self.file, function)] != [node]:
            raise self.file.refuse(f"The derivative rule `{function.name}` is used elsewhere, too.", function)
        return function

    # ------------------------------------------------------------ what becomes of them

    def jvp(self, rule: ast.FunctionDef) -> None:
        """`rule(…, primals, tangents)`: the last of each belongs to the value."""
        self._check(rule, self.not_differentiated + 2)
        primals, tangents = (arg.arg for arg in positional(rule)[-2:])
        lines = [f"{tangents} = {tangents}[:-1]"]
        if self._reads(rule):
            name = self.threading.take(self.file, rule)
            lines.insert(0, f"{primals}, {name} = {primals}[:-1], {primals}[-1]")
        else:
            lines.insert(0, f"{primals} = {primals}[:-1]")
        self._begin(rule, lines)

    def vjp(self, forward: ast.FunctionDef, backward: ast.FunctionDef) -> None:
        """`forward(…)` takes the value, and keeps it where `backward` reads it, which gives no derivative for it."""
        file, layout, edits = self.file, self.file.layout, self.threading.edits
        self._check(forward, len(self.form.names))
        self._check(backward, self.not_differentiated + 2)
        name = self.threading.take(file, forward)
        edits.add(file, add_parameter(layout, forward, name, len(self.form.names)))
        self._reads(forward)
        if self._reads(backward):
            for pair in self._returned(forward, 2):
                span = layout.span(pair.elts[1])
                kept = [Edit(Span(span.start, span.start), "("), Edit(Span(span.end, span.end), f", {name})")]
                edits.add(file, kept)
            residual = positional(backward)[-2].arg
            self._begin(backward, [f"{residual}, {self.threading.take(file, backward)} = {residual}"])
        differentiated = len(self.form.names) - self.not_differentiated
        for each in self._returned(backward, differentiated):
            edits.add(file, insert_item(layout, layout.elements(each), differentiated, "None"))

    def thread_helpers(self) -> None:
        """Gives the functions that the rules call the value."""
        for node in self._helpers:
            self.threading.thread(self.threading.value.file, node)

    def _check(self, rule: ast.FunctionDef, parameters: int) -> None:
        args = rule.args
        if args.defaults or args.vararg or args.kwonlyargs or args.kwarg or len(positional(rule)) != parameters:
            raise self.file.refuse(f"The derivative rule `{rule.name}` takes another number of arguments.", rule)

    def _reads(self, rule: FunctionNode) -> bool:
        """Does the rule, or what it calls, read the value?"""
        value = self.threading.value
        if value.new:
            raise self.file.refuse("The derivative rules would need the array, too.", rule)
        reached = [each for each in self.threading.compiled.reached(self.file, rule) if self._of_value(each)]
        reads = [node for node in reached if any(inside(read.scope, value.file.scope(node)) for read in value.reads())]
        scopes = {node: value.file.scope(node) for node in (*reads, rule) if self._of_value(node)}
        nested = {n for n in reads for other, scope in scopes.items() if other is not n and inside(scopes[n], scope)}
        self._helpers += [node for node in reads if node is not rule and node not in nested]
        return bool(reads)

    def _of_value(self, node: FunctionNode) -> bool:
        return id(node) in self.threading.value.file.facts.by_node

    def _returned(self, rule: ast.FunctionDef, count: int) -> list[ast.Tuple]:
        """The tuples of `count` items that the function returns."""
        scope = self.file.scope(rule)
        own = [found for found in ast.walk(rule) if isinstance(found, ast.Return | ast.Yield)]
        found = [node for node in own if self.file.scope_of(node) is scope]
        tuples = [node.value for node in found if isinstance(node.value, ast.Tuple)]
        starred = any(isinstance(item, ast.Starred) for each in tuples for item in each.elts)
        if not found or len(tuples) != len(found) or starred or any(len(each.elts) != count for each in tuples):
            raise self.file.refuse(f"`{rule.name}` returns what is not written as a tuple, one value for each.", rule)
        return tuples

    def _begin(self, rule: ast.FunctionDef, lines: list[str]) -> None:
        """Writes statements at the beginning of the function."""
        first = rule.body[0]
        text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        first = rule.body[1] if text and len(rule.body) > 1 else first
        if not starts_own_line(self.file.layout, first):
            raise self.file.refuse(f"`{rule.name}` is written in one line.", rule)
        self.threading.edits.add(self.file, insert_before(self.file.layout, first, lines))
