"""dtypes as far as sizes depend on them: item sizes, promotion, and what JAX makes of 64 bits when x64 is off."""

from __future__ import annotations

from jaxscope.semantics.evaluation.values import Array, Const, External, Library, Scalar, Value

_ITEM_BYTES = {
    **dict.fromkeys(("bool", "int8", "uint8", "int4", "uint4"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64", "key<fry>"), 8),
    "complex128": 16,
}
_NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
_PYTHON = {"float": "float64", "int": "int64", "bool": "bool", "complex": "complex128"}
_ALIASES = {
    "single": "float32",
    "double": "float64",
    "half": "float16",
    "float_": "float64",
    "int_": "int64",
    "uint": "uint64",
    "bool_": "bool",
    "intp": "int64",
    "complex_": "complex128",
    "csingle": "complex64",
    "cdouble": "complex128",
    "byte": "int8",
    "ubyte": "uint8",
    "f4": "float32",
    "f8": "float64",
    "f2": "float16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "i2": "int16",
    "u4": "uint32",
    "c8": "complex64",
    "c16": "complex128",
    "f": "float32",
    "d": "float64",
    "i": "int32",
    "float": "float64",
    "int": "int64",
    "complex": "complex128",
    "?": "bool",
}
_KINDS = ("bool", "uint", "int", "bfloat", "float", "complex")


def item_bytes(dtype: str | None) -> int | None:
    """Bytes of one element; None when not known."""
    return None if dtype is None else _ITEM_BYTES.get(dtype)


def narrowed(dtype: str | None, x64: bool) -> str | None:
    """`dtype` as it stands in a compiled program."""
    return dtype if x64 or dtype is None else _NARROW.get(dtype, dtype)


def named(name: str) -> str | None:
    """The dtype that a name or type code means."""
    name = name.lstrip("<>=|")
    if name in _ITEM_BYTES:
        return name
    return _ALIASES.get(name)


def from_value(value: Value) -> str | None:
    """The dtype that an expression used as one means; None when it is none or not known."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return named(value.value)
    if isinstance(value, External):
        module, _, tail = value.name.rpartition(".")
        if module == "builtins":
            return _PYTHON.get(tail)
        return named(tail)
    if isinstance(value, Array):
        return value.dtype
    return None


def kind(dtype: str) -> int:
    """Rank of the dtype's kind: bool, unsigned, signed, floating, complex."""
    word = dtype.rstrip("0123456789").partition("8_")[0]
    return {"bool": 0, "uint": 1, "int": 1, "bfloat": 3, "float": 3, "complex": 4}.get(word, -1)


def promote(a: str | None, b: str | None, library: Library) -> str | None:
    """dtype of an operation on arrays of two dtypes; None when it is not one of the plain cases."""
    if a is None or b is None or a == b:
        return a if a == b else None
    ka, kb = kind(a), kind(b)
    if min(ka, kb) < 0:
        return None
    if ka == kb:
        wide = a if (item_bytes(a) or 0) >= (item_bytes(b) or 0) else b
        mixed = item_bytes(a) == item_bytes(b) or (a[0] == "u") != (b[0] == "u")
        return None if mixed else wide
    low, high = (a, b) if ka < kb else (b, a)
    if library == "jax" or kind(low) == 0:
        return high
    if kind(high) == 3 and kind(low) == 1:
        return high if (item_bytes(low) or 8) < (item_bytes(high) or 0) else "float64"
    return high if high == "complex128" else None


def with_scalar(dtype: str | None, scalar: Value, library: Library, x64: bool) -> str | None:
    """dtype of an operation on an array and a Python number, which has a weak type."""
    python = _python_kind(scalar)
    if dtype is None or python is None or kind(dtype) < 0:
        return None
    rank = {"bool": 0, "int": 1, "float": 3, "complex": 4}[python]
    if rank <= kind(dtype):
        return dtype
    if python == "complex":
        return "complex64" if dtype == "float32" or (library == "jax" and not x64) else "complex128"
    return narrowed(_PYTHON[python], x64 or library == "numpy")


def _python_kind(value: Value) -> str | None:
    if isinstance(value, Scalar):
        return value.kind if value.kind in _PYTHON else None
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, complex)):
        return type(value.value).__name__
    return None


def default_for(value: Value, library: Library, x64: bool) -> str | None:
    """dtype of an array made of a Python number."""
    python = _python_kind(value)
    return None if python is None else narrowed(_PYTHON[python], x64 or library == "numpy")
