"""The rows of a lowered module: each line with the user's places it comes from and the captured array it holds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from . import arrays, module_text
from .lowering import Lowered, printed
from .module_text import Frame, Row
from .session import Program
from .sources import UserFiles
from .walking import nested, parts
from .wire.messages import Operation, Place

MAX_FRAMES = 8
_ENDS_AT_BODY = jax.__version_info__ >= (0, 9)
"""Since then the frames of a nested function's operations end at its body; before, they went on to its first caller."""
SMALL = 32
"""Bytes up to which JAX, too, counts a constant as small."""
HOISTED = re.compile(r"hoisted\[(\d+)\]")
_SHAPE = re.compile(r"tensor<((?:\d+x)*)(complex<)?([a-z]+)(\d*)")
_PARAMETERS = re.compile(r"\[.*\]", re.DOTALL)
"""In name stacks up to 0.4.30: `reduce_max[axes=(0,)]`."""
_BODIES = re.compile(
    r"|p?jit|body|cond|branch_\d+_fun|closed_call|core_call|eval_jaxpr|shard_map|xla_pmap|checkpoint|remat\w*"
    r"|custom_[jv]*p_call\w*|.*\)"
)
"""What holds a jaxpr, whose literals are those of the code; `jit(f)` and the like end in a parenthesis."""
_LIBRARY = re.compile(r"^(.*?)(?:_\d+)?$")


def describe(module: Lowered, program: Program, files: UserFiles) -> tuple[Operation, ...]:
    """The lines of a lowered module."""
    lines, captured = read(module, program)
    places = _Places(lines, program, files)
    return tuple(
        Operation(line.text, line.op, places.of(line), captured.get(i, -1), literal(line, captured.get(i, -1) >= 0))
        for i, line in enumerate(lines)
    )


def read(module: Lowered, program: Program) -> tuple[list[Row], dict[int, int]]:
    """The lines of a lowered module, and which of them hold which of the program's constants.

    Of these the index; -1 for one that the reply did not describe.
    """
    lines = [part for line in module_text.rows(printed(module.lowered)) for part in _by_argument(line)]
    index = {c.key: i if c.described is not None else -1 for i, c in enumerate(program.constants)}
    held = (*_embedded(lines, module.traced.jaxpr), *_arguments(lines, module.form.staged.constants, module.hidden))
    return lines, {at: index[key] for at, key in held if key in index}


def places_by_name(module: Lowered, program: Program, files: UserFiles) -> dict[str, tuple[str, int]]:
    """File and line of each operation, by the last part of its name; of names at several lines there is none."""
    lines, _ = read(module, program)
    places = _Places(lines, program, files)
    found: dict[str, set[tuple[str, int]]] = {}
    for line in lines:
        at = places.of(line)
        if at and (name := _last(line)):
            found.setdefault(name, set()).add((at[0].path, at[0].line))
    return {name: next(iter(lines)) for name, lines in found.items() if len(lines) == 1}


def literal(line: Row, captured: bool) -> str:
    """What a constant operation is; empty for any other line."""
    if line.op != "constant":
        return ""
    if captured:
        return "captured"
    if helper(line):
        return "lowering"
    sizes = _sizes(line.result_type)
    return "scalar" if not sizes else "small" if literal_bytes(line) <= SMALL else "lowering"


def literal_bytes(line: Row) -> int:
    """Bytes of a constant operation's result."""
    match = _SHAPE.search(line.result_type)
    if match is None:
        return 0
    bits = max(int(match[4] or 8), 8) * (2 if match[2] else 1)
    return math.prod(_sizes(line.result_type)) * bits // 8


def helper(line: Row) -> str:
    """What of JAX's made a constant while it lowered, as the name stack has it; empty for one of the jaxpr's own.

    A literal of a jaxpr has the name of what holds the jaxpr, at most: `jit(f)`, or the call of its body.
    """
    return "" if _BODIES.fullmatch(_last(line)) else _last(line)


def _last(line: Row) -> str:
    return _PARAMETERS.sub("", line.location.name).rpartition("/")[2].rstrip(":")


# ---------------------------------------------------------------- which row holds which constant


def _embedded(lines: list[Row], jaxpr: Any) -> Iterator[tuple[int, Any]]:
    """The first constants of a function's body are those of its jaxpr, in order: scalars of the code come after."""
    functions: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        if line.function:
            functions.setdefault(line.function, [])
            if line.op == "constant":
                functions[line.function].append(at)
    left = dict(functions)
    for name, held in _holders("main", jaxpr, set()):
        symbol = next((s for s in left if _plain(s) == _plain(name) and _fits(lines, left[s], held)), None)
        if symbol is None:
            continue
        for at, (_, value) in zip(left.pop(symbol), held, strict=False):
            yield at, arrays.key_of(value)


