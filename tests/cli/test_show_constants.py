"""`show --stage constants`: what the JAX at hand does with captured arrays, and what simulated devices show of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_cli import jaxscope

pytestmark = pytest.mark.jax

PROGRAM = """import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

MESH = Mesh(np.array(jax.devices()), ("model",))
W_UP = jax.device_put(np.random.default_rng(0).random((64, 32), np.float32), NamedSharding(MESH, P("model", None)))
WIDE = np.linspace(0, 1, 32)


@jax.jit
def up(x):
    return jnp.tanh(x @ W_UP) * WIDE


@jax.jit
def bare(x, unused):
    return x.max()


def main():
    up(jnp.ones((2, 64)))
    bare(jnp.ones(5), 1)
"""


def show(folder: Path, function: str, *options: str) -> dict[str, Any]:
    (folder / "program.py").write_text(PROGRAM)
    done = jaxscope(
        "show",
        f"program.py::{function}",
        "--stage",
        "constants",
        "--run",
        "main",
        "--format",
        "json",
        *options,
        cwd=folder,
    )
    assert done.status == 0, done.err
    (signature,) = json.loads(done.out)["signatures"]
    return signature


@pytest.mark.parametrize("hoists", [False, True], ids=["inlined", "hoisted"])
def test_the_same_array_by_both_flags(tmp_path: Path, hoists: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS", str(hoists))
    shown = show(tmp_path, "up", "--devices", "4")
    lowered, constants = shown["lowered"], {one["name"]: one for one in shown["constants"]}
    held = constants["W_UP"]
    assert (held["form"], held["lowered"]) == (
        ("core.Literal", "const_arg") if hoists else ("constvar", "stablehlo.constant")
    )
    assert held["operation"] == ("%arg0" if hoists else "%cst")
    assert [one["kind"] for one in lowered["captured"]] == ["const"] * (2 * hoists) + ["array"]
    assert [one["name"] for one in lowered["hoisted"]] == ["W_UP", "WIDE", "x"]
    assert (
        "P('model'" in lowered["hoisted"][0]["sharding"] or "PartitionSpec('model'" in lowered["hoisted"][0]["sharding"]
    )
    assert constants["WIDE"]["source_dtype"] == "float64"
    assert any("`WIDE` is 64-bit NumPy data" in note for note in lowered["notes"])
    lost = [
        sentence for sentence in lowered["lost"] if sentence.startswith("`W_UP` loses its 4-way sharding when inlined")
    ]
    assert bool(lost) is not hoists
    assert ("made for 1 device; hoisted, for 4" in "".join(lowered["lost"])) is not hoists
    assert ("because `jax_use_simplified_jaxpr_constants` is on" in lowered["lead"]) is hoists


def test_on_one_device_no_sharding_is_lost(tmp_path: Path) -> None:
    assert show(tmp_path, "up")["lowered"]["lost"] == []


def test_a_function_without_captures_still_has_its_classes(tmp_path: Path) -> None:
    shown = show(tmp_path, "bare")
    assert shown["text"].startswith("bare captures no arrays.")
    assert {one["literal"]: one["count"] for one in shown["lowered"]["classes"]} == {
        "captured": 0, "scalar": 0, "lowering": 1, "small": 0,
    }  # fmt: skip
    assert "from `reduce_max` 1" in [one["words"] for one in shown["lowered"]["classes"]]
    assert shown["lowered"]["unused"] == ["unused"]
    assert "hoisted" not in shown["text"]


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_a_number_of_devices_that_cannot_be(tmp_path: Path, count: str) -> None:
    done = jaxscope("show", "program.py::up", "--devices", count, cwd=tmp_path)
    assert done.status == 2 and "not a number of devices" in done.err


BOTH = """import jax
import numpy as np

if hasattr(jax, "enable_x64"):
    x64 = jax.enable_x64
else:
    from jax.experimental import enable_x64 as x64

WIDE, NARROW = np.linspace(0, 1, 300_000), np.ones(300_000, np.float32)


@jax.jit
def wide(x):
    return x * WIDE


@jax.jit
def narrow(x):
    return x * NARROW


def both():
    for setting in (True, False):
        with x64(setting):
            wide.trace(NARROW), narrow.trace(NARROW)


def off():
    wide.trace(NARROW)
"""


@pytest.mark.parametrize("entry", ["both", "off"])
def test_64_bit_data_that_is_traced_under_both_settings_is_said(tmp_path: Path, entry: str) -> None:
    (tmp_path / "program.py").write_text(BOTH)
    done = jaxscope("check", "program.py", "--run", entry, "--format", "json", cwd=tmp_path)
    found = {one["name"]: one for one in json.loads(done.out)["findings"] if one["rule"] == "captured-array"}
    said = "it is float64, and traced under both settings of jax_enable_x64"
    assert (said in found["WIDE"]["message"]) is (entry == "both")
    places = [one["message"] for one in found["WIDE"]["related"] if "jax_enable_x64" in one["message"]]
    assert len(places) == (2 if entry == "both" else 0)
    assert all("jax_enable_x64" not in one["message"] for name, one in found.items() if name != "WIDE")


SHAPES = """import jax
import jax.numpy as jnp
import numpy as np
from jax import export

ONES = jnp.ones((64, 64))
RAMP = jnp.asarray(np.random.default_rng(0).random((64, 64), np.float32))


@jax.jit
def alike(x):
    return x @ ONES


@jax.jit
def each(x):
    return x @ RAMP + jnp.tanh(x * np.linspace(0, 1, 64))


def main():
    alike(jnp.ones(64))
    export.export(each)(jax.ShapeDtypeStruct(export.symbolic_shape("b, 64"), jnp.float32))
"""


def text(folder: Path, function: str) -> str:
    """What a user reads."""
    (folder / "program.py").write_text(SHAPES)
    done = jaxscope("show", f"program.py::{function}", "--stage", "constants", "--run", "main", cwd=folder)
    assert done.status == 0, done.err
    return done.out


def test_no_number_stands_where_none_is_known(tmp_path: Path) -> None:
    pytest.importorskip("jax.export")
    said = text(tmp_path, "each")
    assert [line.split()[-2:] for line in said.splitlines() if "f32[b,64]" in line] == [["x", "f32[b,64]"]] * 2
    made = next(line for line in said.splitlines() if line.startswith("made at"))
    assert "numpy array" in made
    assert "same" not in made


def test_a_module_is_not_said_to_hold_what_it_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "(MLIR writes an array of equal elements as one of them)" in text(tmp_path, "alike")
    monkeypatch.setenv("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS", "True")
    said = text(tmp_path, "alike")
    assert said.startswith("1 captured array, 16.00 KiB beside a ")
    assert "the same, hoisted" not in said  # it is already
