"""A mistake of ours is said, never taken for a clean bill."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxscope.cli.main import main
from jaxscope.rules import base
from jaxscope.rules.finding import Finding
from jaxscope.semantics.model import FileModel


class _Broken(base.Rule):
    name = "captured-array"
    summary = "A rule with a mistake in it"

    def static(self, model: FileModel, ctx: base.Context) -> list[Finding]:
        raise RuntimeError("the rule's own mistake")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setattr(base, "all_rules", lambda: {"captured-array": _Broken()})
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "case.py"
    path.write_text("import jax\n\n\n@jax.jit\ndef f(x):\n    return x\n")
    yield path
    gc.enable()  # a run of `check` does without


def test_a_rule_that_fails_is_an_error_of_the_file(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(broken), "--no-trace"]) == 2
    assert "case.py:1: failed internal: RuntimeError: the rule's own mistake" in capsys.readouterr().out


def test_a_fault_outside_of_a_file_is_no_finding(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(broken), "--rule", "captured-array", "--no-trace"]) == 2
    assert "the rule's own mistake" in capsys.readouterr().err
