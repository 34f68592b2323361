"""What runs while a function is traced, who calls compiled functions, and what runs more than once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxscope.semantics.captured.captures import traced_code_of
from jaxscope.semantics.compiled.callers import CompiledCall, compiled_calls_of
from jaxscope.semantics.compiled.repetition import runs_again
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project

HEAD = "from functools import partial\n\nimport jax\nimport jax.numpy as jnp\n\n\n"


def _model(folder: Path, text: str, other: str = "") -> FileModel:
    (folder / "case.py").write_text(HEAD + text)
    (folder / "other.py").write_text(HEAD + other)
    model = Project(str(folder)).model(str(folder / "case.py"))
    assert model is not None
    return model


def _shown(call: CompiledCall) -> str:
    given = ", ".join(f"{name}: {ast.unparse(value)}" for name, value in call.given)
    return f"{call.function.qualname}({given}) {' '.join(call.statics)}".strip()


def test_traced_code(tmp_path: Path) -> None:
    text = """
def helper(x):
    return deeper(x)

def deeper(x):
    return [y for y in x]

@jax.jit
def apart(x):
    return x

@jax.jit
def f(x):
    def inner(y):
        return apart(y)
    return jax.lax.map(inner, x) + helper(x)

def eager(x):
    return helper(x)
"""
    apart, f = traced_code_of(_model(tmp_path, text))
    assert [scope.qualname for scope in apart.scopes] == ["apart"]
    assert {scope.qualname for scope in f.scopes} == {"f", "f.<locals>.inner", "helper", "deeper"}
    assert f.scopes[0].qualname == "f"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@jax.jit\ndef f(x, n=1, *, k=2): ...\nf(1, k=3)", ["f(x: 1, k: 3)"]),
        ("def f(x): ...\ng = jax.jit(jax.grad(f))\nh = g\nh(1)", ["f(x: 1)"]),
        ("def f(a, x, y): ...\ng = jax.jit(partial(f, 1))\ng(2, 3)", ["f(x: 2, y: 3)"]),
        ("def f(x, n): ...\ng = jax.jit(f, static_argnums=1)\ng(2, 3)", ["f(x: 2, n: 3) n"]),
        (
            "class A:\n    @partial(jax.jit, static_argnums=(0, 2))\n    def f(self, x, n): ...\nA().f(1, 2)",
            ["A.f(x: 1, n: 2) self n"],
        ),
        (
            "class A:\n    def __init__(self):\n        self.g = jax.jit(self.f, static_argnums=1)\n"
            "    def f(self, x, n): ...\n    def run(self):\n        return self.g(1, 2)",
            ["A.f(x: 1, n: 2) n"],
        ),
        ("@jax.jit\ndef f(x): ...\ntable = {'f': f}\ntable['f'](1)", ["f(x: 1)"]),
        ("from other import g\ng(7)", ["g(x: 7)"]),
        ("import other\nother.g(7)", ["g(x: 7)"]),
        ("jax.jit(lambda x: x)(4)", ["<lambda>(x: 4)"]),
        ("def f(x): ...\nf(1)", []),
    ],
)
def test_calls(tmp_path: Path, text: str, expected: list[str]) -> None:
    found = compiled_calls_of(_model(tmp_path, text, "@jax.jit\ndef g(x): ...\n"))
    assert [_shown(call) for call in found] == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("g(1)", None),
        ("for i in range(3):\n    g(i)", "loop"),
        ("while True:\n    g(1)", "loop"),
        ("[g(i) for i in range(3)]", "loop"),
        ("if x:\n    g(1)", None),
        ("def run():\n    g(1)\nrun()", None),
        ("def run():\n    g(1)\nfor i in range(3):\n    run()", "called in a loop"),
        ("def run():\n    g(1)\nrun()\nrun()", "called several times"),
        ("def run():\n    g(1)", "called from outside"),
        ("def outer():\n    def run():\n        g(1)\n    run()\nouter()", None),
        ("class A:\n    def __call__(self):\n        g(1)\na = A()\nfor i in range(3):\n    a()", "called in a loop"),
        ("class A:\n    def __call__(self):\n        g(1)\nA()()", None),
        ("class A:\n    def __init__(self):\n        g(1)\nfor i in range(3):\n    A()", "called in a loop"),
        ("def run(n):\n    g(1)\n    if n:\n        run(n - 1)\nrun(3)", None),
    ],
)
def test_runs_again(tmp_path: Path, text: str, why: str | None) -> None:
    model = _model(tmp_path, "@jax.jit\ndef g(x): ...\n" + text)
    (call,) = compiled_calls_of(model)
    again = runs_again(model.project.evaluator, call.scope, call.block, call.node)
    assert (again.why if again else None) == why


def test_kept_while_nothing_changes(tmp_path: Path) -> None:
    model = _model(tmp_path, "@jax.jit\ndef g(x): ...\n\ndef run():\n    g(1)\n\nlast = 1\n")
    (before,) = compiled_calls_of(model)
    text = model.module.text
    model.project.set_text(model.path, text.replace("last = 1", "last = 2"))
    changed = model.project.model(model.path)
    assert changed is not None and compiled_calls_of(changed)[0] is before
    model.project.set_text(model.path, text.replace("@jax.jit\n", ""))
    plain = model.project.model(model.path)
    assert plain is not None and compiled_calls_of(plain) == []
