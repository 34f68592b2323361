"""What a run of the program shows of files that were not named, and how often it runs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_cli import jaxscope

HELPER = """import jax
import jax.numpy as jnp

TABLE = jnp.ones((600, 600))
UNUSED = jnp.ones((600, 600))


@jax.jit
def project(x):
    return x @ TABLE


@jax.jit
def never(x):
    return x @ UNUSED
"""
MAIN = """import jax
import jax.numpy as jnp

import helper

A = jnp.ones((600, 600))
B = jnp.ones((600, 600))


@jax.jit
def first(x):
    return x @ A


@jax.jit
def second(x):
    return x @ B


def main():
    print("running", flush=True)
    return helper.project(second(first(jnp.ones((2, 600)))))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


def test_another_file_that_the_run_comes_to(program: Path) -> None:
    done = jaxscope("check", "--run", "main", "--format", "json", "main.py", cwd=program)
    said = json.loads(done.out)
    found = {(item["path"], item["name"]) for item in said["findings"]}
    assert found == {("main.py", "A"), ("main.py", "B"), ("helper.py", "TABLE")}
    assert said["files"] == ["main.py", "helper.py"]
    assert {item["function"] for item in said["functions"]} == {"first", "second", "project"}


def test_no_other_file_unless_a_run_was_asked_for(program: Path) -> None:
    done = jaxscope("check", "--trace", "--format", "json", "main.py", cwd=program)
    assert {item["path"] for item in json.loads(done.out)["findings"]} == {"main.py"}


def test_a_file_that_was_named_is_told_of_wholly_and_once(program: Path) -> None:
    done = jaxscope("check", "--run", "main", "--format", "json", ".", cwd=program)
    found = sorted((item["path"], item["name"]) for item in json.loads(done.out)["findings"])
    assert found == [("helper.py", "TABLE"), ("helper.py", "UNUSED"), ("main.py", "A"), ("main.py", "B")]


def test_a_fix_goes_where_the_run_went(program: Path) -> None:
    done = jaxscope("fix", "--run", "main", "--rule", "captured-array", "--name", "TABLE", "main.py", cwd=program)
    assert done.status == 0, done.err
    assert "def project(x, TABLE):" in (program / "helper.py").read_text()
    assert "helper.project(second(first(jnp.ones((2, 600)))), helper.TABLE)" in (program / "main.py").read_text()


def test_what_the_program_prints_is_shown_once(program: Path) -> None:
    done = jaxscope("fix", "--run", "main", "--rule", "captured-array", "main.py", cwd=program)
    assert done.err.splitlines().count("running") == 1
    assert "def first(x, A):" in (program / "main.py").read_text(), done.out


def fix_and_count(program: Path, main: str, *options: str) -> tuple[str, int]:
    (program / "main.py").write_text(main.replace("    print(", '    open("runs", "a").write("x")\n    print('))
    (program / "pyproject.toml").write_text('[tool.jaxscope.trace]\nallow-side-effects = ["write"]\n')
    done = jaxscope("fix", "--run", "main", "--rule", "captured-array", *options, "main.py", cwd=program)
    return done.out + done.err, len((program / "runs").read_text())


@pytest.mark.parametrize("options", [(), ("--name", "A")])
def test_once_as_it_is_then_before_and_after_the_change(program: Path, options: tuple[str, ...]) -> None:
    said, runs = fix_and_count(program, MAIN, *options)
    assert "def first(x, A):" in (program / "main.py").read_text(), said
    assert runs == 3


def test_a_run_that_verified_a_fix_shows_what_is_left_to_fix(program: Path) -> None:
    """One fix fails, so that all are tried one by one: nothing is run only to see the others again."""
    hidden = """    assert globals()["fir" + "st"].__wrapped__.__code__.co_argcount == 1\n"""
    said, runs = fix_and_count(program, MAIN.replace("    return helper", f"{hidden}    return helper"))
    text = (program / "main.py").read_text()
    assert "def first(x):" in text and "def second(x, B):" in text and "helper.TABLE" in text, said
    assert runs == 1 + 2 + 3 * 2


@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals")
def test_a_terminal_shows_what_a_fix_is_at(program: Path) -> None:
    import pty

    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "jaxscope.cli.main", "fix", "--run", "main", "--rule", "captured-array", "main.py"]
    env = {**os.environ, "VIRTUAL_ENV": "", "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.Popen(command, cwd=program, env=env, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal so
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    assert done.wait(60) == 0
    assert shown.index(b"tracing") < shown.index(b"verifying: tracing before: main") < shown.index(b"after: main")