def _holders(name: str, jaxpr: Any, seen: set[int]) -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """Each jaxpr that has constants, with the name of the function that it becomes."""
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    inner, held = parts(jaxpr)
    if held:
        yield name, held
    for eqn in inner.eqns:
        for _, body in nested(eqn):
            yield from _holders(str(eqn.params.get("name", name)), body, seen)


def _plain(symbol: str) -> str:
    """A function's name without what lowering adds to keep names apart, and without what a symbol cannot hold."""
    match = _LIBRARY.match(symbol)
    return re.sub(r"[^A-Za-z0-9]", "", match[1] if match else symbol)


def _fits(lines: list[Row], rows: list[int], held: list[tuple[Any, Any]]) -> bool:
    return len(rows) >= len(held) and all(
        _sizes(lines[at].result_type)[: len(variable.aval.shape)] == [int(n) for n in variable.aval.shape]
        for at, (variable, _) in zip(rows, held, strict=False)
    )


def _sizes(tensor: str) -> list[int]:
    match = _SHAPE.search(tensor)
    return [int(size) for size in match[1].split("x") if size] if match else []


def _by_argument(line: Row) -> list[Row]:
    """The first line of `main`, with each argument on a line of its own when some hold constants."""
    if line.function != "main" or not any(_is_constant(text, at.name) for text, at in line.arguments):
        return [line]
    indent = line.text[: len(line.text) - len(line.text.lstrip())] + "    "
    head = line.text[: line.text.index(line.arguments[0][0])]
    last = line.arguments[-1][0]
    tail = line.text[line.text.index(last) + len(last) :]
    listed = [Row(f"{indent}{text},", "", "main", at, ((text, at),)) for text, at in line.arguments]
    listed[-1].text = listed[-1].text[:-1]
    return [Row(head, line.op, "main", line.location), *listed, Row(indent[:-4] + tail, "", "main")]


def _is_constant(text: str, name: str) -> bool:
    return HOISTED.fullmatch(name) is not None or "jax.const = true" in text


def _arguments(lines: list[Row], constants: Sequence[Any], hidden: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Arguments of `main` that hold constants: ours by their names, JAX's own hidden ones by their order."""
    left = iter(hidden)
    for at, line in enumerate(lines):
        if line.function != "main" or line.op or len(line.arguments) != 1:
            continue
        text, location = line.arguments[0]
        match = HOISTED.fullmatch(location.name)
        if match is not None:
            yield at, arrays.key_of(constants[int(match[1])])
        elif "jax.const = true" in text and (value := next(left, None)) is not None:
            yield at, arrays.key_of(value)


# ---------------------------------------------------------------- where a row comes from


class _Places:
    """The user's places of each row. What lies in a called function is joined to the line that calls it."""

    def __init__(self, lines: list[Row], program: Program, files: UserFiles) -> None:
        self._files, self._target = files, program.function
        self._known: dict[Frame, Place] = {}
        self._calls: dict[str, list[Row]] = {}
        for line in lines:
            if line.op == "call" and (match := re.search(r"@(\"[^\"]*\"|[\w$.-]+)\(", line.text)):
                self._calls.setdefault(match[1].strip('"'), []).append(line)

    def of(self, line: Row) -> tuple[Place, ...]:
        """Innermost first."""
        if line.op in ("", "module", "func"):
            return ()
        places = [self._place(frame) for frame in self._frames(line, 0)]
        return tuple(self._inside(places, line.op == "constant")[:MAX_FRAMES])

    def _inside(self, places: list[Place], constant: bool) -> list[Place]:
        """Without who called the traced function. A constant that only its caller is known of has no place in it."""
        target = self._target
        last = max((i for i, at in enumerate(places) if target and at.function == target.function), default=-1)
        return places[: last + 1] if last >= 0 or constant else places

    def _frames(self, line: Row, depth: int) -> list[Frame]:
        own = [frame for frame in line.location.frames if self._files.owns(frame.file)]
        own = [frame for i, frame in enumerate(own) if i == 0 or frame != own[i - 1]]
        callers = self._calls.get(line.function, ()) if depth < 20 else ()
        chains = [chain for chain in (self._frames(call, depth + 1) for call in callers) if chain]
        if not chains or any(chain[0] in own for chain in chains):
            return own
        callers_frames = chains[0] if len(chains) == 1 else [chain[0] for chain in chains]
        if not _ENDS_AT_BODY:
            # The body was traced for whoever called it first, perhaps elsewhere: keep what is inside it.
            name = _plain(line.function)
            last = max((i for i, f in enumerate(own) if _plain(f.function.rpartition(".")[2]) == name), default=-1)
            own = own[: last + 1]
        return list(dict.fromkeys([*own, *callers_frames]))

    def _place(self, frame: Frame) -> Place:
        if frame not in self._known:
            self._known[frame] = self._files.place_at(
                frame.file, (frame.line, frame.column, frame.end_line, frame.end_column), frame.function
            )
        return self._known[frame]
