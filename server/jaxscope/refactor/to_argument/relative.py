"""A part of a static argument (`perms.value`) becomes an argument of its own; calls pass the part of what they give."""

from __future__ import annotations

import ast
from functools import partial

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.to_argument.exists import private
from jaxscope.refactor.to_argument.sites import Site
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Value
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.text.edit import SourceChange


def hoist_of_parameter(files: Files, compiled: Compiled, value: Value, file: File, node: FunctionNode) -> SourceChange:
    """The change for a value that begins with a parameter of the function `node`. Raises Refused."""
    if private(value.links):
        raise file.refuse(f"`{value.text}` cannot be named outside of its class.", node)
    attempt = partial(_attempt, files, compiled, value, file, node)
    return files.first(partial(attempt, by_keyword=False), partial(attempt, by_keyword=True))


def _attempt(
    files: Files, compiled: Compiled, value: Value, file: File, node: FunctionNode, *, by_keyword: bool
) -> SourceChange:
    threading = _Relative(files, compiled, value, by_keyword)
    threading.run(file, node)
    return threading.edits.change()


class _Relative(Threading):
    def _reach(self, site: Site) -> None:
        scope = site.file.scope_of(site.node)
        if self.compiled.outermost(site.file, scope, site.file.top) is not None:
            raise site.file.refuse("This call is compiled itself, and would capture the array again.", site.node)

    def _text_at(self, site: Site) -> str:
        root, given = self.value.root, None
        if site.forward or not isinstance(site.node, ast.Call):
            raise site.file.refuse(f"It cannot be seen what is given for `{root}` here.", site.node)
        args = site.node.args[site.first :]
        at = site.form.names.index(root) if root in site.form.names else len(args)
        if at < len(args) and not any(isinstance(arg, ast.Starred) for arg in args[: at + 1]):
            given = args[at]
        for keyword in site.node.keywords:
            given = keyword.value if keyword.arg == root else given
        plain = given
        while isinstance(plain, ast.Attribute):
            plain = plain.value
        if given is None or not isinstance(plain, ast.Name):
            raise site.file.refuse(f"What is given for `{root}` here has no name.", site.node)
        return site.file.layout.source(given) + "".join(self.value.links)
