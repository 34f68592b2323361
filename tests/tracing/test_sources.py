"""Signatures from `pyproject.toml`, from calls in the file, and what is left to be guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.config import Config, ConfigError
from jaxscope.project_settings import project_signatures
from jaxscope.semantics.project import Project
from jaxscope.tracing.planning import plan
from jaxscope.worker.jaxscope_worker.wire.messages import DeclaredSignature

CALLS = """
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

W = jnp.zeros((700, 30))
X = jnp.ones((4, 700))
N = 3


@dataclasses.dataclass
class Params:
    w: object
    b: object


@jax.jit
def f(x, key):
    return x @ W


@partial(jax.jit, static_argnames=("mode",))
def tree(p, n, mode):
    return p["w"]


def plain(x, y):
    return x


step = jax.jit(plain)


@jax.jit
def fields(p):
    return p.w


@jax.jit
def size_not_known(x):
    return x


@jax.jit
def starred(*xs):
    return xs


@jax.jit
def second_call(x):
    return x


@jax.jit
def never_called(x):
    return x


class Model:
    def __init__(self):
        self.w = W

    @partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x @ self.w


model = Model()
PARAMS = Params(jnp.zeros((2, 3)), b=jnp.zeros(3))


def main(n, many):
    key, other = jax.random.split(jax.random.key(0))
    f(jnp.zeros((3, 700)), key)
    tree({"w": jnp.zeros((N, 2 * N), jnp.bfloat16), "b c": (jnp.zeros(3), [np.zeros(2)])}, N, mode="train")
    step(X, y=X[0])
    fields(PARAMS)
    size_not_known(jnp.zeros(n))
    starred(*many)
    second_call(unknown(n))
    second_call(X + 1.5)
    model.forward(X)
"""


def planned(folder: Path, text: str, name: str = "case.py") -> list[DeclaredSignature]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    project = Project(str(folder))
    model = project.model(str(path))
    assert model is not None
    return list(plan(model, project, Config()).declared)


def test_calls_whose_arguments_follow_from_the_source(tmp_path: Path) -> None:
    lines = CALLS.splitlines()
    found = {
        item.function: (item.signature, item.origin) for item in planned(tmp_path, CALLS) if item.source == "call site"
    }

    def at(text: str) -> str:
        return f"case.py:{next(n for n, line in enumerate(lines, 1) if text in line)}"

    assert found == {
        "f": ("f32[3,700], key<fry>[]", at("f(jnp.zeros((3")),
        "tree": ("{w: bf16[3,6], 'b c': (f32[3], (f32[2],))}, 3, mode='train'", at("tree({")),
        "plain": ("f32[4,700], y=f32[700]", at("step(X")),
        "fields": ("Params(w: f32[2,3], b: f32[3])", at("fields(PARAMS")),
        "second_call": ("f32[4,700]", at("second_call(X")),
        "Model.forward": ("f32[4,700]", at("model.forward(X")),
    }


def test_every_compiled_function_without_better_shapes_may_be_guessed(tmp_path: Path) -> None:
    text = CALLS.replace("@jax.jit\ndef never_called", "# jaxscope: f32[3]\n@jax.jit\ndef never_called")
    guessed = [(item.function, item.signature) for item in planned(tmp_path, text) if item.source == "guess"]
    wanted = ("Model.forward", "f", "fields", "plain", "second_call", "size_not_known", "starred", "tree")
    assert guessed == [(name, "") for name in wanted]


def test_the_projects_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.jaxscope]\ncaptured-threshold = "1KiB"\n\n[tool.jaxscope.signatures]\n'
        '"pkg.model:Net.forward" = "f32[3,700], key"\n"pkg/model.py::f" = ["f32[3]", "f32[9]"]\n'
        '"pkg.other:f" = "f32[5]"\n"pkg.model:gone" = "i32[]"\n',
        encoding="utf-8",
    )
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").touch()
    text = "class Net:\n    def forward(self, x, key): return x\n\n\n# jaxscope: f32[1]\ndef f(x): return x\n"
    declared = planned(tmp_path, text, "pkg/model.py")
    assert [(item.function, item.signature, item.source, item.origin) for item in declared] == [
        ("f", "f32[1]", "declared", "model.py:5"),
        ("Net.forward", "f32[3,700], key", "declared", "pyproject.toml:5"),
        ("f", "f32[3]", "declared", "pyproject.toml:6"),
        ("f", "f32[9]", "declared", "pyproject.toml:6"),
        ("gone", "i32[]", "declared", "pyproject.toml:8"),
    ]


@pytest.mark.parametrize("value", ["3", "[3]", "true", '{a = "f32[3]"}'])
def test_what_is_no_signature_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.jaxscope.signatures]\n"case:f" = {value}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"signatures\.'case:f' must be a signature"):
        project_signatures(str(tmp_path / "case.py"))
