"""`jaxscope record`: the program's own output and status, the report after it, and what later commands make of it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from run_cli import Done, jaxscope

pytestmark = pytest.mark.jax

TRAIN = """
    import sys
    import jax, jax.numpy as jnp, numpy as np

    W = jnp.asarray(np.random.default_rng(0).random((600, 600)), jnp.float32)


    @jax.jit
    def step(x, n=2):
        return x @ W * n


    def main():
        scale = np.ones((600, 600), np.float32)
        print("arguments", sys.argv[1:])
        for count in (2, 2, 3):
            step(jnp.ones((count, 600)))
        jax.jit(lambda y: y @ scale)(jnp.ones((4, 600)))


    if __name__ == "__main__":
        main()
        sys.exit(int(sys.argv[1]))
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    (folder / "pyproject.toml").touch()
    return folder


def record(folder: Path, *arguments: str, **env: str) -> Done:
    return jaxscope("record", *arguments, cwd=folder, env={"JAX_PLATFORMS": "cpu", **env})


def check(folder: Path, *arguments: str) -> dict[str, Any]:
    done = jaxscope("check", *arguments, "--select", "captured-array", "--format", "json", cwd=folder)
    assert done.status in (0, 1), done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


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


# ---------------------------------------------------------------- what later commands make of it


