"""One folder of the client's workspace: its files, its settings, what is allowed in it and what was measured."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from jaxscope.config import Config, ConfigError, with_values
from jaxscope.ide.panel_model import Timings
from jaxscope.ide.situation import Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.lsp.trust import Trust
from jaxscope.project_settings import project_table
from jaxscope.semantics.project import Project
from jaxscope.tracing.signatures import unknown_signatures
from jaxscope.worker.jaxscope_worker.wire.messages import Failure, Hello

logger = logging.getLogger(__name__)
PROGRAMS_KEPT = 8
"""Programs of one function whose measurements are kept, so that undoing an edit brings them back."""

Signed = tuple[str, str]
"""A function's qualified name and the name of one of its signatures."""


def read_config(root: str, settings: Mapping[str, Any]) -> tuple[Config, list[str]]:
    """The settings for a folder, those of the client over those of the project, and what is wrong with either."""
    problems: list[str] = []
    config = Config()
    try:
        table, file = project_table(root)
        problems += (f"{path}:{line}: {why}" for path, line, why in unknown_signatures(root, Project(root)))
        if not isinstance(table.get("trace"), Mapping):
            table.pop("trace", None)  # on the command line `trace = true` means: run the code
        try:
            config = with_values(config, table)
        except ConfigError as error:
            problems.append(f"{file}: {error}")
    except ConfigError as error:
        problems.append(str(error))
    try:
        config = with_values(config, settings)
    except ConfigError as error:
        problems.append(f"jaxscope settings: {error}")
    return config, problems


def _rule_failed(path: str, error: Exception) -> None:
    logger.error("the rules failed on %s", path, exc_info=error)


class Folder:
    """The state of one folder."""

    def __init__(self, root: str, config: Config, trusted: bool, setting: str | None) -> None:
        self.root = root
        self.workspace = Workspace(root, config, _rule_failed)
        self.trust = Trust(root, trusted, setting)
        self.interpreter = ""
        self.hello: Hello | None = None
        self.no_jax: Failure | None = None
        self.stopped: dict[str, Failure] = {}
        """Why the last trace of a file ended without a reply."""
        self.timings: dict[str, dict[Signed, Timings]] = {}
        """What was measured of the programs as they are now, by path, qualified name and signature's name."""
        self._measured: dict[tuple[str, str], dict[str, Timings]] = {}

    def measured(self, path: str, of: Signed, program: str | None, found: Timings) -> None:
        """Takes what was measured of a function, whose printed jaxpr is `program` where that is known."""
        self.timings.setdefault(path, {})[of] = found
        if program is not None:
            kept = self._measured.setdefault((path, of[0]), {})
            kept.pop(program, None)
            kept[program] = found
            while len(kept) > PROGRAMS_KEPT:
                del kept[next(iter(kept))]

    def traced(self, path: str, programs: Mapping[Signed, str | None]) -> None:
        """A file was traced: what was measured of its functions holds where their jaxprs are those of then."""
        found = ((of, self._measured.get((path, of[0]), {}).get(text)) for of, text in programs.items() if text)
        self.timings[path] = {of: item for of, item in found if item}

    @property
    def config(self) -> Config:
        """The settings that hold here."""
        return self.workspace.config

    @property
    def when(self) -> str:
        """The trace policy."""
        return self.trust.when or self.config.trace.when

    def situation(self, path: str = "") -> Situation:
        """The state of affairs for a file, without what is under way."""
        return Situation(
            permission=self.trust.permission,
            when=self.when,
            interpreter=self.interpreter,
            hello=self.hello,
            no_jax=self.no_jax,
            stopped=self.stopped.get(path) if path else next(iter(self.stopped.values()), None),
            timings=self.timings.get(path, {}),
        )
