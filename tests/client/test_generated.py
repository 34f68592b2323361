"""What is generated from the Python sources is as generated."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import get_type_hints

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generate() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


def test_nothing_differs(generate: types.ModuleType) -> None:
    assert generate.differences() == [], "run scripts/generate.py"


def test_a_difference_is_found(generate: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("package.json", "client/src/protocol.generated.ts", "docs/settings.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    manifest = json.loads((tmp_path / "package.json").read_text())
    manifest["contributes"]["configuration"]["properties"]["jaxscope.codeLens"]["default"] = False
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "docs/rules").mkdir()
    (tmp_path / "docs/rules/gone.md").write_text("# gone\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert {"package.json", "docs/rules/gone.md"} <= set(generate.differences())
    generate.write()
    assert generate.differences() == []
    assert not (tmp_path / "docs/rules/gone.md").exists()


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ("int | None", "number | null"),
        ("tuple[str, ...]", "readonly string[]"),
        ("tuple[tuple[int, str], ...]", "readonly (readonly [number, string])[]"),
        ("bool", "boolean"),
    ],
)
def test_types(generate: types.ModuleType, hint: str, text: str) -> None:
    holder = type("Holder", (), {"__annotations__": {"field": hint}, "__module__": __name__})
    assert generate.typescript_type(get_type_hints(holder)["field"]) == text


def test_every_restricted_setting_decides_what_runs(generate: types.ModuleType) -> None:
    manifest = json.loads((ROOT / "package.json").read_text())
    restricted = manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    known = set(manifest["contributes"]["configuration"]["properties"])
    assert {"jaxscope.interpreter", "jaxscope.trace.env", "jaxscope.trace.allowSideEffects"} <= set(restricted) <= known