def test_a_recording_is_evidence_without_running_anything(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    before = check(tmp_path, "train.py", "--no-trace")
    assert all(item["evidence"] == "static" for item in before["findings"])
    record(tmp_path, "train.py", "0")
    found = check(tmp_path, "train.py", "--no-trace")
    assert {(item["name"], item["function"], item["evidence"]) for item in found["findings"]} == {
        ("W", "step", "both"),
        ("scale", "main.<locals>.<lambda>", "both"),
    }
    rows = {row["function"]: row for row in found["functions"]}
    assert rows["step"]["status"] == "traced"
    said = jaxscope("check", "train.py", "--no-trace", "--select", "captured-array", cwd=tmp_path).out
    assert said.count(" [recorded]\n") == 2
    assert "[traced]" not in said
    ran = jaxscope("check", "train.py", "--trace", "--select", "captured-array", cwd=tmp_path).out
    assert ran.count(" [traced]\n") == 1
    assert ran.count(" [recorded]\n") == 1  # `main` is not called by an import
    assert {(one["in"][0], one["source"]) for one in rows["step"]["signatures"]} == {
        ("f32[2,600]", "recorded"),
        ("f32[3,600]", "recorded"),
    }


FACTORY = """
    import sys

    import jax
    import jax.numpy as jnp
    import numpy as np


    def make(table):
        @jax.jit
        def apply(x):
            return x @ table
        return apply


    for n in range(2):
        make(np.full((600, 600), n, np.float32) + 1)(jnp.ones((len(sys.argv), 600)))
"""


def test_every_array_of_a_factory_is_told_and_those_of_a_job_once(tmp_path: Path) -> None:
    write(tmp_path, factory_py=FACTORY)
    record(tmp_path, "factory.py")
    (found,) = check(tmp_path, "factory.py", "--no-trace")["findings"]
    assert (found["array"]["count"], found["array"]["total_bytes"]) == (2, 2 * 600 * 600 * 4)
    # Another process of the same run, with arrays of its own and another shape.
    (run,) = (tmp_path / ".jaxscope" / "recordings").iterdir()
    before = set(run.iterdir())
    record(tmp_path, "factory.py", "more")
    (other,) = {*(tmp_path / ".jaxscope" / "recordings").iterdir()} - {run}
    for part in other.iterdir():
        part.rename(run / part.name)
    other.rmdir()
    assert len(set(run.iterdir()) - before) == 1
    (found,) = check(tmp_path, "factory.py", "--no-trace")["findings"]
    assert found["array"]["count"] == 2


def test_recorded_places_move_with_the_code_and_end_with_it(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", "0")
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text("# one\n# two\n" + text.replace("def main():", "# three\ndef main():"))
    found = check(tmp_path, "train.py", "--no-trace")
    lines = {item["name"]: item["range"]["start"]["line"] for item in found["findings"] if item["evidence"] == "both"}
    assert lines == {"W": 12, "scale": 21}
    (tmp_path / "train.py").write_text(text.replace("x @ W * n", "x @ W * n + 1"))
    changed = {item["name"]: item["evidence"] for item in check(tmp_path, "train.py", "--no-trace")["findings"]}
    assert changed == {"W": "static", "scale": "both"}


ARRAYS = """
    import jax, jax.numpy as jnp
    import tables

    W = jnp.ones((600, 600))


    class Layer:
        def __init__(self):
            self.w = jnp.ones((600, 601))

        def apply(self, x):
            return x @ self.w


    @jax.jit
    def step(x):
        return x @ W @ tables.T


    def main():
        local = jnp.ones((600, 602))

        def inner(x):
            return x @ local

        project = jax.jit(inner)
        x = jnp.ones((2, 600))
        return step(x), project(x), jax.jit(Layer().apply)(x)


    def other():
        return 1


    if __name__ == "__main__":
        main()
"""
SEEN = {"W", "tables.T", "self.w", "local"}


@pytest.mark.parametrize(
    ("file", "old", "new", "left"),
    [
        ("program.py", "W = jnp.ones((600, 600))", "W = 3.0", set()),
        ("program.py", "W = jnp", "V = W = jnp", set()),
        ("tables.py", "700", "7", set()),
        ("program.py", "600, 602", "600, 2", set()),
        ("program.py", "jax.jit(inner)", "inner", set()),
        ("program.py", "600, 601", "600, 1", {"W", "tables.T", "local"}),
        ("program.py", "@jax.jit\n", "", {"self.w", "local"}),
        ("program.py", "return 1", "return 2", SEEN),
        ("program.py", "W = jnp", "# what it is\nW = jnp", SEEN),
        ("tables.py", "T = ", "\n\nT = ", SEEN),
    ],
)
def test_what_an_array_was_made_of_counts_too(file: str, old: str, new: str, left: set[str], tmp_path: Path) -> None:
    write(tmp_path, program_py=ARRAYS, tables_py="import jax.numpy as jnp\nT = jnp.ones((600, 700))\n")
    record(tmp_path, "program.py")

    def seen() -> set[str]:
        found = check(tmp_path, "program.py", "--no-trace")["findings"]
        return {item["name"] for item in found if item["evidence"] != "static"}

    assert seen() == SEEN
    text = (tmp_path / file).read_text()
    assert text.count(old) == 1
    (tmp_path / file).write_text(text.replace(old, new))
    assert seen() == left


def test_what_is_compiled_no_more_is_not_traced_for_it(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", "0")
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text(text.replace("@jax.jit\n", ""))
    assert "W" not in {item["name"] for item in check(tmp_path, "train.py", "--trace")["findings"]}


def test_a_helper_in_another_file_counts_as_its_code(tmp_path: Path) -> None:
    helper = "import numpy as np\nT = np.ones((700, 700), np.float32)\ndef look(x):\n    return x @ T\n"
    train = "import jax, jax.numpy as jnp, helper\nstep = jax.jit(lambda x: helper.look(x))\nstep(jnp.ones((2, 700)))\n"
    write(tmp_path, helper_py=helper, train_py=train)
    record(tmp_path, "train.py")
    (tmp_path / "helper.py").write_text("# moved\n" + helper)
    (finding,) = check(tmp_path, ".", "--no-trace")["findings"]
    assert (finding["path"], finding["range"]["start"]["line"], finding["evidence"]) == ("helper.py", 5, "both")
    (tmp_path / "helper.py").write_text(helper.replace("x @ T", "2 * x @ T"))
    assert all(item["evidence"] == "static" for item in check(tmp_path, ".", "--no-trace")["findings"])


def test_recorded_shapes_are_traced_again(tmp_path: Path) -> None:
    program = """
        from functools import partial
        import jax, jax.numpy as jnp

        @partial(jax.jit, static_argnames=("mode", "n"))
        def step(params, x, n, mode="train"):
            return params["w"] @ x * n

        def main():
            step({"w": jnp.ones((4, 8)), "b": [jnp.ones(3), None]}, jnp.ones(8), 3, mode="eval")

        if __name__ == "__main__":
            main()
    """
    write(tmp_path, train_py=program)
    record(tmp_path, "train.py")
    text = (tmp_path / "train.py").read_text()
    # Other code, the same parameters: only a trace can tell.
    (tmp_path / "train.py").write_text(
        text.replace("* n", "* n + jnp.zeros((9, 1)) @ jnp.ones((1, 4)) @ jnp.ones(4).sum()")
    )
    assert check(tmp_path, "train.py", "--no-trace")["functions"][0]["signatures"] == []
    (tmp_path / "train.py").write_text(text.replace("* n", "* n * 2"))
    (row,) = check(tmp_path, "train.py", "--trace")["functions"]
    assert row["signatures"] == [
        {"in": ["{w: f32[4,8], b: [f32[3], None]}", "f32[8]", "3", "'eval'"], "out": ["f32[4]"], "source": "recorded"}
    ]


def test_what_text_cannot_say_keeps_its_evidence(tmp_path: Path) -> None:
    program = """
        import jax, jax.numpy as jnp

        @jax.tree_util.register_pytree_node_class
        class State:
            def __init__(self, w):
                self.w = w
            def tree_flatten(self):
                return (self.w,), None
            @classmethod
            def tree_unflatten(cls, _, children):
                return cls(*children)

        TABLE = jnp.ones((600, 600)) * jnp.arange(600.0)

        @jax.jit
        def step(state):
            return state.w @ TABLE

        if __name__ == "__main__":
            step(State(jnp.ones((2, 600))))
    """
    write(tmp_path, train_py=program)
    record(tmp_path, "train.py")
    found = check(tmp_path, "train.py", "--trace")
    (row,) = found["functions"]
    assert (row["status"], row["signatures"][0]["source"]) == ("traced", "recorded")
    assert [(item["name"], item["evidence"]) for item in found["findings"]] == [("TABLE", "both")]


# ---------------------------------------------------------------- several processes


def test_processes_of_one_job_are_merged(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = f"""
        import subprocess, sys
        import jax, jax.numpy as jnp

        def work(index):
            jax.distributed.initialize("127.0.0.1:{port}", 2, index)
            jax.jit(shared)(jnp.ones(3))
            if index == 1:
                jax.jit(alone)(jnp.ones(4))

        def shared(x):
            return x + 1

        def alone(x):
            return x * 2

        if __name__ == "__main__":
            if len(sys.argv) > 1:
                work(int(sys.argv[1]))
            else:
                parts = [subprocess.Popen([sys.executable, __file__, str(index)]) for index in range(2)]
                sys.exit(max(part.wait(100) for part in parts))
    """
    write(tmp_path, job_py=program)
    done = record(tmp_path, "--format", "json", "job.py")
    assert done.status == 0, done.err
    report = json.loads(done.out.splitlines()[-1])
    assert report["processes"] == 3  # the launcher imported jax too
    assert {row["function"]: row["signatures"][0]["processes"] for row in report["functions"]} == {
        "shared": 2,
        "alone": 1,
    }
    lines = [json.loads(line) for part in (tmp_path / ".jaxscope").rglob("*.jsonl") for line in part.open()]
    devices = [line["devices"] for line in lines if "devices" in line]
    assert sorted((one["process_index"], one["process_count"]) for one in devices) == [(0, 2), (1, 2)]


def test_half_written_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, train_py=TRAIN)
    record(tmp_path, "train.py", "0")
    (part,) = (tmp_path / ".jaxscope").rglob("*.jsonl")
    lines = part.read_bytes().splitlines(keepends=True)
    recorded = [line for line in lines if line.startswith(b'{"recorded"')]
    damaged = [b'{"later": {"x": 1}}\n', b"\xff\xfe\n", b"[]\n", b'{"counted": {"id": "one"}}\n', b"\n"]
    part.write_bytes(b"".join([lines[0], *damaged, *recorded[:1], recorded[1][:-20]]))
    (part.parent / "other.jsonl").write_bytes(re.sub(rb'"version":\d+', b'"version":99', lines[0]) + recorded[1])
    rows = {row["function"]: row["signatures"] for row in check(tmp_path, "train.py", "--no-trace")["functions"]}
    assert [one["in"] for one in rows["step"]] == [["f32[2,600]"]]


def test_a_recording_moves_with_its_project(tmp_path: Path) -> None:
    write(tmp_path / "before", train_py=TRAIN)
    record(tmp_path / "before", "train.py", "0")
    (tmp_path / "before").rename(tmp_path / "после")
    found = check(tmp_path / "после", "train.py", "--no-trace")
    assert [item["evidence"] for item in found["findings"]] == ["both", "both"]


# ---------------------------------------------------------------- pytest


TESTS = """
    import jax, jax.numpy as jnp, numpy as np, pytest

    T = np.ones((600, 600), np.float32)

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_it(n):
        jax.jit(lambda x: x @ T)(jnp.ones((n, 600)))
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_plugin_records_a_test_run(workers: str, tmp_path: Path) -> None:
    write(tmp_path, test_it_py=TESTS)
    server = Path(__file__).parents[2] / "server"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "jaxscope", "-q", "-n", workers],
        cwd=tmp_path,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(server)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    processes = max(int(workers), 1)
    assert f"functions traced: 1, signatures: 4, processes: {processes}" in done.stdout
    assert "test_it.<locals>.<lambda> captures T: float32[600,600], 1.4 MiB" in done.stdout
    assert [item["evidence"] for item in check(tmp_path, ".", "--no-trace")["findings"]] == ["both"]


def test_a_test_run_is_a_module_too(tmp_path: Path) -> None:
    write(tmp_path, test_it_py=TESTS)
    done = record(tmp_path, "-m", "pytest", "-q", "-n", "0")
    assert done.status == 0, done.out + done.err
    assert "jaxscope: 1 function traced under 4 signatures" in done.err


def test_what_is_only_counted_counts(tmp_path: Path) -> None:
    many = """
        import jax, jax.numpy as jnp

        f = jax.jit(lambda x: x)
        for n in range(1, 71):
            f(jnp.ones(n))
    """
    done = record(write(tmp_path, many_py=many), "many.py")
    assert "1 function traced under more than 64 signatures" in done.err
    assert re.search(r"<lambda>: traced 70 times", done.err)
    assert "traces of them only counted" in done.err
