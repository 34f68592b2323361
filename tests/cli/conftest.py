"""Files that many commands are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_cli import CAPTURE, CLEAN


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "case.py").write_text(CAPTURE)
    return tmp_path
