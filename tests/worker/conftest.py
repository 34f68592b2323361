"""The tests of this folder start workers in the running interpreter, which must have jax."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

collect_ignore_glob = [] if importlib.util.find_spec("jax") else ["test_*.py"]
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).resolve().parents[2] / "server" / "jaxscope" / "worker"))
