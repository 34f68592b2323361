"""Reads declared signatures, `f32[3,700], key, {w: f32[8,8], b: f32[8]}`, into arguments that can be traced."""

from __future__ import annotations

import ast
import re
from typing import Any

import jax

_DTYPES = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_TOKEN = re.compile(
    r"\s*(?:(?P<aval>(?P<dtype>key|bool|bf16|[fiuc]\d\w*|[a-z]+\d+\w*)(?:<\w+>)?\s*\[(?P<dims>[\d,\s]*)\])"
    r"|(?P<string>'[^'\n]*'|\"[^\"\n]*\")|(?P<number>-?\d[\w.+-]*)|(?P<word>[A-Za-z_]\w*)|(?P<mark>[{}()\[\],:]))"
)


class BadSignature(ValueError):
    """A declared signature that cannot be read; the text says what is wrong with it."""


def parse(signature: str) -> list[Any]:
    """One argument per parameter: `ShapeDtypeStruct`s, trees of them, and Python literals for static values.

    Raises BadSignature.
    """
    reader = _Reader(signature)
    values = reader.sequence("")
    if reader.token is not None:
        raise BadSignature(f"unexpected {reader.token[1]!r} in {signature!r}")
    return values


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.token: tuple[str, str] | None = None
        self.match: re.Match[str] | None = None
        self.advance()

    def advance(self) -> None:
        if not self.text[self.at :].strip():
            self.token = None
            return
        self.match = _TOKEN.match(self.text, self.at)
        if self.match is None:
            raise BadSignature(f"{self.text[self.at :].strip()!r} is not an aval; write f32[3,700]")
        self.at = self.match.end()
        kind = next(k for k in ("aval", "string", "number", "word", "mark") if self.match[k] is not None)
        self.token = (kind, self.match[kind])

    def sequence(self, closing: str) -> list[Any]:
        values = []
        while self.token is not None and self.token[1] != closing:
            values.append(self.value())
            if self.token is None or self.token[1] == closing:
                break
            self.expect(",")
        return values

    def expect(self, mark: str) -> None:
        if self.token is None or self.token[1] != mark:
            found = repr(self.token[1]) if self.token else "the end"
            raise BadSignature(f"{mark!r} is wanted in {self.text!r}, not {found}")
        self.advance()

    def value(self) -> Any:
        assert self.token is not None and self.match is not None
        kind, text = self.token
        if kind == "aval":
            dims = tuple(int(d) for d in self.match["dims"].replace(" ", "").split(",") if d)
            value = struct(self.match["dtype"], dims)
            self.advance()
            return value
        if kind in ("string", "number"):
            self.advance()
            try:
                return ast.literal_eval(text)
            except (ValueError, SyntaxError):
                raise BadSignature(f"{text!r} is neither an aval nor a value") from None
        self.advance()
        if kind == "word":
            return self.word(text)
        return self.tree(text)

    def word(self, text: str) -> Any:
        literal = {"None": None, "True": True, "False": False}
        if text in literal:
            return literal[text]
        if self.token is not None and self.token[1] == ":":
            # `name: aval` as one may write a parameter: the name only documents.
            self.advance()
            if self.token is None:
                raise BadSignature(f"{text}: an aval is wanted")
            return self.value()
        if self.token is not None and self.token[1] == "[":
            raise BadSignature(f"{self.text!r} is not an aval; write f32[3,700]")
        return struct(text, ())

    def tree(self, opening: str) -> Any:
        if opening == "(":
            values = self.sequence(")")
            last_comma = self.text[: self.at].rstrip()[:-1].rstrip().endswith(",")
            self.expect(")")
            return values[0] if len(values) == 1 and not last_comma else tuple(values)
        if opening == "[":
            values = self.sequence("]")
            self.expect("]")
            return values
        if opening != "{":
            raise BadSignature(f"unexpected {opening!r} in {self.text!r}")
        found: dict[Any, Any] = {}
        while self.token is not None and self.token[1] != "}":
            kind, text = self.token
            key = text if kind == "word" else ast.literal_eval(text) if kind in ("string", "number") else None
            if key is None:
                raise BadSignature(f"{text!r} is no key")
            self.advance()
            self.expect(":")
            if self.token is None:
                raise BadSignature(f"{key}: an aval is wanted")
            found[key] = self.value()
            if self.token is not None and self.token[1] == ",":
                self.advance()
        self.expect("}")
        return found


def struct(dtype: str, shape: tuple[int, ...]) -> jax.ShapeDtypeStruct:
    """`f32` or `float32` with a shape. Raises BadSignature for a dtype that JAX does not have."""
    if dtype == "key":
        key = jax.eval_shape(jax.random.key, 0)
        return jax.ShapeDtypeStruct(shape, key.dtype)
    match = re.fullmatch(r"(bf|[fiuc])(\d\w*)", dtype)
    name = ("bfloat" if match[1] == "bf" else _DTYPES[match[1]]) + match[2] if match else dtype
    try:
        found = jax.numpy.dtype(name)
    except TypeError:
        raise BadSignature(f"{dtype!r} is no dtype") from None
    if found.kind in "OSUMm":
        raise BadSignature(f"{dtype!r} is no dtype of JAX arrays")
    return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(found))
