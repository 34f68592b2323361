"""When code may be run in a folder: the newest word of the user holds, and a folder cannot speak for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxscope.lsp.trust import Trust


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_what_was_chosen_last_holds() -> None:
    trust = Trust("/project", trusted=True, setting="manual")
    assert (trust.when, trust.permission) == ("manual", "allowed")
    trust.take("onSave")
    assert trust.when == "onSave"
    trust.set("manual")
    assert trust.when == "onSave", "the setting has not changed"
    trust.set("off")
    assert (trust.when, trust.permission) == ("off", "off")
    trust.take("onSave")
    trust.set(None)
    assert trust.when == "onSave"


def test_an_answer_is_remembered_for_its_folder_only() -> None:
    Trust("/project", trusted=True).take("onSave")
    assert Trust("/project", trusted=True).permission == "allowed"
    assert Trust("/project", trusted=False).permission == "restricted"
    assert Trust("/other", trusted=True).permission == "consent"
