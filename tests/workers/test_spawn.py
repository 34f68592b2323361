"""Environments of workers, memory in use, and the choice of the interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jaxscope.workers import spawn
from jaxscope.workers.interpreter import find_interpreter


def test_trace_workers_never_get_the_device() -> None:
    base = {"JAX_PLATFORMS": "cuda", "PATH": "/bin"}
    assert spawn.environment("cpu", {"JAX_PLATFORMS": "tpu"}, base)["JAX_PLATFORMS"] == "cpu"
    assert spawn.environment("default", {}, base)["JAX_PLATFORMS"] == "cuda"
    assert spawn.environment("gpu", {}, base)["JAX_PLATFORMS"] == "gpu"


def test_variables_that_would_change_the_interpreter_go() -> None:
    ours = os.path.dirname(spawn.PACKAGE)
    base = {"PYTHONHOME": "/x", "PYTHONSTARTUP": "/y", "PYTHONPATH": os.pathsep.join([ours, "/mine"]), "KEPT": "1"}
    env = spawn.environment("cpu", {"MORE": "2"}, base)
    assert "PYTHONHOME" not in env and "PYTHONSTARTUP" not in env
    assert env["PYTHONPATH"] == "/mine"
    assert (env["KEPT"], env["MORE"]) == ("1", "2")
    assert "PYTHONPATH" not in spawn.environment("cpu", {}, {"PYTHONPATH": ours})


def test_simulated_devices_keep_the_other_flags() -> None:
    base = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2 --xla_dump_to=/x"}
    assert spawn.environment("cpu", {}, base)["XLA_FLAGS"] == base["XLA_FLAGS"]
    for flags in (base, {}, {"XLA_FLAGS": "--xla_dump_to=/x --xla_force_host_platform_device_count=2"}):
        found = spawn.environment("cpu", {}, flags, devices=8)["XLA_FLAGS"].split()
        assert found.count("--xla_force_host_platform_device_count=8") == 1
        assert len([flag for flag in found if "device_count" in flag]) == 1
        assert ("--xla_dump_to=/x" in found) is bool(flags)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_in_use_follows_what_is_touched() -> None:
    before = spawn.memory_in_use(os.getpid())
    block = bytearray(b"x") * (64 << 20)
    after = spawn.memory_in_use(os.getpid())
    assert before is not None and after is not None
    assert 50 << 20 < after - before < 90 << 20
    assert len(block) == 64 << 20
    assert spawn.memory_in_use(2**22 + 1) is None


def make_environment(folder: Path) -> str:
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return str(python)


def test_interpreter_the_setting_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = make_environment(tmp_path / "mine")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    make_environment(tmp_path / "active")
    assert find_interpreter(mine, str(tmp_path)) == mine
    assert find_interpreter("mine", str(tmp_path)) == mine
    assert find_interpreter("/no/such/python", str(tmp_path)) == "/no/such/python"


def test_interpreter_then_the_active_environment_then_the_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = make_environment(tmp_path / "active")
    project = make_environment(tmp_path / "project" / ".venv")
    below = tmp_path / "project" / "src"
    below.mkdir()
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert find_interpreter("", str(below)) == active
    monkeypatch.delenv("VIRTUAL_ENV")
    assert find_interpreter("", str(below.parent)) == project
    assert find_interpreter("", str(below), str(below.parent)) == project


def test_interpreter_what_lies_above_the_folder_one_works_in_is_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    make_environment(tmp_path / ".venv")
    root = tmp_path / "work" / "project"
    root.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for top in ("", str(root), str(root.parent), str(tmp_path / "elsewhere"), str(root / "src")):
        assert find_interpreter("", str(root), top) == sys.executable


def test_interpreter_else_the_one_that_runs_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (tmp_path / ".git").mkdir()
    assert find_interpreter("", str(tmp_path)) == sys.executable
