"""What draws with a `jax.random` key as Python's `random` and NumPy draw: the same distribution, of the same shape."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from jaxscope.refactor.program.names import File

_STANDARD = {"standard_normal": "normal", "standard_exponential": "exponential"}
_SCALED = dict.fromkeys(("normal", "laplace", "gumbel", "logistic"), ("loc", "scale", "size"))
_WORDS: dict[str, tuple[str, ...]] = {
    **_SCALED,
    "exponential": ("scale", "size"),
    **dict.fromkeys(_STANDARD, ("size", "dtype")),
    "uniform": ("low", "high", "size"),
    **dict.fromkeys(("random", "random_sample", "ranf", "sample"), ("size", "dtype")),
    "randint": ("low", "high", "size", "dtype"),
    "integers": ("low", "high", "size", "dtype", "endpoint"),
    "permutation": ("x",),
    "rand": (),
    "randn": (),
}
"""Functions of NumPy's, and methods of its generators, with their parameters."""
_PYTHON: dict[str, tuple[str, ...]] = {
    "random": (),
    "uniform": ("a", "b"),
    "gauss": ("mu", "sigma"),
    "normalvariate": ("mu", "sigma"),
    "randint": ("a", "b"),
}
_NUMPY_ALIKE = {"a": "low", "b": "high", "mu": "loc", "sigma": "scale"}
_ALONE = (ast.Assign, ast.AnnAssign, ast.Return, ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Expr)
"""Around which an operation needs no brackets."""


def is_known(name: str) -> bool:
    """Is there anything like the function or method that is written so?"""
    word = name.rpartition(".")[2]
    return word in _WORDS or word in _PYTHON


@dataclass(frozen=True, slots=True)
class Draw:
    """A call that draws, and what is written for it once the key is known."""

    node: ast.Call
    text: Callable[[str, str], str]
    """Of the names that JAX and the key have."""
    single: bool
    """Is it a number of Python's now, and no array?"""


def draw(file: File, call: ast.Call) -> Draw:
    """How JAX draws what the call does. Raises Refused."""
    dotted = file.dotted(call.func)
    word = call.func.attr if isinstance(call.func, ast.Attribute) else (dotted or "").rpartition(".")[2]
    python = dotted is not None and dotted.startswith("random.")
    names = (_PYTHON if python else _WORDS).get(word)
    if names is None or (dotted is None and word == "randint"):
        raise file.refuse(f"`{ast.unparse(call.func)}` draws in a way that `jax.random` does not have.", call)
    form = _Form(file, call, word, names)
    return Draw(call, form.text(), form.shape is None and word != "permutation")


