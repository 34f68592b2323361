"""What is said where something goes wrong in the user's program: once, and with what one needs to know."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from run_cli import jaxscope

LACKING = "import jax\nimport no_such_module_anywhere\n\n\n@jax.jit\ndef f(x):\n    print(x)\n    return x\n"


@pytest.mark.parametrize("command", [("check", "--trace"), ("fix", "--trace", "--rule", "side-effect", "--unsafe")])
def test_a_failed_import_names_the_python(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "prog.py").write_text(LACKING)
    done = jaxscope(*command, "--python", sys.executable, "prog.py", cwd=tmp_path)
    assert f"No module named 'no_such_module_anywhere' (run by {sys.executable})" in done.out + done.err


def test_where_one_function_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(LACKING)
    done = jaxscope("show", "--python", sys.executable, "prog.py::f", cwd=tmp_path)
    assert f"'no_such_module_anywhere' (run by {sys.executable})" in done.err


@pytest.mark.parametrize(
    "broken", ["def broken(:\n    pass\n", "if True:\nx = 1\n", "if True:\n\tx = 1\n        y = 2\n"]
)
def test_what_does_not_parse_is_told_once(tmp_path: Path, broken: str) -> None:
    (tmp_path / "prog.py").write_text("import jax\n\n\n@jax.jit\ndef f(x):\n    return x\n\n\n" + broken)
    done = jaxscope("check", "--trace", "--format", "json", "prog.py", cwd=tmp_path)
    assert [row["kind"] for row in json.loads(done.out)["errors"]] == ["syntax"]


def test_another_file_that_does_not_parse_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("import jax\nimport other\n\n\n@jax.jit\ndef f(x):\n    return x\n")
    (tmp_path / "other.py").write_text("def broken(:\n    pass\n")
    done = jaxscope("check", "--trace", "--format", "json", "prog.py", cwd=tmp_path)
    assert [(row["path"], row["kind"]) for row in json.loads(done.out)["errors"]] == [("other.py", "user-error")]


def test_a_recorded_program_that_failed_first(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("def broken(:\n    pass\n")
    done = jaxscope("record", "prog.py", cwd=tmp_path)
    assert done.status == 1
    assert "nothing was recorded: the program ended with status 1, and jax was not seen to be imported" in done.err
    (tmp_path / "prog.py").write_text("print('no jax here')\n")
    assert "the program did not import jax, or jax is not in" in jaxscope("record", "prog.py", cwd=tmp_path).err


def test_timing_does_not_repeat_what_the_function_prints(tmp_path: Path) -> None:
    text = "import jax\n\n\n# jaxscope: f32[3]\n@jax.jit\ndef f(x):\n    print('traced now', flush=True)\n"
    text += "    jax.debug.print('run now')\n    return x * 2\n"
    (tmp_path / "prog.py").write_text(text)
    done = jaxscope("time", "prog.py::f", cwd=tmp_path)
    assert done.status == 0 and "run" in done.out, done.err
    assert done.err.count("traced now") <= 1 and done.err.count("run now") <= 1
