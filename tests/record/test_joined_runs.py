"""Recordings of several processes of one job, and of test runs."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from run_record import TRAIN, check, record, write

pytestmark = pytest.mark.jax


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
