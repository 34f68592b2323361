"""May the user's code be run? Restricted folders never; trusted ones once the user has said when.

The answer is kept in a file of the user's own, outside of the folder it is about: what lies in a folder must not be
able to allow itself to be run.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from dataclasses import dataclass

from jaxscope.config import WHEN
from jaxscope.ide.situation import Permission
from jaxscope.lsp.user_folders import state_folder

logger = logging.getLogger(__name__)

QUESTION = (
    "May jaxscope run code in this folder? Tracing imports your files in a separate process, which may not write "
    "files, start processes or open connections. This stops accidents, not malice."
)
ANSWERS = {"When I save": "onSave", "Only when I ask": "manual", "Never here": "off"}
"""Titles of the buttons, and the policy that each means."""


def state_file() -> str:
    """Where answers are kept."""
    return os.path.join(state_folder(), "consent.json")


def remembered(root: str) -> str | None:
    """The answer given for this folder before."""
    answer = _read().get(_key(root))
    return answer if answer in WHEN else None


def remember(root: str, answer: str) -> None:
    """Keeps an answer. Failing to is logged and no more: it will be asked again."""
    file = state_file()
    answers = _read() | {_key(root): answer}
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(file), prefix="consent-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(answers, stream, indent=1, sort_keys=True)
        os.replace(temporary, file)
    except OSError as error:
        logger.warning("the answer could not be kept: %s", error)


def _key(root: str) -> str:
    return os.path.realpath(root)


def _read() -> dict[str, str]:
    try:
        with open(state_file(), encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


@dataclass(slots=True)
class Trust:
    """What one folder allows."""

    root: str
    trusted: bool = False
    setting: str | None = None
    """`trace.when` where the user set it; a project's own file has no say in this."""
    answer: str | None = None
    """What the user answered in this session or, failing that, before."""
    asked: bool = False
    """Was the question shown in this session?"""
    answered: bool = False
    """Is the answer newer than the setting?"""

    def __post_init__(self) -> None:
        self.answer = remembered(self.root)

    @property
    def when(self) -> str | None:
        """The policy that holds; None when nobody has chosen one."""
        return self.answer if self.answered else self.setting or self.answer

    @property
    def permission(self) -> Permission:
        """May code be run now?"""
        if not self.trusted:
            return "restricted"
        if self.when is None:
            return "consent"
        return "off" if self.when == "off" else "allowed"

    def take(self, answer: str) -> None:
        """The user answered; kept for next time."""
        self.asked = self.answered = True
        self.answer = answer
        remember(self.root, answer)

    def set(self, setting: str | None) -> None:
        """The user's settings changed: what was chosen last holds."""
        if setting != self.setting:
            self.setting, self.answered = setting, self.answered and setting is None
