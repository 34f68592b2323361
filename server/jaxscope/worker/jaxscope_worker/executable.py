"""What a compiled program says about itself. Versions of JAX differ in form and in what they know; the rest is None."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (\S.*)$")
_OPCODE = re.compile(r"(?:^|[\s)}\]])([a-z][\w\-]*)\(")
_LITERAL = re.compile(r"^([a-z]+\d*)\w*\[([\d,]*)\]")
_SIZES = {"pred": 1, "s4": 1, "u4": 1, "token": 0}


@dataclass(frozen=True)
class Memory:
    """From the executable's own memory analysis, in bytes."""

    code: int | None = None
    arguments: int | None = None
    outputs: int | None = None
    temporaries: int | None = None
    aliased: int | None = None
    """Of outputs that are written into the memory of arguments that were given away."""


def memory(compiled: Any) -> Memory:
    """Zero bytes of code mean that this version does not count them."""
    try:
        stats = compiled.memory_analysis()
    except Exception:
        stats = None
    if stats is None:
        return Memory()
    kinds = ("generated_code", "argument", "output", "temp", "alias")
    sizes = [getattr(stats, f"{kind}_size_in_bytes", None) for kind in kinds]
    return Memory(sizes[0] or None, *sizes[1:])


def cost(compiled: Any) -> tuple[float | None, float | None]:
    """Floating-point operations and bytes accessed in one call."""
    try:
        counts = compiled.cost_analysis()
    except Exception:
        counts = None
    if isinstance(counts, (list, tuple)):  # one for each device, up to 0.4
        counts = counts[0] if counts else None
    if not isinstance(counts, dict):
        return None, None
    flops, moved = counts.get("flops"), counts.get("bytes accessed")
    return (_known(flops), _known(moved))


def _known(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value >= 0 and math.isfinite(value) else None


@dataclass(frozen=True)
class Hlo:
    """Counts over all computations of the optimized HLO."""

    instructions: int
    fusions: int
    constant_bytes: int
    """Of its literals."""
    frames: dict[int, tuple[str, int]]
    """File and line by `stack_frame_id`, in the versions that keep such a table."""


def hlo(compiled: Any) -> Hlo | None:
    """Reads the optimized HLO; its text elides large literals by itself."""
    try:
        text = compiled.as_text()
    except Exception:
        return None
    if not text:
        return None
    instructions = fusions = constants = 0
    for line in text.split("\n"):
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        opcode = _OPCODE.search(match[1])
        instructions += 1
        fusions += opcode is not None and opcode[1] == "fusion"
        if opcode is not None and opcode[1] == "constant":
            constants += _literal_bytes(match[1])
    return Hlo(instructions, fusions, constants, _frames(text))


def _literal_bytes(type_: str) -> int:
    match = _LITERAL.match(type_)
    if match is None:
        return 0
    bits = re.search(r"\d+", match[1])
    size = _SIZES.get(match[1], int(bits[0]) // 8 if bits else 1)
    return size * math.prod(int(n) for n in match[2].split(",") if n)


def _frames(text: str) -> dict[int, tuple[str, int]]:
    tables: dict[str, dict[int, str]] = {}
    table: dict[int, str] | None = None
    for line in text.split("\n"):
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            table = tables.setdefault(line, {})
        elif not line:
            table = None
        elif table is not None and (match := re.match(r"(\d+) (.*)", line)):
            table[int(match[1])] = match[2]
    places = {}
    for number, frame in tables.get("StackFrames", {}).items():
        location = tables.get("FileLocations", {}).get(_field(frame, "file_location_id"), "")
        file = tables.get("FileNames", {}).get(_field(location, "file_name_id"))
        if file is not None:
            places[number] = (file.strip('"'), _field(location, "line"))
    return places


def _field(text: str, name: str) -> int:
    match = re.search(rf"\b{name}=(\d+)", text)
    return int(match[1]) if match else 0


# ---------------------------------------------------------------- alarms

_ALARM = re.compile(
    r"(?:The operation took (?P<took>[\dhms.µn]+)\s+)?"
    r"Constant folding an instruction is taking > (?P<limit>\d+)s:\s+(?P<instruction>%?\S+ = [^\n]*)"
)


Places = Mapping[str, tuple[str, int]]
"""File and line by the name of an operation, of those whose name is at one line only."""


def alarms(printed: str, frames: Mapping[int, tuple[str, int]], named: Places | None = None) -> tuple[str, ...]:
    """What XLA printed about slow constant folding, in a sentence each.

    `frames` are those of the compiled program; `named` helps while there is none yet.
    """
    found: dict[str, str] = {}
    for match in _ALARM.finditer(printed):
        instruction = match["instruction"]
        took = f"took {_seconds(match['took']):.1f} s" if match["took"] else f"took over {match['limit']} s"
        where = _place(instruction, frames, named or {})
        if match["took"] or instruction not in found:
            found[instruction] = f"Folding {_name(instruction)} of a constant while compiling {took}{where}."
    return tuple(found.values())


def _name(instruction: str) -> str:
    """The operation, as JAX calls it where that is known."""
    named = re.search(r'op_name="([^"]*)"', instruction)
    if named is not None:
        return named[1].partition("[")[0].rpartition("/")[2] or named[1]
    opcode = _OPCODE.search(instruction.partition(" = ")[2])
    return opcode[1] if opcode is not None else "an instruction"


def _place(instruction: str, frames: Mapping[int, tuple[str, int]], named: Places) -> str:
    inline = re.search(r'source_file="([^"]*)" source_line=(\d+)', instruction)
    frame = re.search(r"stack_frame_id=(\d+)", instruction)
    place = (inline[1], int(inline[2])) if inline else frames.get(int(frame[1])) if frame else None
    place = place or named.get(_name(instruction))
    return f" ({os.path.basename(place[0])}:{place[1]})" if place else ""


def _seconds(duration: str) -> float:
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}
    return sum(float(n) * units.get(unit, 0.0) for n, unit in re.findall(r"([\d.]+)(ms|h|m|s)", duration))
