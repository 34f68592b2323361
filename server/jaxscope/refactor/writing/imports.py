"""How a library's module or function is called at a place: as it is imported there, else with an import more."""

from __future__ import annotations

import ast

from jaxscope.refactor.program.names import File
from jaxscope.refactor.writing.syntax import ensure_import
from jaxscope.text.edit import Edit

_STATEMENTS = {"jax.numpy": ("import jax.numpy as jnp", "jnp"), "functools.partial": ("import functools", "")}
"""The import where another one than that of the package is usual, and what it calls the module."""


def imported(file: File, node: ast.AST, dotted: str) -> tuple[str, list[Edit]]:
    """What `dotted` is called where `node` stands, and the edits for it. Raises Refused where the name is taken."""
    known = file.name_of(dotted, node)
    if known is not None:
        return known, []
    statement, name = _STATEMENTS.get(dotted, (f"import {dotted.partition('.')[0]}", ""))
    name = name or dotted
    first = name.partition(".")[0]
    if file.lookup(file.scope_of(node), first) is not None or first in file.top.bindings:
        raise file.refuse(f"`{first}` means something else here.", node)
    return name, ensure_import(file.layout, file.tree, statement)
