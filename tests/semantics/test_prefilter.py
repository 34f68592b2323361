"""What is told from the text alone: whatever can compile is read closely, and prose about it is not."""

from __future__ import annotations

import pytest

from jaxscope.semantics.prefilter import compiling, look

COMPILES = [
    "@jax.jit\ndef f(x): ...",
    "f = jit(g)",
    "f = jax.jit  (g)",
    "f = partial(jax.jit, static_argnums=0)(g)",
    "from jax import jit as compiled",
    "from jax import jit, vmap",
    "fast = jax.jit if USE else identity",
    "steps = [jax.jit for _ in range(3)]",
    "f = jax.pmap(g)",
    "f = eqx.filter_jit(g)",
    'f = getattr(jax, "jit")(g)',
    "wrap = {True: jax.jit}[flag]",
    "lowered = jax.jit(f).lower(x)",
]
PROSE = [
    "# works under `jit` and `vmap`",
    '"""A jit compiled function. A jit-compiled one."""',
    "# a judgement on jitter",
    "def jitter(x): ...",
]


@pytest.mark.parametrize("line", COMPILES)
def test_a_file_that_can_compile_is_read_closely(line: str) -> None:
    assert compiling({"a": look(f"import jax\n{line}\n".encode())}) == {"a"}


@pytest.mark.parametrize("line", PROSE)
def test_prose_is_not(line: str) -> None:
    assert compiling({"a": look(f"import jax\n{line}\n".encode())}) == set()


def test_a_file_without_jax_is_not_read() -> None:
    assert not look(b"import numba\n@numba.jit\ndef f(x): ...\n").mentions_jax


@pytest.mark.parametrize(
    "wrapper",
    [
        "def compiled(f):\n    return jax.jit(f)\n",
        "compiled = jax.jit\n",
        "compiled = functools.partial(jax.jit, static_argnums=0)\n",
        "class Tools:\n    @staticmethod\n    def compiled(f):\n        return jax.jit(f)\n",
        "def compiled(f):\n    def wrapper(*args):\n        return jax.jit(f)(*args)\n    return wrapper\n",
    ],
)
@pytest.mark.parametrize("use", ["@compiled", "@tools.compiled", "    @tools.Tools.compiled", "@compiled(3)"])
def test_a_file_that_decorates_with_a_wrapper_is_read_closely(wrapper: str, use: str) -> None:
    files = {
        "tools": look(f"import functools, jax\n{wrapper}".encode()),
        "user": look(f"import jax.numpy as jnp\n{use}\ndef f(x): ...\n".encode()),
        "other": look(b"import jax.numpy as jnp\n@property\ndef f(x): ...\n"),
    }
    assert compiling(files) == {"tools", "user"}


def test_a_decorated_function_is_no_wrapper() -> None:
    files = {
        "tools": look(b"import jax\n@jax.jit\ndef step(x): ...\n"),
        "user": look(b"import jax.numpy as jnp\n@step\ndef f(x): ...\n"),
    }
    assert compiling(files) == {"tools"}


CHANGES = [
    "tables.SCALE = 3.0",
    "tables.SCALE: float = 3.0",
    "tables.SCALE *= 2",
    'tables.BY["a"] = 3',
    'tables["a"] //= 3',
    'setattr(tables, "SCALE", 3.0)',
    "tables.deep.SCALE = 3.0",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "bound", ["import tables", "from . import ops, tables", "from pkg import (\n    ops,\n    tables,\n)"]
)
def test_a_file_that_changes_what_it_imports_is_read_closely(bound: str, change: str) -> None:
    assert compiling({"a": look(f"import jax\n{bound}\ndef main():\n    {change}\n".encode())}) == {"a"}


@pytest.mark.parametrize("line", ["tables = 3.0", "tables.SCALE == 3.0", "other.SCALE = 3.0", "f(tables.SCALE, a=3)"])
def test_one_that_does_not_is_not(line: str) -> None:
    assert compiling({"a": look(f"import jax\nimport tables\n{line}\n".encode())}) == set()


@pytest.mark.parametrize(
    "compiled",
    [
        "@jax.jit\ndef step(x): ...\n",
        "@functools.partial(\n    jax.jit,\n    static_argnums=0,\n)\n@checked\ndef step(x): ...\n",
        "step = jax.jit(lambda x: x)\n",
    ],
)
@pytest.mark.parametrize(
    ("use", "close"),
    [
        ("from tools import other, step\nstep(jnp.ones(3))\n", True),
        ("from tools import (\n    step as go,\n)\n", True),
        ("import tools\ntools.step(jnp.ones(3))\n", True),
        ("import tools\ntools.other(3)\nself.step(3)\n", False),
        ("def step(x): ...\nstep(3)\n", False),
    ],
)
def test_a_file_that_calls_what_another_compiles_is_read_closely(compiled: str, use: str, close: bool) -> None:
    files = {
        "tools": look(f"import functools, jax\n{compiled}".encode()),
        "user": look(f"import jax.numpy as jnp\n{use}".encode()),
    }
    assert ("user" in compiling(files)) is close
