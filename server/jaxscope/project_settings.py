"""The settings that a project keeps for itself: `[tool.jaxscope]` of the nearest `pyproject.toml` that has it."""

from __future__ import annotations

import os
import sys
from typing import Any

from jaxscope.config import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def project_table(path: str) -> tuple[dict[str, Any], str]:
    """The nearest table at or above `path`, and the file that it stands in; empty when there is none.

    Raises ConfigError for a file that cannot be read.
    """
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    while True:
        file = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(file):
            try:
                with open(file, "rb") as stream:
                    table = tomllib.load(stream).get("tool", {}).get("jaxscope")
            except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ConfigError(f"{file}: {error}") from None
            if isinstance(table, dict):
                return dict(table), file
        parent = os.path.dirname(folder)
        if parent == folder:
            return {}, ""
        folder = parent
