"""The forms of whole programs, read from `program_forms.md`, and the expressions that are put into them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent.parent / "support" / "program_forms.md"
_SECTION = re.compile(r"^## (.*)\n\n`(.*?)`(?:, `(.*)`)?\n((?:.|\n)*?)(?=^## |\Z)", re.MULTILINE)
_BLOCK = re.compile(r"^```python ?(?:(\w+)\.py)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARRAY = "jnp.sin(jnp.arange(256.0)).reshape(16, 16)"


@dataclass(frozen=True)
class Form:
    """A program's texts by module name, the function's qualified name, and the array's where it is the form's own."""

    kind: str
    function: str
    own: str
    modules: dict[str, str]

    @property
    def text(self) -> str:
        """Of `case`."""
        return self.modules["case"]


FORMS = tuple(
    Form(kind, function, own, {name or "case": text for name, text in _BLOCK.findall(blocks)})
    for kind, function, own, blocks in _SECTION.findall(FILE.read_text(encoding="utf-8"))
)

VALUES = (
    "x @ {read}",
    "jnp.tanh(x @ {read}) + x",
    "x + ({read} * x).sum(0)",
    "lax.scan(lambda c, _: (jnp.tanh(c @ {read}), c.sum()), x, None, length=2)[0]",
    "lax.scan(lambda c, row: (c + row, None), x, {read})[0]",
    "lax.cond(x.sum() > 0, lambda v: v @ {read}, lambda v: v, x)",
    "lax.while_loop(lambda s: s[1] < 2, lambda s: (s[0] @ {read}, s[1] + 1), (lax.stop_gradient(x), 0))[0]",
    "lax.fori_loop(0, 2, lambda i, c: jnp.tanh({read} @ c), x)",
    "lax.map(lambda row: row @ x, {read})",
    "jax.vmap(lambda row: (row * x).sum())({read})",
    "jax.vmap(lambda row, v: row @ v, in_axes=(0, None))({read}, x)",
    "jax.checkpoint(lambda v: jnp.sin(v @ {read}))(x)",
    "jax.grad(lambda v: jnp.sin(v @ {read}).sum())(x)",
    "jax.jit(lambda v, m: v @ m)(x, {read})",
    "jax.tree.map(lambda v: v @ {read}, (x, x))[1]",
    "sum(x @ {read} for _ in range(2))",
    "[kept := x @ {read}, kept + 1][1]",
    "(x @ {read} if x.ndim == 1 else x)",
    'jnp.einsum("i,ij->j", x, {read})',
    "jnp.where(x > 0, x @ {read}, 0.0)",
    "lax.switch(1, (jnp.sin, lambda v: v @ {read}), x)",
    "jax.jvp(lambda v: jnp.sin(v @ {read}), (x,), (x,))[1]",
    "lax.associative_scan(jnp.add, {read})[-1] + x",
)
