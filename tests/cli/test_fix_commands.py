"""`jaxscope fix`: what it writes, prints and promises."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from run_cli import CAPTURE, CLEAN, findings, jaxscope


def test_a_fix_is_written_and_verified(work: Path) -> None:
    done = jaxscope("fix", "case.py", "--rule", "captured-array", "--run", "main", "--format", "json", cwd=work)
    assert done.status == 0, done.err
    (applied,) = json.loads(done.out)["applied"]
    assert applied["verified"] == {"imports": True, "constant_gone": True, "avals_equal": True, "values_equal": True}
    assert applied["files"] == ["case.py"]
    assert jaxscope("check", "case.py", "--run", "main", cwd=work).status == 0


@pytest.mark.parametrize("paths", [["."], ["use.py"], ["table.py", "use.py"]])
def test_a_fix_is_verified_by_the_file_that_really_calls(work: Path, paths: list[str]) -> None:
    (work / "case.py").unlink()
    head, call = CAPTURE.split("\n\n\ndef main():")
    (work / "table.py").write_text(f"{head}\n")
    (work / "use.py").write_text(f"import jax.numpy as jnp\nfrom table import f\n\n\ndef main():{call}")
    done = jaxscope("fix", *paths, "--rule", "captured-array", "--run", "main", "--format", "json", cwd=work)
    assert done.status == 0, done.err
    (applied,) = json.loads(done.out)["applied"]
    assert applied["verified"] == {"imports": True, "constant_gone": True, "avals_equal": True, "values_equal": True}
    assert sorted(applied["files"]) == ["table.py", "use.py"]


def test_a_fix_leaves_line_ends_alone(work: Path) -> None:
    (work / "case.py").write_bytes(CAPTURE.replace("\n", "\r\n").encode())
    assert jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", cwd=work).status == 0
    data = (work / "case.py").read_bytes()
    assert b"W" in data and data.count(b"\n") == data.count(b"\r\n")


def test_what_cannot_be_read_is_told_beside_what_is_fixed(work: Path) -> None:
    (work / "broken.py").write_text("import jax\n\nprint((\n")
    alone = jaxscope("fix", "broken.py", "--rule", "captured-array", "--no-trace", cwd=work)
    assert (alone.status, alone.out) == (2, "")
    assert alone.err == "broken.py:3: syntax: '(' was never closed\n"
    both = jaxscope("fix", ".", "--rule", "captured-array", "--no-trace", cwd=work)
    assert both.status == 0 and "W is now an argument of f" in both.out
    assert "broken.py:3: syntax" in both.err


def test_a_diff_changes_no_file(work: Path) -> None:
    done = jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", "--diff", cwd=work)
    assert done.status == 0
    assert done.out.startswith("--- a/case.py\n+++ b/case.py\n")
    assert (work / "case.py").read_text() == CAPTURE


def test_a_diff_is_one_that_git_applies(work: Path) -> None:
    text = CAPTURE.replace("    return x @ W", "    # one\x0cline\n    return x @ W")
    (work / "case.py").write_text(text)
    done = jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", "--diff", cwd=work)
    subprocess.run(["git", "apply", "-"], cwd=work, input=done.out.encode(), check=True)
    fixed = (work / "case.py").read_text()
    (work / "case.py").write_text(text)
    assert jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", cwd=work).status == 0
    assert fixed == (work / "case.py").read_text() != text


def test_nothing_is_written_over_text_that_has_changed(work: Path) -> None:
    (work / "pyproject.toml").write_text("[tool.jaxscope.trace]\nallow-side-effects = ['write']\n")
    (work / "case.py").write_text(CAPTURE + "\nwith open(__file__, 'a') as own:\n    own.write('# somebody else\\n')\n")
    done = jaxscope("fix", "case.py", "--rule", "captured-array", "--run", "main", cwd=work)
    assert (done.status, done.err.splitlines()[-1]) == (
        2,
        "jaxscope: nothing was written: case.py has changed meanwhile",
    )
    assert "def f(x):" in (work / "case.py").read_text()


def test_every_finding_is_fixed_or_refused(work: Path) -> None:
    lambdas = "import jax\nimport jax.numpy as jnp\n\nW = jnp.ones((512, 1024))\nV = jnp.ones((512, 1024))\n"
    lambdas += "g = jax.jit(lambda x: x @ W)\nh = jax.jit(lambda x: x @ W + x @ V)\n"
    (work / "lambdas.py").write_text(lambdas)
    found = findings(jaxscope("check", "lambdas.py", "--no-trace", "--format", "json", cwd=work).out)
    done = jaxscope("fix", "lambdas.py", "--rule", "captured-array", "--no-trace", "--format", "json", cwd=work)
    said = json.loads(done.out)
    assert len(found) == 3
    assert sorted(item["name"] for item in said["applied"] + said["refused"]) == sorted(name for _, name, _ in found)


@pytest.mark.parametrize("many", [False, True])
def test_a_fix_that_would_be_refused_is_not_promised(work: Path, many: bool) -> None:
    (work / "case.py").write_text(CAPTURE + "\n\nimport elsewhere\n\nelsewhere.given(f)\n")
    if many:  # read by two processes
        (work / "long.py").write_text(CLEAN + "    # long\n" * 45_000)
    done = jaxscope("check", ".", "--no-trace", cwd=work)
    refused = jaxscope("fix", "case.py", "--rule", "captured-array", "--no-trace", cwd=work)
    why = "`f` is given to `elsewhere.given`, whose use of it cannot be seen"
    assert why in refused.out + refused.err
    assert f"= no fix: {why} (line 19)." in done.out
    assert "= fix:" not in done.out
    assert "can try to fix" not in done.out
    told = json.loads(jaxscope("check", ".", "--no-trace", "--format", "json", cwd=work).out)["findings"]
    assert [(item["fixes"], item["refused"]) for item in told] == [([], f"{why} (line 19).")]
