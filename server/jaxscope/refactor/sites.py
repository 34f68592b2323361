"""The places where the value is handed over, and the edits that do so."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxscope.refactor.names import File, identifiers
from jaxscope.refactor.syntax import add_argument, add_keyword, replace
from jaxscope.text.edit import Edit


@dataclass(frozen=True, slots=True)
class Form:
    """How a callable takes the new argument."""

    index: int | None
    """Position; None: only by keyword."""
    keyword: str | None
    """Name; None when it cannot be given by name."""
    names: tuple[str, ...]
    """The other positional parameters."""
    exact: bool
    """Takes exactly `names`: no defaults, no `*args`, nothing that must be named."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place where the value is handed over."""

    file: File
    node: ast.expr
    """The call; for `forward` the expression to be replaced by a function that adds the argument."""
    form: Form
    first: int = 0
    """Position in the call's arguments of the function's own first one."""
    forward: bool = False

    @property
    def count(self) -> int | None:
        """Positional arguments given; None when unknown."""
        if self.forward:
            return len(self.form.names) if self.form.exact else None
        assert isinstance(self.node, ast.Call)
        args = self.node.args[self.first :]
        return None if any(isinstance(arg, ast.Starred) for arg in args) else len(args)


def handed_over(site: Site, text: str) -> list[Edit]:
    """Edits that pass `text` at the site. Raises Refused where it can be given neither by position nor by name."""
    form, file = site.form, site.file
    if site.forward:
        return [replace(file.layout, site.node, _forwarding(site, text))]
    assert isinstance(site.node, ast.Call)
    args = site.node.args[site.first :]
    starred = [number for number, arg in enumerate(args) if isinstance(arg, ast.Starred)]
    if form.index is not None and len(args) >= form.index and not any(n < form.index for n in starred):
        return add_argument(file.layout, site.node, site.first + form.index, text)
    if form.keyword is None:
        raise file.refuse("The new argument can be given neither by position nor by name here.", site.node)
    if form.index is not None and starred and not form.exact:
        raise file.refuse("It cannot be seen how many arguments `*` gives here.", site.node)
    return add_keyword(file.layout, site.node, f"{form.keyword}={text}")


def _forwarding(site: Site, text: str) -> str:
    """A lambda in place of the function, which adds the argument."""
    form, source = site.form, site.file.layout.source(site.node)
    if identifiers(ast.parse(text)) & set(form.names) or identifiers(site.node) & set(form.names):
        raise site.file.refuse("A parameter here has the name of what is to be passed.", site.node)
    if isinstance(site.node, ast.Lambda):
        source = f"({source})"
    arguments = list(form.names)
    if form.index is None:
        arguments.append(f"{form.keyword}={text}")
    else:
        arguments.insert(form.index, text)
    return f"lambda {', '.join(form.names)}: {source}({', '.join(arguments)})"
