"""What becomes of a function, where names are bound again from themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.semantics.project import Project
from jaxscope.semantics.retracing.retraces import retraces_of

HEAD = "import jax\n\ndef use(xs):\n    def f(x):\n        return x\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("f = jax.jit(f)", "return f(xs)"),
        ("g = jax.jit(f)", "f = g", "g = f", "return g(xs)"),
        ("f, g = jax.jit(f), f", "return f(xs)"),
        ("return (f := jax.jit(f))(xs)",),
    ],
)
def test_a_name_bound_again_from_itself_ends(tmp_path: Path, lines: tuple[str, ...]) -> None:
    path = tmp_path / "program.py"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in lines))
    model = Project(str(tmp_path)).model(str(path))
    assert model is not None
    retraces_of(model)
    assert [site.function.name for site in model.sites][:1] == ["f"]
