"""Where in the source to show an array that a trace found: at the first read of its name in traced code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxscope.semantics import model as semantics
from jaxscope.semantics.compiled.givers import bound_at
from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.vocabulary import METADATA
from jaxscope.text.span import Position, Range
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, Place, TracedFunction

_ATTRIBUTES = re.compile(r"(?:\.[^\W\d]\w*\b)+(?!\s*\()")
_LAST_STEP = re.compile(r"(\[[^\[\]]*\]|\.\w+)$")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the source and what stands there."""

    path: str
    range: Range
    name: str
    """The expression as written there."""
    function: str
    """Qualified name of the function that it stands in."""
    bound: semantics.Place | None = None


def spot_of(model: FileModel, traced: TracedFunction, constant: Constant, name: str) -> Spot:
    """Where to show `constant` of a traced function; `name` is what it, or the container it is in, is called."""
    if constant.holder == "made" and constant.bound is not None:
        return _at_binding(model, constant, constant.bound)
    if constant.name is not None:
        for function in _functions(model, traced, constant):
            spot = _first_read(model, function, name, constant)
            if spot is not None:
                return spot
    return _at_frame(model, traced, constant, name if constant.name is not None else "")


MAX_READS = 12


def also_read(model: FileModel, constants: Sequence[Constant], spot: Spot) -> Iterator[tuple[str, Range]]:
    """The other places whose operations consume the constants: at the name there, else at the operation."""
    seen = {(spot.path, spot.range.start.line)}
    frames = (read.frames[0] for constant in constants for read in constant.reads if read.frames)
    for frame in frames:
        if (frame.path, frame.line) in seen or len(seen) > MAX_READS:
            continue
        seen.add((frame.path, frame.line))
        home = _model(model, frame.path)
        function = home.function(frame.function, frame.line) if home is not None and frame.function else None
        written = home.written(function, spot.name) if home is not None and function is not None else ()
        place = next((place for place in written if place.start.line == frame.line), None)
        if place is None and home is not None:
            place = _line_range(home.module.lines.line(frame.line), frame)
        if place is not None:
            yield frame.path, place


def _functions(model: FileModel, traced: TracedFunction, constant: Constant) -> list[Function]:
    """Functions whose code may read it: the compiled one, the one that owns the name, those on the way to the use."""
    found: list[Function] = []
    places = [Place(traced.path, traced.line, function=traced.function)]
    for read in constant.reads[:4]:
        places += reversed(read.frames)
    for place in places:
        for name in (place.function, constant.owner if place.path == traced.path else ""):
            other = _model(model, place.path)
            function = other.function(name, place.line) if other is not None and name else None
            if function is not None and function not in found:
                found.append(function)
    return found


def _model(model: FileModel, path: str) -> FileModel | None:
    return model if path == model.path else model.project.model(path)


def _first_read(model: FileModel, function: Function, name: str, constant: Constant) -> Spot | None:
    """The first read of `name`, or of the longest part of it that is written anywhere."""
    home, whole = _model(model, function.path), name
    while name and home is not None:
        places = home.reads(function, name) or home.written(function, name)
        if places:
            place = places[0] if name == whole else _in_part(home, places, constant)
            inner = home.function_at(place.start)
            root = name.replace("[", ".").partition(".")[0]
            own = any(parameter.name == root for parameter in function.parameters)
            own = own or (constant.holder == "global" and root in function.scope.bindings)  # `names = globals()`
            bound = None if own else bound_at(home, function, name)
            written = " ".join(home.module.source(place).split())
            return Spot(home.path, place, written, inner.qualname if inner else function.qualname, bound)
        shorter = _LAST_STEP.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return None


def _in_part(home: FileModel, places: Sequence[Range], constant: Constant) -> Range:
    """The read of an object that gave the array: where it was used, if there is one, with the attributes asked for."""
    lines = {frame.line for read in constant.reads for frame in read.frames if frame.path == home.path}
    place = next((place for place in places if place.start.line in lines), places[0])
    text = home.module.lines.line(place.end.line)[place.end.column - 1 :]
    more = _ATTRIBUTES.match(text)
    if more is None or METADATA & set(more[0].split(".")):
        return place
    return Range(place.start, Position(place.end.line, place.end.column + more.end()))


def _at_binding(model: FileModel, constant: Constant, bound: Place) -> Spot:
    """The line that bound a NumPy result: at its name, or at the expression where it was not given one."""
    home = _model(model, bound.path)
    if home is None:
        return Spot(bound.path, _line_range("", bound), constant.name or "constant", bound.function)
    text = home.module.lines.line(bound.line)
    at = re.search(rf"(?<![\w.]){re.escape(constant.name)}(?!\w)", text) if constant.name else None
    if at is not None and constant.name is not None:
        place = Range(Position(bound.line, at.start() + 1), Position(bound.line, at.end() + 1))
        return Spot(bound.path, place, constant.name, bound.function)
    place = _line_range(text, bound)
    return Spot(bound.path, place, constant.name or _shown(home, place), bound.function)


def _at_frame(model: FileModel, traced: TracedFunction, constant: Constant, name: str) -> Spot:
    """The use itself, in the user's innermost function, when the name stands nowhere."""
    frames = [frame for read in constant.reads for frame in read.frames[:1]]
    place = frames[0] if frames else Place(traced.path, traced.line, function=traced.function)
    home = _model(model, place.path)
    if home is None:
        return Spot(place.path, _line_range("", place), name or "constant", place.function)
    text = home.module.lines.line(place.line)
    where = _line_range(text, place)
    end = where.end.column - 1 if where.end.line == place.line else len(text)
    at = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)").search(text, where.start.column - 1, end) if name else None
    if at is not None:
        where = Range(Position(place.line, at.start() + 1), Position(place.line, at.end() + 1))
    return Spot(place.path, where, name or _shown(home, where), place.function)


def _line_range(text: str, place: Place) -> Range:
    if place.column is not None and place.end_column is not None:
        end = Position(place.end_line or place.line, place.end_column)
        return Range(Position(place.line, place.column), end)
    bare = text.strip()
    first = len(text) - len(text.lstrip()) + 1
    return Range(Position(place.line, first), Position(place.line, first + len(bare)))


def _shown(home: FileModel, place: Range) -> str:
    text = " ".join(home.module.source(place).split())
    return text if len(text) <= 60 else text[:57] + "..."
