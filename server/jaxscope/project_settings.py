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


PROJECT_FILE = "pyproject.toml"
SIGNATURES = "signatures"
"""Key of the table that declares signatures; it is no setting."""


def project_signatures(path: str) -> tuple[dict[str, list[str]], str, str]:
    """What `[tool.jaxscope.signatures]` declares by function, the file that it stands in, and that file's text.

    Raises ConfigError for what is neither a signature nor a list of them.
    """
    table, file = project_table(path, with_signatures=True)
    found: dict[str, list[str]] = {}
    given = table.get(SIGNATURES, {})
    for name, value in given.items() if isinstance(given, dict) else ():
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ConfigError(f'{file}: signatures.{name!r} must be a signature, "f32[3,700]", or a list of them')
        found[name] = texts
    if not found:
        return {}, "", ""
    with open(file, encoding="utf-8") as stream:
        return found, file, stream.read()


def project_table(path: str, *, with_signatures: bool = False) -> tuple[dict[str, Any], str]:
    """The nearest table at or above `path`, and the file that it stands in; empty when there is none.

    Raises ConfigError for a file that cannot be read.
    """
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    while True:
        file = os.path.join(folder, PROJECT_FILE)
        if os.path.isfile(file):
            try:
                with open(file, "rb") as stream:
                    table = tomllib.load(stream).get("tool", {}).get("jaxscope")
            except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ConfigError(f"{file}: {error}") from None
            if isinstance(table, dict):
                return {key: value for key, value in table.items() if with_signatures or key != SIGNATURES}, file
        parent = os.path.dirname(folder)
        if parent == folder:
            return {}, ""
        folder = parent
