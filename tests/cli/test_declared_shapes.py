"""Shapes that the command line is told, and functions that lack them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from run_cli import CAPTURE, UNGUESSABLE, jaxscope

SIGNATURES = """import jax
import jax.numpy as jnp

W = jnp.arange(512.0 * 1024).reshape(512, 1024)


# jaxscope: f32[2,513]
@jax.jit
def shape(x):
    return x @ W


# jaxscope: float[2;512]
@jax.jit
def text(x):
    return x @ W


# jaxscope: f32[2,512], f32[]
@jax.jit
def many(x):
    return x @ W


# jaxscope: f32[2,512]
@jax.jit
def good(x):
    return x @ W
"""


def test_what_was_not_traced_is_said(work: Path) -> None:
    (work / "signatures.py").write_text(SIGNATURES + UNGUESSABLE)
    (work / "stuck.py").write_text(CAPTURE + UNGUESSABLE)
    done = jaxscope("check", "signatures.py", "--trace", "--format", "json", cwd=work)
    said = json.loads(done.out)
    assert [(e["path"], e["line"], e["kind"]) for e in said["errors"]] == [
        ("signatures.py", 7, "signature"),
        ("signatures.py", 13, "signature"),
        ("signatures.py", 19, "signature"),
    ]
    for error, reason in zip(said["errors"], ("got (513,) and (512,)", "',' is wanted", "2 were given"), strict=True):
        assert reason in error["message"]
    statuses = {f["function"]: f["status"] for f in said["functions"]}
    assert statuses["stuck"] == "not traced: no shapes are known for it"
    done = jaxscope("check", "signatures.py", "stuck.py", "--trace", cwd=work)
    assert "signatures.py:7: failed signature: `# jaxscope: f32[2,513]` above `shape`: TypeError: " in done.out
    assert done.out.splitlines()[-1].startswith("5 functions were not traced: ")
    assert "no known shapes (2)" in done.out.splitlines()[-1]
    done = jaxscope("check", "stuck.py", "--trace", cwd=work)
    assert done.out.splitlines()[-1] == "1 function was not traced: no known shapes (-v lists them)"
    assert "not traced" not in jaxscope("check", "stuck.py", "--no-trace", cwd=work).out


def test_signatures_for_what_is_not_there_are_errors_of_their_line(work: Path) -> None:
    (work / "pkg").mkdir()
    (work / "pkg" / "__init__.py").write_text("")
    text = (
        "import jax\nfrom os.path import join\n\nstep = jax.jit(lambda x: x)\n\n\nclass Net:\n    def call(self, x):\n"
    )
    (work / "pkg" / "model.py").write_text(text + "        return x\n")
    keys = {
        "pkg.model:step": "",
        "pkg/model.py::Net.call": "",
        "pkg.model:join": "",
        "pkg.modle:step": "no file of the project is pkg.modle",
        "pkg/modle.py::step": "no file of the project is pkg/modle.py",
        "pkg.model:stop": "pkg.model has no stop",
        "pkg.model:Net.cell": "pkg.model has no Net.cell",
        "step": "write it as",
    }
    table = "".join(f'"{key}" = "f32[2]"\n' for key in keys)
    (work / "pyproject.toml").write_text(f"[tool.jaxscope.signatures]\n{table}")
    wrong = {at: said for at, (_, said) in enumerate(keys.items(), 2) if said}
    done = jaxscope("check", "pkg", "--format", "json", cwd=work)
    rows = json.loads(done.out)["errors"]
    assert {(row["path"], row["kind"]) for row in rows} == {("pyproject.toml", "signature")}
    assert [row["line"] for row in rows] == list(wrong)
    assert all(wrong[row["line"]] in row["message"] for row in rows), rows
    # A trace that was to use one of them says so itself, at the same line, once.
    traced = json.loads(jaxscope("check", "pkg", "--trace", "--format", "json", cwd=work).out)["errors"]
    lines = [row["line"] for row in traced if row["path"] == "pyproject.toml"]
    assert set(wrong) <= set(lines) and len(lines) == len(set(lines))


def test_a_lambda_is_found_by_the_name_that_it_is_assigned_to(work: Path) -> None:
    text = "import jax\nimport jax.numpy as jnp\n\nh = jax.jit(lambda x: x + 1)\ng = jax.jit(\n    lambda y: y * 2)\n"
    (work / "lam.py").write_text(text + "\n\ndef main():\n    h(jnp.ones(2))\n    g(jnp.ones(3))\n")
    for name, shown in (("h", "<lambda>(x: f32[2])"), ("g", "<lambda>(y: f32[3])")):
        assert jaxscope("show", f"lam.py::{name}", "--run", "main", cwd=work).out.startswith(shown)
    assert "has no function k" in jaxscope("show", "lam.py::k", "--run", "main", cwd=work).err


def test_shapes_are_declared_for_a_lambda(work: Path) -> None:
    (work / "lam.py").write_text("import jax\n\n# jaxscope: f32[2]\nh = jax.jit(lambda x: x + 1)\n")
    done = jaxscope("check", "lam.py", "--trace", "-v", cwd=work)
    assert "lam.py:4: <lambda>: f32[2] → f32[2] (declared)" in done.out
    assert f"jaxscope: run by {sys.executable} (Python 3." in done.err
