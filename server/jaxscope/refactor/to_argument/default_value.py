"""An array that is the default of a parameter: every call that leaves it out passes it.

The parameter and its default stay, so that a call that is not seen does what it did before.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.contents import Contents
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import Application
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.sites import Form, Site
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Stability, Value, known_of, split_expression
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import positional, required
from jaxscope.semantics.vocabulary import CUSTOM_DERIVATIVES
from jaxscope.text.edit import SourceChange


def hoist_default(
    files: Files, compiled: Compiled, file: File, node: FunctionNode, name: str, *, changes: bool
) -> SourceChange:
    """The change that passes the default of the parameter `name`. Raises Refused."""
    default = default_of(node, name)
    text = ast.unparse(default) if default is not None else ""
    expression = split_expression(text)
    if default is None or expression is None:
        raise file.refuse(f"The default of `{name}` has no name that calls could pass.", default or node)
    home = file.lookup(file.scope_of(default), expression[0])
    if home is None:
        raise file.refuse(f"It cannot be seen where `{expression[0]}` is bound.", default)
    bindings = file.bindings(file.scope(node), name)
    if len(bindings) != 1:
        raise file.refuse(f"`{name}` is bound again in the function.", bindings[-1].node)
    value = Value(file, home, *expression)
    if changes:
        raise file.refuse(f"The default of `{name}` is taken when the function is defined.", default)
    Stability(files, value, node).check()
    Contents(files).check(file, home, value.root, value.links)
    concrete = Concreteness(files, file, name, known_of(files, value))
    for read in file.reads(file.scope(node), name):
        concrete.check(read.node)
    threading = _LeftOut(files, compiled, value, node)
    threading.follow_default(file, name)
    threading.run(file)
    if not threading.sites:
        raise file.refuse(f"`{name}` is an argument already.", node)
    return threading.edits.change()


def default_of(node: FunctionNode, name: str) -> ast.expr | None:
    """The default of a parameter."""
    pairs = [*zip(positional(node)[required(node) :], node.args.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    return next((default for arg, default in pairs if arg.arg == name), None)


class _LeftOut(Threading):
    """Follows a function whose parameter is there already."""

    def __init__(self, files: Files, compiled: Compiled, value: Value, node: FunctionNode) -> None:
        super().__init__(files, compiled, value, by_keyword=False)
        self.node = node

    def follow_default(self, file: File, name: str) -> None:
        """Follows the uses of the function."""
        node, names = self.node, [arg.arg for arg in positional(self.node)]
        index = names.index(name) if name in names else None
        by_position = index is not None and index < len(node.args.posonlyargs)
        others = tuple(other for other in names if other != name)
        self._follow_function(file, node, Form(index, None if by_position else name, others, False, optional=True))

    def _shift(self, file: File, application: Application, form: Form, count: int | None) -> None:
        if not form.optional:
            super()._shift(file, application, form, count)
            return
        transform = application.transform
        for option in (*transform.argnums, *transform.static, "donate_argnames"):
            self._check_left(file, application, form, option)
        by_argument = any(application.option(option) is not None for option in transform.per_argument)
        plain = transform.is_jit or transform.differentiates or transform.name == "jax.checkpoint"
        if application.unclear or by_argument or not plain or transform.name in CUSTOM_DERIVATIVES:
            reason = f"`{transform.name.rpartition('.')[2]}` may do something else with an argument that is given."
            raise file.refuse(reason, application.result)

    def _check_left(self, file: File, application: Application, form: Form, option: str) -> None:
        """Raises Refused where an option is meant for the parameter, or may be."""
        written = application.option(option)
        if written is None:
            return
        try:
            meant = ast.literal_eval(written)
        except ValueError:
            meant = -1
        for one in meant if isinstance(meant, tuple | list | set) else [meant]:
            if one in (form.index, form.keyword) or (isinstance(one, int) and one < 0):
                raise file.refuse(f"`{option}` may be meant for `{form.keyword}`, too.", written)

    def site(self, site: Site) -> list[Site]:
        form, file, call = site.form, site.file, site.node
        if not form.optional:
            return super().site(site)
        if site.forward or site.bind or not isinstance(call, ast.Call):
            raise file.refuse("It cannot be seen how the function is called here.", call)
        args = call.args[site.first :]
        if any(isinstance(arg, ast.Starred) for arg in args) or any(keyword.arg is None for keyword in call.keywords):
            raise file.refuse("It cannot be seen which arguments are given here.", call)
        if any(keyword.arg == form.keyword for keyword in call.keywords):
            return [site]
        if form.index is not None and len(args) > form.index:
            return [site]
        if self.node in file.around(call):
            raise file.refuse("The function calls itself.", call)
        return super().site(site)

    def _partial(self, file: File, call: ast.Call, form: Form) -> list[Site]:
        if form.optional and any(keyword.arg in (form.keyword, None) for keyword in call.keywords):
            raise file.refuse("`partial` may bind the parameter.", call)
        return super()._partial(file, call, form)
