"""What can compile anything, told from its text: files of a folder, so that the others need not be parsed, and parts of
a file, so that the others need not be looked into.

A file that compiles has the name of a compiling transform in it, or decorates with a wrapper of the project: a function
or variable in whose definition such a name stands. One that gives what it imports another value may change what the
compiled functions of other files read, and one that calls those may have them traced again and again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.semantics.compiled.sites import COMPILING, is_local_name
from jaxscope.source.module import Chunk

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

_MENTIONS_JAX = re.compile(rb"jax|flax|equinox|haiku|optax|numpyro")
_NAME = f"(?:{'|'.join(sorted(COMPILING))})"
_IN_CODE = _NAME + r"\b(?![`-]|[ \t]+(?!(?:if|else|or|and|is|in|for|as|not)\b)[A-Za-z])"
"""A compiling transform, other than in `prose` that goes on or is hyphenated."""
_COMPILES = re.compile(_IN_CODE.encode())
_HANDED_ON = re.compile(rb"%s[ \t]*(?:[(,)\]]|$)" % _NAME.encode())
_DEFINITION = re.compile(rb"([ \t]*)(?:async[ \t]+def|def|class)[ \t]+(\w+)")
_ASSIGNED = re.compile(rb"[ \t]*(\w+)[ \t]*(?::[^=\n]*)?=")
_DECORATOR = re.compile(rb"^[ \t]*@[ \t]*([\w.]+)", re.MULTILINE)
_IMPORTED = re.compile(rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(\([^)]*\)|[^\n(]*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")
_DECORATED = re.compile(rb"^(@(?:[^\n]+\n)+?)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_MADE = re.compile(rb"^(\w+)[ \t]*=[^\n=][^\n]*%s[ \t]*[(,)]" % _NAME.encode(), re.MULTILINE)
_MEMBER_CALLED = re.compile(rb"\b(\w+)\.(\w+)[ \t]*\(")
_CHANGED = re.compile(
    rb"^[ \t]*(?:(\w+)(?:\.\w+|\[[^\]\n]*\])+[ \t]*(?::[^=\n]*|[-+*/@%&|^<>]+)?=(?!=)|setattr\([ \t]*(\w+))",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Look:
    """What the bytes of one file tell."""

    mentions_jax: bool
    """Is there the name of JAX or of a library around it?"""
    compiles: bool
    wrappers: frozenset[bytes]
    """Names in whose definitions a compiling transform stands, other than as a decorator."""
    decorators: frozenset[bytes]
    changes_imported: bool = False
    """Does it compile nothing, but assign to an attribute or entry of something that it imports?"""
    compiled: frozenset[bytes] = frozenset()
    """Functions that it compiles where it defines them."""
    takes: frozenset[bytes] = frozenset()
    """Where it compiles nothing: what it imports, and what it calls of the modules that it imports, by name."""


def look(text: bytes) -> Look:
    """What the bytes of a file tell."""
    compiles = _COMPILES.search(text) is not None
    decorators = frozenset(name.rpartition(b".")[2] for name in _DECORATOR.findall(text))
    wrappers = frozenset(_wrappers(text) if compiles else ())
    mentions = _MENTIONS_JAX.search(text) is not None
    compiled = frozenset(_compiled(text) if compiles else ())
    if compiles or not mentions:
        return Look(mentions, compiles, wrappers, decorators, compiled=compiled)
    imported = frozenset(word for names in _IMPORTED.findall(text) for word in _WORD.findall(names))
    changed = {one or other for one, other in _CHANGED.findall(text)}
    called = {name for module, name in _MEMBER_CALLED.findall(text) if module in imported}
    return Look(mentions, compiles, wrappers, decorators, not changed.isdisjoint(imported), takes=imported | called)


def compiling(looks: Mapping[str, Look]) -> set[str]:
    """Those of the files, by path, that can compile something, call what others compile, or change what it reads."""
    wrappers = frozenset[bytes]().union(*(one.wrappers for one in looks.values()))
    compiled = frozenset[bytes]().union(*(one.compiled for one in looks.values()))
    return {
        path
        for path, one in looks.items()
        if one.mentions_jax
        and (
            one.compiles
            or one.changes_imported
            or not wrappers.isdisjoint(one.decorators)
            or not compiled.isdisjoint(one.takes)
        )
    }


def _compiled(text: bytes) -> Iterator[bytes]:
    yield from _MADE.findall(text)
    yield from (name for decorators, name in _DECORATED.findall(text) if _COMPILES.search(decorators))


def _wrappers(text: bytes) -> Iterator[bytes]:
    around: list[tuple[int, bytes]] = []
    for line in text.splitlines():
        if definition := _DEFINITION.match(line):
            depth = len(definition[1])
            around = [(outer, name) for outer, name in around if outer < depth] + [(depth, definition[2])]
        if _HANDED_ON.search(line) and not line.lstrip().startswith((b"@", b"#")):
            yield from (name for _, name in around)
            if assigned := _ASSIGNED.match(line):
                yield assigned[1]


_HARMLESS = "property|staticmethod|classmethod|[\\w.]+\\.(?:setter|getter|deleter|abstractmethod)|overload|override"
_NEAR = re.compile(rf"{_IN_CODE}|^[ \t]*@(?!(?:{_HARMLESS})\b)|[\])][ \t]*\(", re.MULTILINE)
"""A transform, a decorator, a call of what a call or subscript gave."""
_CALLED = re.compile(r"\b(\w+)[ \t]*\(")


def may_compile(model: FileModel, chunk: Chunk, ev: Evaluator) -> bool:
    """Can a part of a file compile something?"""
    text = chunk.good_text
    if _NEAR.search(text):
        return True
    return any([is_local_name(model, name, ev) for name in set(_CALLED.findall(text))])  # noqa: C419  # each is recorded
