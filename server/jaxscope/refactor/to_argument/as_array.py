"""A number that changes is passed as an array to what is compiled anew for each Python number (`eqx.filter_jit`).

`jnp.asarray` keeps the weak type of a Python number, so that results have the same types as with the number itself.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.to_argument.value import Value, known_of
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.imports import imported
from jaxscope.semantics.evaluation import values as abstract
from jaxscope.semantics.vocabulary import Transform


def as_array(files: Files, value: Value, at: tuple[File, ast.AST], text: str, anew: Transform, edits: Edits) -> str:
    """`text`, the value as written, such that a new value is no new program. Raises Refused where there is no way."""
    if not value.changes:
        return text
    file, node = at
    known = known_of(files, value)
    leaves = known.leaves
    if not any(abstract.number(leaf) or leaf == abstract.UNKNOWN for leaf in leaves):
        return text
    name = anew.name.rpartition(".")[2]
    if abstract.number(known.value) is None:
        raise file.refuse(f"`{name}` compiles anew for each Python number, and `{value.text}` may hold one.", node)
    if anew.per_argument:
        raise file.refuse(f"`{name}` compiles anew for each Python number, as `{value.text}` is one.", node)
    module, imports = imported(file, node, "jax.numpy")
    edits.add(file, imports)
    return f"{module}.asarray({text})"
