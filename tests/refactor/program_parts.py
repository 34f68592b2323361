"""What random programs are made of: captured array, signature, layout, use of the array.

In the templates `{i}` stands for one indent, `{read}` for the expression that reads the array.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from program_forms import ARRAY

READ = "\x00"
"""Marks the read."""
INDENT = "    "
HEAD = """\
import asyncio
import dataclasses
import functools
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
"""


@dataclass(frozen=True)
class Captured:
    """Where the array lives: statements before the function, the expression that reads it, other modules."""

    kind: str
    before: str
    expression: str
    name: str
    modules: dict[str, str]
    imports: str = ""


CAPTURES = (
    Captured("global", f"W = {ARRAY}\n", "W", "W", {}),
    Captured("numpy", "W = np.sin(np.arange(256, dtype=np.float32)).reshape(16, 16)\n", "W", "W", {}),
    Captured("container", f"W = [{ARRAY}, {ARRAY} + 1]\n", "sum(W)", "W", {}),
    Captured("subscript", f'P = {{"w": {ARRAY}, "b": jnp.ones(16)}}\n', 'P["w"]', 'P["w"]', {}),
    Captured(
        "attribute",
        f"class Box:\n    def __init__(self):\n        self.w = {ARRAY}\n        self.scale = 2.0\n\n\nbox = Box()\n",
        "(box.w * box.scale)",
        "box.w",
        {},
    ),
    Captured(
        "module",
        "",
        "data.TABLE",
        "data.TABLE",
        {"data": f"import jax.numpy as jnp\n\nTABLE = {ARRAY}\n"},
        "import data\n",
    ),
    Captured(
        "imported",
        "",
        "TABLE",
        "TABLE",
        {"data": f"import jax.numpy as jnp\n\nTABLE = {ARRAY}\n"},
        "from data import TABLE\n",
    ),
    Captured("tuple", f"W = (jnp.ones(16), {ARRAY})\n", "W[1]", "W[1]", {}),
    Captured("nested", f'P = {{"layer": {{"w": {ARRAY}}}, "n": 3}}\n', 'P["layer"]["w"]', 'P["layer"]["w"]', {}),
    Captured(
        "dataclass",
        f"@dataclasses.dataclass\nclass Box:\n    w: jax.Array\n    scale: float = 2.0\n\n\nbox = Box({ARRAY})\n",
        "box.w",
        "box.w",
        {},
    ),
    Captured(
        "pytree",
        "@jax.tree_util.register_pytree_node_class\n@dataclasses.dataclass\nclass Box:\n    w: jax.Array\n\n"
        "    def tree_flatten(self):\n        return (self.w,), None\n\n"
        "    @classmethod\n    def tree_unflatten(cls, _, children):\n        return cls(*children)\n\n\n"
        f"box = Box({ARRAY})\n",
        "box.w",
        "box.w",
        {},
    ),
    Captured(
        "named tuple",
        f"class Box(NamedTuple):\n    w: jax.Array\n    scale: float\n\n\nbox = Box({ARRAY}, 2.0)\n",
        "(box.w * box.scale)",
        "box.w",
        {},
        "from typing import NamedTuple\n",
    ),
    Captured("not ASCII", f"Ω = {ARRAY}\n", "Ω", "Ω", {}),
    Captured("64 bits", "W = np.sin(np.arange(256.0)).reshape(16, 16)\n", "W", "W", {}),
    Captured("integers", "W = np.arange(256).reshape(16, 16) % 7\n", "W", "W", {}),
    Captured("rebound before", f"W = jnp.zeros(3)\nW = {ARRAY}\n", "W", "W", {}),
)


@dataclass(frozen=True)
class Signature:
    """Parameters of the function, its arguments in calls (positional, keyword), and what they add to the result."""

    parameters: str
    calls: tuple[str, ...]
    term: str = "0.0"
    statics: str = ""
    names: str = ""
    batched: tuple[str, str] | None = None
    """`in_axes` and the arguments for `vmap`; None where vmap does not fit."""


SIGNATURES = (
    Signature("x", ("a", "x=a", "*(a,)"), batched=("0", "A")),
    Signature("x: jax.Array", ("a",), batched=("(0,)", "A")),
    Signature("x, /", ("a",), batched=("[0]", "A")),
    Signature("x, y", ("a, b", "a, y=b", "*(a, b)", "y=b, x=a", "a, *[b]"), "y.sum()", batched=("(0, None)", "A, b")),
    Signature("x, /, y", ("a, b", "a, y=b"), "y.sum()", batched=("0", "A, B")),
    Signature("x, n=2", ("a", "a, 3", "a, n=1", "x=a, n=3"), "float(n)", statics="1", names="n"),
    Signature("x, n: int = 2, *, k=1", ("a", "a, 3", "a, k=2", "a, 2, k=3"), "float(n * k)", statics="1", names="n k"),
    Signature("x, s=1.5", ("a", "a, 2.0", "a, s=0.5", "*(a, 2.0)"), "s"),
    Signature("x, *, t", ("a, t=1.0", "x=a, t=2.0", "t=1.0, x=a", "a, **{'t': 3.0}"), "t"),
    Signature("x, *, t=0.5", ("a", "a, t=1.0"), "t"),
    Signature("x, *rest", ("a", "a, b", "a, b, b", "*(a, b)"), "sum(r.sum() for r in rest)"),
    Signature("x, **more", ("a", "a, u=b"), "sum(m.sum() for m in more.values())"),
    Signature("n, x", ("2, a", "3, a"), "float(n)", statics="0", names="n"),
    Signature("x, y, n", ("a, b, 2",), "y.sum() * n", statics="-1", names="n"),
)


@dataclass(frozen=True)
class Layout:
    """How the function and its calls are written: templates for `def`, call and the file's line ends."""

    definition: str = "def {name}({parameters}):"
    call: str = "{function}({arguments})"
    indent: str = "    "
    newline: str = "\n"
    start: str = ""
    """A byte order mark, an encoding, a comment."""
    between: str = ""
    """Stands before each function and class at the top level."""
    ended: bool = True
    """Does the last line have an end?"""

    def text(self, program: str) -> str:
        """A program, written with four blanks an indent, as this layout has it."""
        if self.between:
            program = _TOP_LEVEL.sub(lambda found: self.between + found[0], program)
        program = self.start + _INDENT.sub(lambda found: self.indent * (len(found[0]) // 4), program)
        return (program if self.ended else program.rstrip("\n")).replace("\n", self.newline)


_TOP_LEVEL = re.compile(r"^(?=@|def |class |async )", re.MULTILINE)
_INDENT = re.compile(r"^(?:    )+", re.MULTILINE)

LAYOUTS = (
    Layout(),
    Layout(between="\f", newline="\r\n", ended=False),
    Layout(start="\ufeff", indent="\t", between="# ünïcödé ✓ — 行\n"),
    Layout(
        "def {name}({parameters}): # {{", indent=" ", start="# -*- coding: utf-8 -*-\n", between="\f\n", ended=False
    ),
    Layout("def {name}(\n{i}{i}{parameters},\n):", "{function}(\n{i}{i}{arguments},\n{i})", newline="\r\n"),
    Layout("def  {name} ( {parameters} ) :  # ünïcode — (", "{function} ( {arguments} )", "\t"),
    Layout("def {name}({parameters}\n{i}{i}):", "{function}(  # why, though)\n{i}{i}{arguments}  # last\n{i})"),
    Layout("def \\\n{i}{name}({parameters}) -> jax.Array:", "{function} \\\n{i}{i}({arguments})", "  "),
    Layout('def {name}({parameters}):\n{i}"""Döc (string, x)."""', "('é', {function}({arguments}))[1]"),
)

BODIES = (
    ("direct", "{i}return x @ {read} + {term}\n"),
    ("scan", "{i}return lax.scan(lambda c, _: (jnp.tanh(c @ {read}), None), x, None, length=2)[0] + {term}\n"),
    (
        "fori",
        "{i}def body(i, c):\n{i}{i}return jnp.tanh(c @ {read})\n\n{i}return lax.fori_loop(0, 2, body, x) + {term}\n",
    ),
    ("cond", "{i}return lax.cond(x.sum() > 0, lambda v: v @ {read}, lambda v: v, x) + {term}\n"),
    ("comprehension", "{i}return sum([x @ {read} for _ in range(2)]) + {term}\n"),
    ("inner", "{i}@jax.jit\n{i}def inner(v):\n{i}{i}return v @ {read}\n\n{i}return inner(x) + {term}\n"),
    ("grad", "{i}return jax.grad(lambda v: jnp.sin(v @ {read}).sum())(x) + {term}\n"),
)

HELPERS = (
    ("helper", "def helper(v):\n{i}return v @ {read}\n", "helper(x)"),
    ("helper keyword", "def helper(v, *, k=1.0):\n{i}return k * (v @ {read})\n", "helper(x, k=2.0)"),
    ("helper default", "def helper(v, k=1.0):\n{i}return k * (v @ {read})\n", "helper(x, 2.0)"),
    (
        "helper scan",
        "def helper(c, _):\n{i}return jnp.tanh(c @ {read}), None\n",
        "lax.scan(helper, x, None, length=2)[0]",
    ),
    ("helper fori", "def helper(i, c):\n{i}return jnp.tanh(c @ {read})\n", "lax.fori_loop(0, 2, helper, x)"),
    (
        "helper vmap",
        "def helper(v, u):\n{i}return v * (u @ {read}).sum()\n",
        "jax.vmap(helper, in_axes=(0, None))(x, x)",
    ),
    ("helper vmap plain", "def helper(v):\n{i}return (v + {read}).sum()\n", "jax.vmap(helper)(x)"),
    ("helper grad", "def helper(v):\n{i}return jnp.sin(v @ {read}).sum()\n", "jax.grad(helper)(x)"),
    ("helper map", "def helper(v):\n{i}return v @ {read}\n", "jax.tree.map(helper, [x])[0]"),
    ("helper switch", "def helper(v):\n{i}return v @ {read}\n", "lax.switch(1, [jnp.sin, helper], x)"),
    (
        "two helpers",
        "def below(v):\n{i}return v @ {read}\n\n\ndef helper(v):\n{i}return below(v) + 1\n",
        "helper(x)",
    ),
)
