"""Real worker processes in the interpreter that runs the tests, which has JAX."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jaxscope.config import Config, with_values
from jaxscope.worker.jaxscope_worker.wire.messages import TraceRequest
from jaxscope.workers.pool import Pool


@pytest.fixture
def make_pool(tmp_path: Path) -> Iterator[Callable[..., Pool]]:
    """Makes pools that are closed at the end; keyword arguments are trace settings, `spare` and `give_up`."""
    pools = []

    def make(spare: bool = False, give_up: bool = True, python: str = sys.executable, **trace: object) -> Pool:
        config = with_values(Config(), {"trace": trace})
        pools.append(Pool(python, config, root=str(tmp_path), spare=spare, give_up=give_up))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def request_for(tmp_path: Path) -> Callable[..., TraceRequest]:
    """Writes a file and asks for its trace."""

    def make(text: str, name: str = "case", **more: object) -> TraceRequest:
        path = os.path.realpath(tmp_path / f"{name}.py")
        Path(path).write_text(text, encoding="utf-8")
        return TraceRequest(path=path, root=os.path.dirname(path), module=name, **more)  # type: ignore[arg-type]

    return make
