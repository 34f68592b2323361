"""What traced code prints and logs after the fix is what the function prints and logs uncompiled, to the letter.

But for digits: `{}` shows more of them of a float32 than `print` does, so that the numbers here have few."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from jaxscope.config import Config
from jaxscope.ide import fix
from jaxscope.refactor.change import Refusal
from jaxscope.rules.base import Context
from jaxscope.rules.side_effect import RULE
from jaxscope.semantics.project import Project

PROGRAM = """import logging

import jax
import jax.numpy as jnp

log = logging.getLogger(__name__)


@jax.jit
def f(x, v):
    y = x * 2
    {call}
    return y


def main():
    f(jnp.float32(1.25), jnp.arange(3.0))
    f(jnp.float32(-7.0), jnp.ones(3))
    jax.effects_barrier()
"""
PRINTED = (
    'print("x", x, "and", y + 1, v)',
    'print(f"{x:.3f} {x!s} {y:>10.2e} {{}}", v)',
    'print("a", x, 0.1, 3, None, sep="\\t", end="\\n")',
    'print(f"{x}", end=None, sep=None, flush=True)',
    'print("%s%% of %s: {0}" % (x, v))',
    'print("{} {{}} {:8.3f}|".format(x, y))',
    'print("{1} {0:+.1f} {name}".format(x, v, name=y))',
    'print(x, "%", "100%")',
    "print('both \" and \\' quotes', x)",
    'print(f"{0.5:.2f} {x}")',
)
LOGGED = (
    'logging.warning("x %s and %.2f of %s", x, y + 1, v)',
    'log.error("v %s", v)',
    'log.warning(f"x {x:.2f} {v}")',
    'log.warning("{} %s {:.1f}".format(v, x), y)',
    'log.warning("%s and %d", jnp.sum(v), 3)',
    'log.critical("x is %s" % x)',
)


def _fixed(call: str, folder: Path) -> str:
    path = folder / "case.py"
    path.write_text(PROGRAM.format(call=call))
    model = Project(str(folder)).model(str(path))
    assert model is not None
    (finding,) = RULE.static(model, Context(Config(), model.project))
    change = fix.prepare_apart(str(folder), {}, finding)
    assert not isinstance(change, Refusal), change
    assert "jax.debug." in change.files[0].changed
    return change.files[0].changed


def _run(text: str) -> None:
    space: dict[str, object] = {"__name__": "case"}
    exec(compile(text, "case.py", "exec"), space)
    space["main"]()  # type: ignore[operator]


@pytest.mark.jax
@pytest.mark.parametrize("call", PRINTED)
def test_prints_what_is_printed_uncompiled(call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jax

    fixed = _fixed(call, tmp_path)
    with jax.disable_jit():
        _run(PROGRAM.format(call=call))
    wanted = capsys.readouterr().out
    _run(fixed)
    assert capsys.readouterr().out == wanted
    assert wanted.count("\n") == 2


@pytest.mark.jax
@pytest.mark.parametrize("call", LOGGED)
def test_logs_what_is_logged_uncompiled(call: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import jax

    fixed = _fixed(call, tmp_path)
    with caplog.at_level(logging.INFO), jax.disable_jit():
        _run(PROGRAM.format(call=call))
    wanted = [(one.name, one.levelno, one.getMessage()) for one in caplog.records]
    caplog.clear()
    with caplog.at_level(logging.INFO):
        _run(fixed)
    assert [(one.name, one.levelno, one.getMessage()) for one in caplog.records] == wanted
    assert len(wanted) == 2
