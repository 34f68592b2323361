"""Which readings the code of a function shows, whatever instructions a release of Python has for them."""

from __future__ import annotations

import dis

import pytest
from jaxscope_worker import staling

SCALE, STATS, TABLE = 1.0, {"mean": [0.0]}, ((1, 2), 3)


def reads(self, x):  # type: ignore[no-untyped-def]
    """A function with every kind of reading."""
    return x * SCALE + self.rate.inner - STATS["mean"][0] + TABLE[1]


EXPECTED = ["SCALE", "self.rate.inner", 'STATS["mean"][0]', "TABLE[1]"]
LATER = {"LOAD_FAST": "LOAD_FAST_BORROW", "BINARY_SUBSCR": "BINARY_OP"}


def _chains() -> list[str]:
    return [str(chain) for chain in staling._written(reads.__code__) if chain.root != "x"]


def test_names_attributes_and_keys_are_read() -> None:
    assert _chains() == EXPECTED


def test_python_3_14_writes_them_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(step: dis.Instruction) -> dis.Instruction:
        name = LATER.get(step.opname, step.opname)
        if step.opname == "LOAD_CONST" and type(step.argval) is int:
            name = "LOAD_SMALL_INT"
        return step._replace(opname=name, argrepr="[]" if step.opname == "BINARY_SUBSCR" else step.argrepr)

    written = [later(step) for step in dis.get_instructions(reads.__code__)]
    monkeypatch.setattr(dis, "get_instructions", lambda code: iter(written))
    assert _chains() == EXPECTED


def test_what_is_not_known_is_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ("LOAD_GLOBAL", "LOAD_FAST", "LOAD_CONST")
    written = [
        step if step.opname in kept else step._replace(opname="NEW_" + step.opname)
        for step in dis.get_instructions(reads.__code__)
    ]
    monkeypatch.setattr(dis, "get_instructions", lambda code: iter(written))
    assert set(_chains()) <= {"SCALE", "STATS", "TABLE", "self"}
