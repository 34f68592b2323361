"""`jaxscope record`: the program's own output and status, the report after it, and what later commands make of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from run_record import TRAIN, record, write

pytestmark = pytest.mark.jax


def test_the_report_follows_the_programs_own_output(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    done = record(tmp_path, "train.py", "3", "--quiet", "-m")
    assert (done.status, done.out) == (3, "arguments ['3', '--quiet', '-m']\n")
    lines = done.err.splitlines()
    assert lines[0].startswith("jaxscope: 2 functions traced under 3 signatures; recorded in .jaxscope/recordings/")
    assert lines[1].startswith("train.py:9 step: traced 2 times, ")
    assert lines[2:5] == [
        "    f32[2,600] → f32[2,600]  # first call",
        "    f32[3,600] → f32[3,600]  # new shape of x: f32[2,600] → f32[3,600]",
        "    captures W: f32[600,600], 1.4 MiB, read at train.py:10",
    ]


def test_the_report_as_json(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    done = record(tmp_path, "--format", "json", "train.py", "0")
    first, last = done.out.splitlines()
    report = json.loads(last)
    assert (first, report["exit_status"], report["program"]) == ("arguments ['0']", 0, "train.py")
    step = report["functions"][0]
    assert (step["function"], step["line"], step["traces"], step["constant_bytes"]) == ("step", 9, 2, 1440000)
    assert [item["cause"] for item in step["signatures"]] == ["first call", "new shape of x: f32[2,600] → f32[3,600]"]
    (held,) = step["constants"]
    assert (held["name"], held["shape"], held["bytes"]) == ("W", [600, 600], 1440000)
    assert (held["dtype"], held["path"], held["line"]) == ("float32", "train.py", 10)
    assert step["compile_seconds"] > 0
    quiet = record(tmp_path, "--output", "report.json", "--format", "json", "train.py", "0")
    assert (quiet.out, quiet.err) == ("arguments ['0']\n", "")
    assert json.loads((tmp_path / "report.json").read_text())["functions"][0]["function"] == "step"


def test_a_module_of_a_package(tmp_path: Path) -> None:
    write(tmp_path, pkg____init___py="import jax", pkg__main_py="print(__name__, __package__)")
    (tmp_path / "pkg/main.py").write_text("import jax\njax.jit(lambda x: x)(1.0)\nprint(__name__, __package__)\n")
    (tmp_path / "pkg/__init__.py").write_text("import jax\n")
    done = record(tmp_path, "-m", "pkg.main", "-q")
    assert (done.status, done.out) == (0, "__main__ pkg\n")
    assert "pkg/main.py:2 <lambda>: traced 1 time" in done.err


@pytest.mark.parametrize("arguments", [(), ("-m",), ("--quiet",)])
def test_nothing_to_run(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = record(tmp_path, *arguments)
    assert (done.status, done.out) == (2, "")
    assert "nothing to run" in done.err


def test_what_cannot_be_recorded_is_said_and_the_program_runs(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    (tmp_path / ".jaxscope").write_text("a file in the way")
    done = record(tmp_path, "train.py", "3")
    assert (done.status, done.out) == (3, "arguments ['3']\n")
    assert "nothing is recorded" in done.err
    without = write(tmp_path / "other", plain_py="print('no jax')")
    assert "nothing was recorded" in record(without, "plain.py").err


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_goes_to_the_program_and_the_report_still_comes(tmp_path: Path) -> None:
    program = TRAIN.replace("sys.exit(", "print('ready', flush=True); import time; time.sleep(60); sys.exit(")
    write(tmp_path, train_py=program)
    process = subprocess.Popen(
        [sys.executable, "-m", "jaxscope.cli.main", "record", "train.py", "0"],
        cwd=tmp_path,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "VIRTUAL_ENV": "", "PYTHONUNBUFFERED": "1"},
        stdout=-1,
        stderr=-1,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["arguments ['0']\n", "ready\n"]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "KeyboardInterrupt" in error
    assert "jaxscope: 2 functions traced" in error
