"""The facts of a file as other layers ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.config import Config
from jaxscope.rules.base import Context, judge
from jaxscope.semantics.compiled.givers import bound_at
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.project import Project
from jaxscope.text.span import Position

TEXT = """\
import jax
import jax.numpy as jnp
from functools import partial

W = jnp.zeros((3, 4))


class Model:
    def __init__(self):
        self.w = W

    @partial(
        jax.jit, static_argnums=(0, 2), static_argnames="mode"
    )
    def step(self, x, n, /, *rest, mode="a", **more):
        def inner(W, y=W):
            return W + y
        return inner(x @ W) + (lambda v: v @ W)(x) + self.w.T


fast = jax.jit(jax.vmap(lambda z: z @ W, in_axes=0))
"""


@pytest.fixture
def model(tmp_path: Path) -> FileModel:
    path = tmp_path / "case.py"
    path.write_text(TEXT)
    found = Project(str(tmp_path)).model(str(path))
    assert found is not None
    return found


def test_functions(model: FileModel) -> None:
    assert [f.qualname for f in model.functions] == [
        "Model.__init__",
        "Model.step",
        "Model.step.<locals>.inner",
        "Model.step.<locals>.<lambda>",
        "<lambda>",
    ]
    step = model.function("Model.step")
    assert step is not None
    assert (step.line, step.range.start, step.range.end.line) == (15, Position(12, 5), 18)
    assert step.name_range.start == Position(15, 9) and step.name_range.end == Position(15, 13)
    assert (step.parent, step.owner_class) == (None, "Model")
    kinds = [(p.name, p.kind, p.has_default) for p in step.parameters]
    assert kinds == [
        ("self", "positional-only", False),
        ("x", "positional-only", False),
        ("n", "positional-only", False),
        ("rest", "star", False),
        ("mode", "keyword-only", True),
        ("more", "double-star", False),
    ]
    inner = model.function("Model.step.<locals>.inner")
    assert inner is not None and inner.parent == "Model.step" and inner.owner_class is None


def test_sites(model: FileModel) -> None:
    first, second = model.traced
    assert (first.function.qualname, first.transform, first.statics) == ("Model.step", "jit", ("self", "n", "mode"))
    assert (first.static_nums, first.static_names) == ((0, 2), ("mode",))
    assert (first.place.start, first.place.end) == (Position(12, 6), Position(14, 6))
    assert (second.function.qualname, second.chain) == ("<lambda>", ("jit", "vmap"))


def test_where(model: FileModel) -> None:
    def at(line: int, column: int) -> str | None:
        function = model.function_at(Position(line, column))
        return function.qualname if function else None

    assert at(12, 7) == "Model.step"
    assert at(17, 20) == "Model.step.<locals>.inner"
    assert at(18, 43) == "Model.step.<locals>.<lambda>"
    assert at(5, 1) is None
    site = model.traced_at(Position(17, 20))
    assert site is not None and site.function.qualname == "Model.step"
    site = model.traced_at(Position(21, 10))
    assert site is not None and site.function.qualname == "<lambda>"
    assert model.traced_at(Position(1, 1)) is None


def test_reads_and_binding(model: FileModel) -> None:
    step = model.function("Model.step")
    assert step is not None
    assert [place.start for place in model.reads(step, "W")] == [Position(16, 24), Position(18, 26), Position(18, 46)]
    assert [place.start for place in model.reads(step, "self.w")] == [Position(18, 54)]
    assert model.reads(step, "nothing") == ()
    bound = bound_at(model, step, "W")
    assert bound is not None and bound.range.start == Position(5, 1)


PROGRAMS = [
    ("import argparse\nargs = argparse.ArgumentParser().parse_args()\n", "parses command-line arguments"),
    ("for epoch in range(3):\n    train(epoch)\n", "loop"),
    ("main()\n", "main()"),
    ("from absl import app\napp.run(main)\n", "app.run()"),
    ("if __name__ == '__main__':\n    main()\n", None),
    ("def f():\n    main()\n\n\ntable = []\nfor n in range(3):\n    table.append(n)\n", None),
]


@pytest.mark.parametrize(("text", "reason"), PROGRAMS)
def test_runs_when_imported(tmp_path: Path, text: str, reason: str | None) -> None:
    path = tmp_path / "case.py"
    path.write_text(text)
    model = Project(str(tmp_path)).model(str(path))
    assert model is not None
    said = model.runs_when_imported
    assert said is None if reason is None else said is not None and reason in said


def test_imports_within_the_project(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .tables import A\n",
        "pkg/tables.py": "import jax.numpy as jnp\nA = jnp.zeros((1024, 1024))\n",
        "pkg/sub/__init__.py": "",
        "pkg/sub/use.py": "import jax\nimport pkg\nimport pkg.tables as t\n"
        "from ..tables import A\nfrom .. import tables\n"
        "f = jax.jit(lambda x: x @ pkg.A)\ng = jax.jit(lambda x: x @ t.A)\n"
        "h = jax.jit(lambda x: x @ A)\nk = jax.jit(lambda x: x @ tables.A)\n"
        "m = jax.jit(lambda x: x @ pkg.tables.A)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    project = Project(str(tmp_path))
    model = project.model(str(tmp_path / "pkg/sub/use.py"))
    assert model is not None
    found = judge(model, Context(Config(), project)).findings
    assert [(f.name, f.severity) for f in found] == [
        (name, "warning") for name in ("pkg.A", "t.A", "A", "tables.A", "pkg.tables.A")
    ]
    assert project.resolve(model.path, "jax") is None
    names = sorted(Path(path).name for path in project.python_files())
    assert names == ["__init__.py", "__init__.py", "tables.py", "use.py"]


@pytest.mark.parametrize(
    "text, imported",
    [
        ("import steps", True),
        ("    from pkg.steps import f", True),
        ("from pkg import other, steps", True),
        ("from . import (  # all\n    other,\n    steps,\n)", True),
        ("from . import (\n    other,\n)\nsteps = 3", False),
        ("import numpy\n# steps", False),
        ("steps = important", False),
    ],
)
def test_who_may_import_a_file(tmp_path: Path, text: str, imported: bool) -> None:
    Path(tmp_path, "steps.py").write_text("import jax\n")
    Path(tmp_path, "user.py").write_text(f"{text}\n")
    assert Project(str(tmp_path)).is_imported(str(Path(tmp_path, "steps.py"))) is imported


def test_while_a_statement_is_broken_its_last_good_findings_stay(tmp_path: Path) -> None:
    path = str(tmp_path / "case.py")
    text = "import jax\nimport jax.numpy as jnp\nW = jnp.zeros((1024, 1024))\n\n\n"
    text += "@jax.jit\ndef f(x):\n    y = x\n    return y @ W\n"
    project = Project(str(tmp_path))

    def found() -> list[tuple[int, int, bool, str | None]]:
        model = project.model(path)
        assert model is not None
        return [
            (f.range.start.line, f.range.start.column, bool(f.fixes), f.refused)
            for f in judge(model, Context(Config(), project)).findings
        ]

    project.set_text(path, text)
    assert found() == [(9, 16, True, None)]
    project.set_text(path, text.replace("y = x", "y = x +\n"))
    assert found() == [(10, 16, False, "This part of the file does not parse at the moment.")]
    project.set_text(path, text)
    assert found() == [(9, 16, True, None)]


def test_open_text_counts_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text("x = 1\n")
    project = Project(str(tmp_path))
    project.set_text(str(path), "y = 2\n")
    module = project.module(str(path))
    assert module is not None and module.text == "y = 2\n"
    project.forget(str(path))
    module = project.module(str(path))
    assert module is not None and module.text == "x = 1\n"
    assert project.model(str(tmp_path / "missing.py")) is None
