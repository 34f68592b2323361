"""Exit statuses, options, files that cannot be read or written, and what must stay quiet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_cli import CAPTURE, UNGUESSABLE, findings, jaxscope

GOLDEN = Path(__file__).with_name("golden")


def test_nothing_found_is_zero(work: Path) -> None:
    done = jaxscope("check", "clean.py", "--no-trace", cwd=work)
    assert (done.status, done.out) == (0, "No findings in 1 file.\n")


def test_fail_level_decides(work: Path) -> None:
    assert jaxscope("check", "case.py", cwd=work).status == 1
    assert jaxscope("check", "case.py", "--fail-level", "error", cwd=work).status == 0


def test_rules_are_chosen(work: Path) -> None:
    assert jaxscope("check", "case.py", "--ignore", "captured-array", cwd=work).status == 0
    assert jaxscope("check", "case.py", "--select", "captured-array", cwd=work).status == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "nowhere.py"], "no such file or folder: nowhere.py"),
        (["check", "case.py", "--select", "captured"], "no such rule: captured"),
        (["check", "case.py", "--threshold", "big"], "not a size: 'big'"),
        (["check", "case.py", "--timeout", "-1"], "not a number of seconds: '-1'"),
        (["check", "case.py", "--format", "yaml"], "invalid choice: 'yaml'"),
        (["check", "case.py", "--run", "main", "--no-trace"], "--run and --no-trace exclude each other"),
        (["check", "case.py", "--run", "mian"], "--run mian: none of the files has a function of that name"),
        (["fix", "case.py", "--rule", "nothing"], "no such rule: nothing"),
        (["show", "case.py"], "not FILE::QUALNAME: case.py"),
        (["show", "case.py::g"], "case.py has no function g"),
        (["show", "case.py::stuck"], "no shapes are known for stuck"),
        (["fix", "case.py", "--rule", "captured-array", "--name", "NOPE"], "no captured-array finding about `NOPE`"),
        (["explain", "nothing"], "no such rule: nothing"),
        (["check", "case.py", "--trace", "--python", "/nowhere/python"], "Cannot run /nowhere/python"),
        ([], "usage: jaxscope"),
    ],
)
def test_what_cannot_be_done_is_two(work: Path, arguments: list[str], said: str) -> None:
    (work / "case.py").write_text(CAPTURE + UNGUESSABLE)
    done = jaxscope(*arguments, cwd=work)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_no_jax_in_the_interpreter_is_two(work: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(work / "empty")], check=True)
    done = jaxscope("check", "case.py", "--trace", "--python", "empty", cwd=work)
    assert (done.status, done.out) == (2, "")
    assert "No JAX in " in done.err
    assert jaxscope("check", "case.py", "--python", "empty", cwd=work).status == 1


def test_users_prints_go_to_standard_error(work: Path) -> None:
    done = jaxscope("check", "case.py", "--run", "main", "--format", "json", cwd=work)
    assert findings(done.out) == [("captured-array", "W", 9)]
    assert "said by the user" in done.err


@pytest.mark.parametrize("text", ["import no_such_module, jax\n", "raise SystemExit(0)\nimport jax\n"])
def test_a_file_that_could_not_be_run_is_not_clean(text: str, work: Path) -> None:
    (work / "bad.py").write_text(text)
    assert jaxscope("check", "bad.py", "--no-trace", cwd=work).status == 0
    assert jaxscope("check", "bad.py", "--trace", cwd=work).status == 2
    assert jaxscope("check", "bad.py", "clean.py", "--trace", cwd=work).status == 0


def test_no_code_runs_unless_it_is_asked_for(work: Path) -> None:
    (work / "case.py").write_text(CAPTURE + "\nopen('ran', 'w')\n")
    assert jaxscope("check", "case.py", cwd=work).status == 1
    (work / "pyproject.toml").write_text("[tool.jaxscope]\ntrace = true\n")
    assert jaxscope("check", "case.py", "--no-trace", cwd=work).status == 1
    assert not (work / "ran").exists()
    done = jaxscope("check", "case.py", "--format", "json", cwd=work)
    errors = {error["kind"]: error for error in json.loads(done.out)["errors"]}
    assert errors["blocked"] == {
        "path": "case.py",
        "line": 16,
        "kind": "blocked",
        "message": "running `case.py` tried to write `ran`; it was blocked",
    }
    assert errors["user-error"]["message"].startswith("PermissionError: ")
    assert not (work / "ran").exists()


def test_settings_of_the_nearest_project_file_hold(work: Path) -> None:
    (work / "pyproject.toml").write_text('[tool.jaxscope]\ncaptured-threshold = "8MiB"\n')
    assert jaxscope("check", "case.py", "--run", "main", cwd=work).status == 0
    inner = work / "inner"
    inner.mkdir()
    shutil.copy(work / "case.py", inner / "inner_case.py")
    (inner / "pyproject.toml").write_text('[tool.jaxscope]\ncaptured-threshold = "1MiB"\n')
    done = jaxscope("check", ".", "--format", "json", cwd=work)
    assert {f["path"] for f in json.loads(done.out)["findings"] if f["severity"] == "warning"} == {
        "inner/inner_case.py"
    }
    assert jaxscope("check", "case.py", "--threshold", "1MiB", cwd=work).status == 1


def test_a_bad_setting_is_named_with_its_file(work: Path) -> None:
    (work / "pyproject.toml").write_text('[tool.jaxscope]\ncaptured-threshold = "big"\n')
    done = jaxscope("check", "case.py", cwd=work)
    assert done.status == 2
    assert "not a size: 'big'" in done.err
    assert "pyproject.toml" in done.err


def test_a_failing_import_is_an_error_and_the_rest_goes_on(work: Path) -> None:
    (work / "bad.py").write_text("import jax\n\nimport no_such_module\n")
    done = jaxscope("check", "bad.py", "case.py", "--run", "main", "--format", "json", cwd=work)
    assert findings(done.out) == [("captured-array", "W", 9)]
    (error,) = json.loads(done.out)["errors"]
    assert (error["path"], error["line"], error["kind"]) == ("bad.py", 3, "user-error")
    assert error["message"] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_a_crash_and_a_hang_are_errors_and_the_rest_goes_on(work: Path) -> None:
    (work / "crash.py").write_text("import jax, os\nos.abort()\n")
    (work / "hang.py").write_text("import jax\nwhile True: pass\n")
    done = jaxscope(
        "check", "crash.py", "hang.py", "case.py", "--run", "main", "--format", "json", "--timeout", "8", cwd=work
    )
    assert findings(done.out) == [("captured-array", "W", 9)]
    assert {(e["path"], e["kind"]) for e in json.loads(done.out)["errors"]} == {
        ("crash.py", "crashed"),
        ("hang.py", "timed-out"),
    }


def test_a_folder_with_what_is_no_source(work: Path) -> None:
    os.mkfifo(work / "pipe.py")
    (work / "dangling.py").symlink_to("nowhere.py")
    (work / "same.py").symlink_to("case.py")
    (work / "itself.py").symlink_to("itself.py")
    (work / "folder.py").mkdir()
    (work / "folder.py" / "up").symlink_to("..")
    (work / "bytes.py").write_bytes(b"import jax\nx = '\xff'\n")
    done = jaxscope("check", ".", "--no-trace", "--format", "json", cwd=work)
    assert findings(done.out) == [("captured-array", "W", 9)]
    assert [(e["path"], e["kind"]) for e in json.loads(done.out)["errors"]] == [("bytes.py", "read")]


def test_a_notebook_is_an_error_and_the_rest_goes_on(work: Path) -> None:
    (work / "a.ipynb").write_text('{"cells": []}')
    done = jaxscope("check", "a.ipynb", "case.py", "--run", "main", "--format", "json", cwd=work)
    assert findings(done.out) == [("captured-array", "W", 9)]
    assert [(e["path"], e["kind"]) for e in json.loads(done.out)["errors"]] == [("a.ipynb", "read")]


def test_a_value_that_a_file_of_the_folder_changes_which_compiles_nothing(tmp_path: Path) -> None:
    (tmp_path / "tables.py").write_text("SCALE = 1.0\n")
    (tmp_path / "ops.py").write_text(
        "import jax\nimport tables\n\n\n@jax.jit\ndef f(x):\n    return x * tables.SCALE\n"
    )
    body = "    x = jnp.ones(3)\n    f(x)\n    tables.SCALE = 3.0\n    f(x)\n"
    imports = "import jax.numpy as jnp\n\nimport tables\nfrom ops import f\n"
    (tmp_path / "program.py").write_text(f"{imports}\n\ndef main():\n{body}")
    done = jaxscope("check", ".", "--no-trace", "--format", "json", cwd=tmp_path)
    assert findings(done.out) == [("stale-capture", "tables.SCALE", 7)]


def test_the_same_finding_by_two_files_is_printed_once(work: Path) -> None:
    (work / "user.py").write_text("import case\n\n\ndef main():\n    return case.main()\n")
    done = jaxscope("check", "user.py", "case.py", "--run", "main", "--format", "json", cwd=work)
    assert findings(done.out) == [("captured-array", "W", 9)]


@pytest.mark.skipif(os.name != "posix", reason="takes a folder's write permission away")
def test_a_folder_that_cannot_be_written(work: Path) -> None:
    work.chmod(0o555)
    try:
        assert findings(jaxscope("check", "case.py", "--run", "main", "--format", "json", cwd=work).out)
        if os.geteuid() != 0:
            done = jaxscope("fix", "case.py", "--rule", "captured-array", "--run", "main", cwd=work)
            assert done.status == 2 and "cannot write case.py" in done.err
            assert (work / "case.py").read_text() == CAPTURE
    finally:
        work.chmod(0o755)


def test_timing_prints_every_stage(work: Path) -> None:
    done = jaxscope("time", "case.py::f", "--run", "main", "--compare", "--format", "json", cwd=work)
    assert done.status == 0, done.err
    timings = json.loads(done.out)["timings"]
    assert [form["form"] for form in timings["forms"]] == ["captured", "hoisted"]
    stages = [{stage["stage"] for stage in form["stages"]} for form in timings["forms"]]
    assert stages == [{"trace", "lower", "compile", "run"}, {"lower", "compile", "run"}]
    captured, hoisted = (form["module_bytes"] for form in timings["forms"])
    assert captured > 512 * 1024 * 4 > hoisted
    text = jaxscope("time", "case.py::f", "--args", "f32[2,512]", cwd=work).out
    assert "median" in text and "compile" in text


def test_explain_prints_the_rules_documentation(work: Path) -> None:
    done = jaxscope("explain", "captured-array", cwd=work)
    assert done.status == 0
    assert done.out.startswith("captured-array (")
    assert len(done.out) > 500


def test_nothing_keeps_running(work: Path) -> None:
    (work / "mark.py").write_text(
        "import jax, os, sys\nprint('PID', os.getpid(), file=sys.stderr, flush=True)\n" + CAPTURE
    )
    done = jaxscope("check", "mark.py", "--run", "main", cwd=work)
    (pid,) = [int(line.split()[1]) for line in done.err.splitlines() if line.startswith("PID ")]
    end = time.monotonic() + 5
    while time.monotonic() < end and Path(f"/proc/{pid}").exists():
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_nothing_that_could_be_looked_at_is_two(work: Path) -> None:
    (work / "a.ipynb").write_text('{"cells": []}')
    (work / "bad.py").write_text("import jax\ndef (:\n")
    assert jaxscope("check", "a.ipynb", cwd=work).status == 2
    assert jaxscope("check", "a.ipynb", "bad.py", cwd=work).status == 2
    assert jaxscope("check", "a.ipynb", "clean.py", cwd=work).status == 0


def test_a_failing_function_shows_the_users_frames_and_the_message_once(work: Path) -> None:
    done = jaxscope("show", "case.py::f", "--args", "f32[2,513]", cwd=work)
    assert done.status == 2
    assert done.err.count("TypeError") == 1
    assert "case.py:9, in f" in done.err and "    return x @ W" in done.err
    assert "jaxscope_worker" not in done.err and "site-packages" not in done.err


def test_constants_show_where_they_are_bound(work: Path) -> None:
    assert "case.py:4" in jaxscope("show", "case.py::f", "--run", "main", "--stage", "constants", cwd=work).out


def test_an_unknown_setting_is_said(work: Path) -> None:
    (work / "pyproject.toml").write_text(
        '[tool.jaxscope]\ncaptured-treshold = "1MiB"\n[tool.jaxscope.trace]\nwhen = "off"\n'
    )
    done = jaxscope("check", "clean.py", cwd=work)
    assert done.status == 0
    assert done.err.count("unknown setting") == 1
    assert "unknown setting captured-treshold (did you mean captured-threshold?)" in done.err
