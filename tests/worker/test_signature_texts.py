"""The texts of signatures: what is written of an argument is read as an argument of the same type."""

from __future__ import annotations

from typing import Any

import pytest

hypothesis = pytest.importorskip("hypothesis")
st = pytest.importorskip("hypothesis.strategies")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jaxscope_worker import declaring, jax_compat, signatures  # noqa: E402

DTYPES = (
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64",
    "int4", "uint4", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip


def _array(dtype: str, shape: tuple[int, ...]) -> Any:
    return jax.ShapeDtypeStruct(shape, jax.numpy.dtype(dtype))


def _key(kind: str, shape: tuple[int, ...]) -> Any:
    return jax.ShapeDtypeStruct(shape, jax_compat.key_dtype(kind))


def _weak(dtype: str, shape: tuple[int, ...]) -> Any:
    return jax_compat.weak_struct(shape, jax.numpy.dtype(dtype))


SHAPES = st.lists(st.integers(0, 2000), max_size=4).map(tuple)
LEAVES = (
    st.builds(_array, st.sampled_from(DTYPES), SHAPES)
    | st.builds(_key, st.sampled_from(("", "fry", "rbg")), SHAPES)
    | st.builds(_weak, st.sampled_from(("int32", "float32", "complex64")), SHAPES)
    | st.none()
)
KEYS = st.text(max_size=8) | st.integers() | st.sampled_from(("w", "enc.w", "None", "True", "inf", "a b", "it's"))
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if a is None:
        return True
    return (a.shape, a.dtype, jax_compat.is_weak(a)) == (b.shape, b.dtype, jax_compat.is_weak(b))


@hypothesis.settings(deadline=None)
@hypothesis.given(st.lists(TREES, max_size=4))
def test_what_is_written_is_read_as_the_same(arguments: list[Any]) -> None:
    text = ", ".join(map(signatures.short_tree, arguments))
    read = declaring.parse(text)
    assert same(read.args, tuple(arguments)) and not read.kwargs, text


STATICS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=5,
)


@hypothesis.settings(deadline=None)
@hypothesis.given(STATICS)
def test_static_values_are_read_as_themselves(value: Any) -> None:
    text = signatures.static_repr(value)
    if "…" not in text:  # cut off, for showing only
        assert declaring.parse(f"f32[3], mode={text}").kwargs == {"mode": value}, text


@pytest.mark.parametrize(
    ("text", "args", "kwargs"),
    [
        (
            "float, int, bool, 3, -0.5, 'relu', True, None",
            ["~f32[]", "~i32[]", "bool[]", 3, -0.5, "relu", True, None],
            {},
        ),
        ("f32[3], x=f32[3,4], mode='train'", ["f32[3]"], {"x": "f32[3,4]", "mode": "train"}),
        (
            "x: f32[3], {w: f32[8,8], 'a b': [key, key[4]]}",
            ["f32[3]", "{w: f32[8,8], 'a b': [key<fry>[], key<fry>[4]]}"],
            {},
        ),
        ("(f32[],), (f32[]), (), {}, []", ["(f32[],)", "f32[]", "()", "{}", "[]"], {}),
        ("{enc.w: f8_e4m3fn[2], 3: i4[2]}, bfloat16[8]", ["{enc.w: f8_e4m3fn[2], 3: i4[2]}", "bf16[8]"], {}),
        ("", [], {}),
    ],
)
def test_what_can_be_written(text: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    def shown(value: Any) -> Any:
        return value if isinstance(value, (bool, int, float, str, type(None))) else signatures.short_tree(value)

    read = declaring.parse(text)
    assert [shown(value) for value in read.args] == args
    assert {name: shown(value) for name, value in read.kwargs.items()} == kwargs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32[3", "'f32[3' is not a shape; write f32[3,700] at column 1"),
        ("f32[3] f32[4]", "',' is wanted, not 'f32[4]', at column 8"),
        ("f32[3], {w f32[3]}", "':' is wanted, not 'f32[3]', at column 12"),
        ("{w: f32[3]", "'}' is wanted, not the end, at column 11"),
        ("{w: f32[3], w: f32[3]}", "the key 'w' is given twice at column 13"),
        ("f32[3], float99[3]", "'float99' is no dtype at column 9"),
        ("f32[3], relu", "'relu' is no dtype at column 9"),
        ("f32[3,n]", "the size of 'n' is not known at column 1"),
        ("x=f32[3], f32[3]", "an argument without a name stands behind one with a name at column 11"),
        ("x=f32[3], x=f32[3]", "x is given twice at column 13"),
        ("Missing(w: f32[3])", "Missing cannot be made (no class Missing is known) at column 1"),
        ("key<no>[3]", "'no' is no kind of random key at column 1"),
        ("f32[3], ", None),
        ("f32[3], ]", "']' is not expected at column 9"),
        ("{f32[3]: f32[3]}", "'f32[3]' is no key at column 2"),
        ("x:", "a shape as in f32[3,700] is wanted at column 3"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, message: str | None) -> None:
    if message is None:
        declaring.parse(text)
        return
    with pytest.raises(declaring.BadSignature) as raised:
        declaring.parse(text)
    assert str(raised.value) == f"{message} of {text!r}"


def test_dimensions_may_be_names_for_whoever_knows_their_sizes() -> None:
    read = declaring.parse("~f32[n, 2*d,3], key[]", array=lambda dtype, dims, weak: (dtype, dims, weak))
    assert read.args == (("f32", ("n", "2*d", 3), True), ("key", (), False))


def test_numbers_of_numpy_are_arrays() -> None:
    assert signatures.short_tree({"a": np.float32(1), "b": 1.0, "c": True}) == "{a: f32[], b: ~f32[], c: bool[]}"
