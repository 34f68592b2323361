"""Reads signatures, `f32[3,700], key, {w: f32[8,8], b: f32[8]}`, into arguments that can be traced.

What `signatures.short_tree` writes can be read here, and so can literals for static values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from . import jax_compat

_DTYPES = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_SCALARS = {"int": "int32", "float": "float32", "complex": "complex64"}
"""Python's numbers: JAX gives them its default dtype, weakly."""
_LITERALS = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}
_TOKEN = re.compile(
    r"\s*(?:(?P<aval>(?P<weak>~?)(?P<dtype>key|bool|bf16|[fiuc]\d\w*|[a-z]+\d+\w*)(?:<(?P<kind>\w+)>)?"
    r"\s*\[(?P<dims>[^\[\]]*)\])"
    r"|(?P<string>'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\")|(?P<number>-?(?:\d[\w.+-]*|inf\b|nan\b))"
    r"|(?P<word>[A-Za-z_][\w.]*)|(?P<mark>[{}()\[\],:=]))"
)


class BadSignature(ValueError):
    """A signature that cannot be read; the text says what is wrong with it, and at which of its columns."""


@dataclass(frozen=True)
class Arguments:
    """What to call a function with."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Node:
    """An object of a class, as written: `State(step: i32[])`."""

    name: str
    """Of the class."""
    children: tuple[tuple[str | None, Any], ...]
    """Fields or keys with what they hold; a key is None where only the position is known."""


Array = Callable[[str, "tuple[int | str, ...]", bool], Any]
"""Makes an argument of dtype, dimensions and weak type. A dimension is a number, or an expression of names."""
Build = Callable[[Node], Any]
"""Makes the object of a node. Raises ValueError when it cannot be made."""


def struct(dtype: str, dims: tuple[int | str, ...], weak: bool = False) -> Any:
    """`f32` or `float32` with a shape. Raises ValueError for a dtype that JAX does not have, and for named sizes."""
    for size in dims:
        if isinstance(size, str):
            raise ValueError(f"the size of {size!r} is not known")
    shape = tuple(int(size) for size in dims)
    found = dtype_of(dtype)
    return jax_compat.weak_struct(shape, found) if weak else jax.ShapeDtypeStruct(shape, found)


def dtype_of(text: str) -> Any:
    """The dtype written as `f32`, `float32` or `key<rbg>`. Raises ValueError."""
    name, _, kind = text.rstrip(">").partition("<")
    if name == "key":
        try:
            return jax_compat.key_dtype(kind)
        except Exception:
            raise ValueError(f"{kind!r} is no kind of random key") from None
    match = re.fullmatch(r"(bf|[fiuc])(\d\w*)", name)
    name = ("bfloat" if match[1] == "bf" else _DTYPES[match[1]]) + match[2] if match else name
    try:
        found = jax.numpy.dtype(name)
    except TypeError:
        raise ValueError(f"{text!r} is no dtype") from None
    if found.kind in "OSUMm":
        raise ValueError(f"{text!r} is no dtype of JAX arrays")
    return jax.dtypes.canonicalize_dtype(found)


def no_class(node: Node) -> Any:
    """Stands for `Build` where no classes are known."""
    raise ValueError(f"no class {node.name} is known")


def parse(signature: str, build: Build = no_class, array: Array = struct) -> Arguments:
    """One argument per parameter: arrays, trees of them, and Python literals for static values.

    Raises BadSignature.
    """
    return _Reader(signature, build, array).arguments()


class _Reader:
    def __init__(self, text: str, build: Build, array: Array) -> None:
        self.text, self.build, self.array = text, build, array
        self.at = 0
        """Where the next token begins."""
        self.start = 0
        """Where the present token begins."""
        self.kind, self.token = "", ""
        """Of the present token; both are empty at the end."""
        self.match: re.Match[str] | None = None
        self.advance()

    def wrong(self, what: str, at: int | None = None) -> BadSignature:
        return BadSignature(f"{what} at column {(self.start if at is None else at) + 1} of {self.text!r}")

    def advance(self) -> None:
        rest = self.text[self.at :]
        self.start = self.at + len(rest) - len(rest.lstrip())
        if not rest.strip():
            self.kind = self.token = ""
            return
        self.match = _TOKEN.match(self.text, self.at)
        if self.match is None:
            raise self.wrong(f"{rest.strip()!r} is not a shape; write f32[3,700]")
        self.at = self.match.end()
        self.kind = next(k for k in ("aval", "string", "number", "word", "mark") if self.match[k] is not None)
        self.token = self.match[self.kind]

    def expect(self, mark: str) -> None:
        if self.token != mark:
            raise self.wrong(f"{mark!r} is wanted, not {repr(self.token) if self.token else 'the end'},")
        self.advance()

    def items(self, closing: str, item: Callable[[], None]) -> None:
        """Items with commas between them, up to `closing`."""
        while self.token != closing:
            item()
            if self.token == closing:
                break
            self.expect("," if self.token else closing)

    def arguments(self) -> Arguments:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}

        def item() -> None:
            name, mark = self.named(":=")
            if mark == "=":
                if name in kwargs:
                    raise self.wrong(f"{name} is given twice")
                kwargs[name] = self.value()
            elif kwargs:
                raise self.wrong("an argument without a name stands behind one with a name")
            else:
                args.append(self.value())  # `name: aval`: the name only documents

        self.items("", item)
        return Arguments(tuple(args), kwargs)

    def named(self, marks: str) -> tuple[str, str]:
        """`name:` or `name=` in front of a value, read over; two empty texts where there is none."""
        if self.kind != "word" or not (mark := self.text[self.at :].lstrip()[:1]) or mark not in marks:
            return "", ""
        name = self.token
        self.advance()
        self.advance()
        return name, mark

    def value(self) -> Any:
        kind, text, start = self.kind, self.token, self.start
        if not kind:
            raise self.wrong("a shape as in f32[3,700] is wanted")
        if kind == "mark":
            return self.tree()
        match = self.match
        assert match is not None
        self.advance()
        if kind in ("string", "number"):
            return self.literal(text, start)
        if kind == "word":
            return self.word(text, start)
        dims = tuple(_dimension(part) for part in match["dims"].split(",") if part.strip())
        dtype = match["dtype"] + (f"<{match['kind']}>" if match["kind"] else "")
        return self.made(dtype, dims, bool(match["weak"]), start)

    def made(self, dtype: str, dims: tuple[int | str, ...], weak: bool, start: int) -> Any:
        try:
            return self.array(dtype, dims, weak)
        except ValueError as error:
            raise self.wrong(str(error), start) from None

    def literal(self, text: str, start: int) -> Any:
        if text.lstrip("-") in ("inf", "nan"):
            return float(text)
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise self.wrong(f"{text!r} is neither a shape nor a value", start) from None

    def word(self, text: str, start: int) -> Any:
        if text in _LITERALS:
            return _LITERALS[text]
        if text in _SCALARS:
            return self.made(_SCALARS[text], (), True, start)
        if self.token in ("(", "{"):
            return self.node(text, start)
        if self.token == "[":
            raise self.wrong(f"{self.text[start:]!r} is not a shape; write f32[3,700]", start)
        return self.made(text, (), False, start)

    def node(self, name: str, start: int) -> Any:
        closing = {"(": ")", "{": "}"}[self.token]
        children: list[tuple[str | None, Any]] = []

        def item() -> None:
            key, _ = self.named(":=")
            if not key and self.kind == "string" and self.text[self.at :].lstrip().startswith(":"):
                key = self.key()
                self.advance()
            children.append((key or None, self.value()))

        self.advance()
        self.items(closing, item)
        self.expect(closing)
        try:
            return self.build(Node(name, tuple(children)))
        except BadSignature:
            raise
        except Exception as error:
            raise self.wrong(f"{name} cannot be made ({error})", start) from None

    def tree(self) -> Any:
        opening, values = self.token, []
        if opening not in "([{":
            raise self.wrong(f"{opening!r} is not expected")
        self.advance()
        if opening == "{":
            return self.mapping()
        closing = ")" if opening == "(" else "]"
        self.items(closing, lambda: values.append(self.value()))
        single = opening == "(" and len(values) == 1 and not self.text[: self.start].rstrip().endswith(",")
        self.expect(closing)
        if opening == "[":
            return values
        return values[0] if single else tuple(values)

    def mapping(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}

        def item() -> None:
            start = self.start
            key = self.key()
            if key in found:
                raise self.wrong(f"the key {key!r} is given twice", start)
            self.expect(":")
            found[key] = self.value()

        self.items("}", item)
        self.expect("}")
        return found

    def key(self) -> Any:
        kind, text, start = self.kind, self.token, self.start
        if text == "(":
            return self.tree()
        if kind not in ("word", "string", "number"):
            raise self.wrong(f"{text!r} is no key" if text else "a key is wanted")
        self.advance()
        if kind == "word":
            return _LITERALS.get(text, text)
        return self.literal(text, start)


def _dimension(text: str) -> int | str:
    text = text.strip()
    return int(text) if text.isdigit() else text


def key_text(key: Any) -> str:
    """A dict's key so that it is read as itself."""
    if isinstance(key, str) and re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", key) and key not in _LITERALS:
        return key
    return repr(key)
