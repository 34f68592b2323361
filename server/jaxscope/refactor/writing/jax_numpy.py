"""How `jax.numpy` is called at a place, and the import that it takes there."""

from __future__ import annotations

import ast

from jaxscope.refactor.program.names import File
from jaxscope.refactor.writing.syntax import ensure_import
from jaxscope.text.edit import Edit


def jax_numpy(file: File, node: ast.AST) -> tuple[str, list[Edit]]:
    """Its name where `node` stands. Raises Refused where `jnp` is something else."""
    scope = file.scope_of(node)
    alias = file.name_of("jax.numpy", scope)
    if alias is not None:
        return alias, []
    if file.lookup(scope, "jnp") is not None or "jnp" in file.top.bindings:
        raise file.refuse("`jnp` is not `jax.numpy` here.", node)
    return "jnp", ensure_import(file.layout, file.tree, "import jax.numpy as jnp")
