"""The command line is run as its users do, by the helper of its own tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