class _Form:
    """One call."""

    def __init__(self, file: File, call: ast.Call, word: str, names: tuple[str, ...]) -> None:
        self.file, self.call = file, call
        self.word = {"gauss": "normal", "normalvariate": "normal", **_STANDARD}.get(word, word)
        self.shape: str | None = None
        self.given: dict[str, ast.expr] = {}
        starred = any(isinstance(one, ast.Starred) for one in call.args)
        if starred:
            raise file.refuse("How many numbers it is given by `*` cannot be seen; give it a shape as `size`.", call)
        if len(call.args) > len(names) and word not in ("rand", "randn"):
            raise file.refuse("It cannot be seen what it is given.", call)
        if word in ("rand", "randn"):
            self.shape = _shape_of([self._source(one) for one in call.args]) if call.args else None
            self.word = {"rand": "random", "randn": "normal"}[word]
        else:
            self.given = dict(zip(names, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg not in names:
                raise file.refuse(f"`jax.random` has no `{keyword.arg or '**'}` for it.", call)
            self.given[keyword.arg] = keyword.value
        self.inclusive = word == "randint" and "a" in names
        self.given = {_NUMPY_ALIKE.get(name, name): one for name, one in self.given.items()}

    def text(self) -> Callable[[str, str], str]:
        """See `Draw`. Raises Refused."""
        self._check_dtype()
        for name, one in self.given.items():
            if name != "size" and isinstance(self._value_of(one), ast.List | ast.Tuple | ast.ListComp):
                raise self.file.refuse(f"`jax.random` takes arrays, and `{self._source(one)}` is none.", self.call)
        if "size" in self.given:
            self.shape = self._shape(self.given["size"])
        elif any(not _is_number(one) for name, one in self.given.items() if name in ("loc", "scale", "low", "high")):
            raise self.file.refuse("Its size depends on what it is given.", self.call)
        if self.word == "permutation":
            return self._call("permutation", self._needed("x"))
        if self.word in ("randint", "integers"):
            return self._integers()
        if self.word == "uniform":
            low, high = self._text("low"), self._text("high")
            return self._call("uniform", self.shape, low and f"minval={low}", high and f"maxval={high}")
        if self.word in ("random", "random_sample", "ranf", "sample"):
            return self._call("uniform", self.shape)
        return self._scaled()

    def _call(self, word: str, *arguments: str | None) -> Callable[[str, str], str]:
        given = "".join(f", {one}" for one in arguments if one is not None)
        return lambda random, key: f"{random}.{word}({key}{given})"

    def _integers(self) -> Callable[[str, str], str]:
        low, high = self._needed("low"), self._text("high")
        low, high = ("0", low) if high is None or high == "None" else (low, high)
        endpoint = self.given.get("endpoint")
        if endpoint is not None and not isinstance(endpoint, ast.Constant):
            raise self.file.refuse("It is not known whether it draws the last number too.", self.call)
        if self.inclusive or (isinstance(endpoint, ast.Constant) and endpoint.value):
            high = str(int(high) + 1) if high.lstrip("-").isdigit() else f"{high} + 1"
        return self._call("randint", self.shape or "()", low, high)

    def _scaled(self) -> Callable[[str, str], str]:
        drawn = self._call(self.word, self.shape)
        loc, scale = self._text("loc", "0", "0.0"), self._text("scale", "1", "1.0")
        head = (f"{loc} + " if loc else "") + (f"{scale} * " if scale else "")
        alone = not head or isinstance(self.file.parents[self.call], _ALONE)
        return lambda random, key: f"{head}{drawn(random, key)}" if alone else f"({head}{drawn(random, key)})"

    def _check_dtype(self) -> None:
        dtype = self.given.get("dtype")
        floating = self.word not in ("randint", "integers")
        if dtype is not None and not (floating and self.file.dotted(dtype) in ("numpy.float32", "jax.numpy.float32")):
            raise self.file.refuse("It asks for a type that `jax.random` may not give.", self.call)

    def _shape(self, size: ast.expr) -> str | None:
        text = self._source(size)
        if isinstance(size, ast.Constant) and size.value is None:
            return None
        whole = _is_whole(self._value_of(size))
        counted = isinstance(size, ast.Call) and isinstance(size.func, ast.Name) and size.func.id == "len"
        inner = size.value if isinstance(size, ast.Subscript) else None
        of_shape = isinstance(inner, ast.Attribute) and inner.attr == "shape"
        if whole or counted or (of_shape and not isinstance(getattr(size, "slice", None), ast.Slice)):
            return f"({text},)"
        shape = isinstance(size, ast.Attribute) and size.attr == "shape"
        if of_shape or shape or isinstance(size, ast.Tuple | ast.List):
            return text if not isinstance(size, ast.List) else _shape_of([self._source(one) for one in size.elts])
        if isinstance(size, ast.Attribute) and size.attr in ("size", "ndim"):
            return f"({text},)"
        raise self.file.refuse(f"It is not known whether `{text}` is a number or a shape.", size)

    def _value_of(self, node: ast.expr) -> ast.expr:
        """What a name is given that is given one value only; else the expression itself."""
        home = self.file.lookup(self.file.scope_of(node), node.id) if isinstance(node, ast.Name) else None
        bound = self.file.bindings(home, node.id) if home is not None and isinstance(node, ast.Name) else []
        plain = len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path
        return bound[0].value or node if plain else node

    def _needed(self, name: str) -> str:
        text = self._text(name)
        if text is None:
            raise self.file.refuse("It cannot be seen what it is given.", self.call)
        return text

    def _text(self, name: str, *usual: str) -> str | None:
        node = self.given.get(name)
        if node is None:
            return None
        text = self._source(node)
        simple = isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        bare = simple or self.word not in _SCALED.keys() | {"exponential"}
        return None if text in usual else text if bare else f"({text})"

    def _source(self, node: ast.expr) -> str:
        return self.file.layout.source(node)


def _shape_of(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _is_whole(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | None)
