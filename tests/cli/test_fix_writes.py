"""A fix of several files is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from run_cli import jaxscope

CASE = """import jax
import jax.numpy as jnp

W = jnp.ones((600, 600))


@jax.jit
def f(x):
    return x @ W
"""
OTHER = """{coding}import case
import jax.numpy as jnp

y = case.f(jnp.ones(600))
"""


def test_a_file_that_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text(CASE)
    (tmp_path / "other.py").write_text(OTHER.format(coding=""))
    (tmp_path / "other.py").chmod(0o444)
    done = jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", cwd=tmp_path)
    assert (done.status, done.err.splitlines()[-1]) == (2, "jaxscope: nothing was written: other.py is read-only")
    assert (tmp_path / "case.py").read_text() == CASE


def test_a_second_file_that_cannot_be_kept(tmp_path: Path) -> None:
    other = OTHER.format(coding="# -*- coding: utf-8 -*-\n").encode() + b"# \xff\n"
    (tmp_path / "case.py").write_text(CASE)
    (tmp_path / "other.py").write_bytes(other)
    done = jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", cwd=tmp_path)
    assert done.status == 2 and "cannot write other.py" in done.err
    assert (tmp_path / "case.py").read_text() == CASE
    assert (tmp_path / "other.py").read_bytes() == other


DONATED = """import jax
import jax.numpy as jnp


@jax.jit
def move(state, x):
    return state + x


@jax.jit
def step(state, x):
    return state - x


def main():
    kept = move
    first = jnp.ones((600, 600))
    for x in (1.0, 2.0):
        first = move(first, x)
    second = jnp.ones((600, 600))
    for x in (1.0, 2.0):
        second = step(second, x)
    return first + second
"""


STEP = """import jax
import jax.numpy as jnp


@jax.jit
# jaxscope: {w: f32[600,600], b: f32[600]}, f32[]
def step(params, x):
    return {"w": params["w"] - x, "b": params["b"] * 2}


def main():
    params = {"w": jnp.ones((600, 600)), "b": jnp.ones(600)}
    for x in (1.0, 2.0):
        params = step(params, x)
    return params
"""


def test_the_memory_that_a_donation_saves_is_read_off_the_compiled_program(tmp_path: Path) -> None:
    for how, seen in (
        (["--run", "main"], "Run again: output unchanged"),
        (["--trace"], "Traced again: the same program"),
    ):
        (tmp_path / "case.py").write_text(STEP)
        done = jaxscope("fix", "case.py", "--rule", "donation", *how, cwd=tmp_path)
        said = f"case.py: Done in step: Donate `params`. {seen}. The compiled program reuses 1.4 MiB.\n"
        assert (done.status, done.out) == (0, said), done.err
        assert "donate_argnums=(0,)" in (tmp_path / "case.py").read_text()


def test_lines_of_refusals_are_those_of_the_text_at_the_end(tmp_path: Path) -> None:
    for diff in (["--diff"], []):
        (tmp_path / "case.py").write_text(DONATED)
        done = jaxscope("fix", "case.py", "--rule", "donation", "--no-trace", *diff, cwd=tmp_path)
        (refused,) = [line for line in done.out.splitlines() if "not fixed" in line]
        shown = (tmp_path / "case.py").read_text().splitlines()
        assert (shown == DONATED.splitlines()) is bool(diff)
        assert shown[int(refused.split(":")[1]) - 1] == "    kept = move"


def test_what_several_files_call_is_donated_once(tmp_path: Path) -> None:
    compiled, _, calls = STEP.partition("\n\ndef main")
    (tmp_path / "step.py").write_text(compiled)
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(f"import jax.numpy as jnp\nfrom step import step\n\n\ndef main{calls}")
    done = jaxscope("fix", ".", "--rule", "donation", "--run", "main", cwd=tmp_path)
    assert done.status == 0, done.out + done.err
    first, second = done.out.splitlines()
    assert first.startswith("step.py: Done in step: Donate `params`. Run again: output unchanged.")
    assert second == "step.py: `params` in `step` is gone with the fix of `params` in `step`"
    assert (tmp_path / "step.py").read_text().count("donate_argnums=(0,)") == 1
