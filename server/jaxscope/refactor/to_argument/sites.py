"""The places where the value is handed over, and the edits that do so."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxscope.refactor.program.names import File, identifiers
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.syntax import add_argument, add_keyword
from jaxscope.semantics.vocabulary import Transform
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span


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
    optional: bool = False
    """The parameter was there, with a default: only calls that leave it out are to give it."""
    anew: Transform | None = None
    """What compiles it anew for each Python number, so that one that changes has to be an array."""

    @property
    def at_end(self) -> bool:
        """Is it the last of parameters that are all given?"""
        return self.exact and self.index == len(self.names)


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
    bind: bool = False
    """The expression is wrapped in a `partial` that gives the argument by name."""

    @property
    def count(self) -> int | None:
        """Positional arguments given; None when unknown."""
        if self.bind:
            return None
        if self.forward:
            return len(self.form.names) if self.form.exact else None
        assert isinstance(self.node, ast.Call)
        args = self.node.args[self.first :]
        return None if any(isinstance(arg, ast.Starred) for arg in args) else len(args)


def count_at(sites: list[Site], form: Form) -> int | None:
    """How many arguments all of a function's calls give, as far as that is one number."""
    counts = {site.count for site in sites}
    if not counts:
        return len(form.names) if form.exact else None
    return counts.pop() if len(counts) == 1 else None


def handed_over(site: Site, text: str) -> list[Edit]:
    """Edits that pass `text` at the site. Raises Refused where it can be given neither by position nor by name."""
    form, file = site.form, site.file
    if site.forward:
        return _around(site, *_forwarding(site, text))
    if site.bind:
        partial, imports = imported(file, site.node, "functools.partial")
        return [*imports, *_around(site, f"{partial}(", f", {form.keyword}={text})")]
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


def _around(site: Site, before: str, after: str) -> list[Edit]:
    span = site.file.layout.span(site.node)
    return [Edit(Span(span.start, span.start), before), Edit(Span(span.end, span.end), after)]


def _forwarding(site: Site, text: str) -> tuple[str, str]:
    """What is written before and after the function to make a lambda that adds the argument."""
    form = site.form
    if identifiers(ast.parse(text)) & set(form.names) or identifiers(site.node) & set(form.names):
        raise site.file.refuse("A parameter here has the name of what is to be passed.", site.node)
    arguments = list(form.names)
    if form.index is None:
        arguments.append(f"{form.keyword}={text}")
    else:
        arguments.insert(form.index, text)
    opening, closing = ("(", ")") if isinstance(site.node, ast.Lambda) else ("", "")
    return f"lambda {', '.join(form.names)}: {opening}", f"{closing}({', '.join(arguments)})"
