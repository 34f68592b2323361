"""The arrays of layers that Equinox and flax.nnx have ready, by the documented sizes that their constructors take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from jaxscope.semantics.evaluation.arrays import Call, as_int, as_shape
from jaxscope.semantics.evaluation.dtypes import from_value, narrowed
from jaxscope.semantics.evaluation.values import (
    SOMEWHERE,
    UNKNOWN,
    Array,
    Const,
    External,
    Instance,
    Sequence,
    Shape,
    Tree,
    Value,
    leaves,
)
from jaxscope.semantics.vocabulary import words

Arrays = dict[str, "Shape | None"]
"""Shapes by name; None where even the number of axes is not known."""


class Layer:
    """The arguments of one constructor."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def size(self, name: str, position: int | None = None, default: int | None = None) -> int | None:
        """A number."""
        given = self.call.get(name, position)
        return default if given is None else as_int(given)

    def shape(self, name: str, position: int, axes: int | None = None) -> Shape | None:
        """A number or several; one number stands for each of `axes`."""
        found = as_shape(self.call.get(name, position))
        return found * axes if found is not None and axes is not None and len(found) == 1 else found

    def kept(self, arrays: Arrays, **options: tuple[str, int | None]) -> Arrays:
        """Those arrays that the options, on unless they are given, do not leave out."""
        for option, (names, position) in options.items():
            given = self.call.get(option, position)
            for name in words(names) if given is not None and given != Const(True) else ():
                if given == Const(False):
                    arrays.pop(name, None)
                else:
                    arrays[name] = None
        return arrays

    def is_given(self, *names: str) -> bool:
        """Is any of these arguments given?"""
        return any(self.call.get(name) is not None for name in names)


_Maker = Callable[[Layer], "Arrays | None"]


def call(name: str, given: Call) -> Value:
    """What calling the class or function `name` gives."""
    package, _, tail = name.rpartition(".")
    handler = _FUNCTIONS.get(name)
    if handler is not None:
        return handler(given) if given.args else UNKNOWN
    maker = _LAYERS[package].get(tail)
    found = None if maker is None else maker(Layer(given))
    if found is None:
        return SOMEWHERE
    option, default = ("dtype", given.float) if package == "equinox.nn" else ("param_dtype", "float32")
    named = given.keywords.get(option)
    dtype = default if named is None or named == Const(None) else from_value(named)
    dtype = narrowed(dtype, given.x64)
    return Tree(tuple((f".{path}", Array(shape, dtype, "jax")) for path, shape in found.items()))


def is_known(name: str) -> bool:
    """Is something known of what calling `name` gives?"""
    package, _, tail = name.rpartition(".")
    return name in _FUNCTIONS or tail in _LAYERS.get(package, ()) or (package in _LAYERS and tail in _OTHERS)


# ---------------------------------------------------------------- Equinox


def _linear(of: Layer) -> Arrays:
    inside, outside = of.size("in_features", 0), of.size("out_features", 1)
    return of.kept({"weight": (outside, inside), "bias": (outside,)}, use_bias=("bias", 2))


def _mlp(of: Layer) -> Arrays | None:
    inside, outside, width = of.size("in_size", 0), of.size("out_size", 1), of.size("width_size", 2)
    depth = of.size("depth", 3)
    if depth is None or not 0 <= depth <= _DEEPEST:
        return None
    sizes = [inside, *[width] * depth, outside]
    found: Arrays = {}
    for number in range(depth + 1):
        found[f"layers[{number}].weight"] = (sizes[number + 1], sizes[number])
        found[f"layers[{number}].bias"] = (sizes[number + 1],)
    inner = " ".join(f"layers[{number}].bias" for number in range(depth))
    return of.kept(found, use_bias=(inner, None), use_final_bias=(f"layers[{depth}].bias", None))


_DEEPEST = 64
"""Layers of a network whose sizes are told one by one."""


def _conv(axes: int | None) -> _Maker:
    first = 1 if axes is None else 0

    def make(of: Layer) -> Arrays | None:
        rank = of.size("num_spatial_dims", 0) if axes is None else axes
        kernel = of.shape("kernel_size", first + 2, rank)
        inside, outside = of.size("in_channels", first), of.size("out_channels", first + 1)
        groups = of.size("groups", None, 1)
        if kernel is None or rank is None or not groups or len(of.call.args) > first + 5:
            return None
        each = None if inside is None else inside // groups
        arrays: Arrays = {"weight": (outside, each, *kernel), "bias": (outside, *[1] * rank)}
        return of.kept(arrays, use_bias=("bias", None))

    return make


def _embedding(of: Layer) -> Arrays | None:
    if of.is_given("weight") or len(of.call.args) > 2:
        return None
    return {"weight": (of.size("num_embeddings", 0), of.size("embedding_size", 1))}


def _cell(gates: int) -> _Maker:
    def make(of: Layer) -> Arrays:
        inside, hidden = of.size("input_size", 0), of.size("hidden_size", 1)
        rows = None if hidden is None else gates * hidden
        arrays: Arrays = {"weight_ih": (rows, inside), "weight_hh": (rows, hidden), "bias": (rows,)}
        if gates == 3:
            arrays["bias_n"] = (hidden,)
        return of.kept(arrays, use_bias=("bias bias_n" if gates == 3 else "bias", 2))

    return make


def _normalized(of: Layer) -> Arrays:
    shape = of.shape("shape", 0)
    return of.kept({"weight": shape, "bias": shape}, use_weight=("weight", 2), use_bias=("bias", 3))


_EQUINOX: dict[str, _Maker] = {
    "Linear": _linear,
    "MLP": _mlp,
    "Conv": _conv(None),
    **{f"Conv{axes}d": _conv(axes) for axes in (1, 2, 3)},
    **{f"ConvTranspose{axes}d": _conv(axes) for axes in (1, 2, 3)},
    "Embedding": _embedding,
    "GRUCell": _cell(3),
    "LSTMCell": _cell(4),
    "LayerNorm": _normalized,
}


# ---------------------------------------------------------------- flax.nnx


def _nnx_linear(of: Layer) -> Arrays:
    inside, outside = of.size("in_features", 0), of.size("out_features", 1)
    return of.kept({"kernel": (inside, outside), "bias": (outside,)}, use_bias=("bias", None))


def _nnx_conv(of: Layer) -> Arrays | None:
    kernel = of.shape("kernel_size", 2)
    inside, outside = of.size("in_features", 0), of.size("out_features", 1)
    groups = of.size("feature_group_count", None, 1)
    if kernel is None or not groups or of.is_given("transpose_kernel"):
        return None
    each = None if inside is None else inside // groups
    return of.kept({"kernel": (*kernel, each, outside), "bias": (outside,)}, use_bias=("bias", None))


def _nnx_embed(of: Layer) -> Arrays:
    return {"embedding": (of.size("num_embeddings", 0), of.size("features", 1))}


def _nnx_norm(*names: str) -> _Maker:
    def make(of: Layer) -> Arrays:
        size = of.size("num_features", 0)
        return of.kept(dict.fromkeys(names, (size,)), use_scale=("scale", None), use_bias=("bias", None))

    return make


def _nnx_attention(of: Layer) -> Arrays | None:
    heads, inside = of.size("num_heads", 0), of.size("in_features", 1)
    inner, outside = of.size("qkv_features", 2, inside), of.size("out_features", 3, inside)
    if not heads or inner is None or of.is_given("num_kv_heads", "in_kv_features", "normalize_qk"):
        return None
    each = inner // heads
    found: Arrays = {}
    for name in ("query", "key", "value"):
        found |= {f"{name}.kernel": (inside, heads, each), f"{name}.bias": (heads, each)}
    found |= {"out.kernel": (heads, each, outside), "out.bias": (outside,)}
    return of.kept(found, use_bias=("query.bias key.bias value.bias out.bias", None))


_NNX: dict[str, _Maker] = {
    "Linear": _nnx_linear,
    "Conv": _nnx_conv,
    "ConvTranspose": _nnx_conv,
    "Embed": _nnx_embed,
    "LayerNorm": _nnx_norm("scale", "bias"),
    "RMSNorm": _nnx_norm("scale"),
    "GroupNorm": _nnx_norm("scale", "bias"),
    "BatchNorm": _nnx_norm("scale", "bias", "mean", "var"),
    "MultiHeadAttention": _nnx_attention,
}


_LAYERS = {"equinox.nn": _EQUINOX, "flax.nnx": _NNX}
_OTHERS = frozenset(
    words(
        "MultiheadAttention ConvTranspose BatchNorm GroupNorm RMSNorm PReLU LinearGeneral Einsum GRUCell LSTMCell "
        "OptimizedLSTMCell SimpleCell LoRA LoRALinear"
    )
)
"""Layers with arrays of which the sizes are not told."""


# ---------------------------------------------------------------- what is put together, and taken apart


def _wrapped(given: Call) -> Value:
    """`nnx.Param(array)` is used like the array."""
    return given.args[0] if isinstance(given.args[0], Array) else SOMEWHERE


def _sequential(given: Call) -> Value:
    """Layers one after the other: a list of them, or each as an argument."""
    many = given.args
    if len(many) == 1 and isinstance(many[0], Sequence):
        many = list(many[0].items or [SOMEWHERE])
    return Tree(tuple(_numbered(".layers", many)))


def _list(given: Call) -> Value:
    many = given.args[0].items if isinstance(given.args[0], Sequence) else None
    return SOMEWHERE if many is None else Tree(tuple(_numbered("", list(many))))


def _numbered(start: str, many: list[Value]) -> Iterator[tuple[str, Array]]:
    for number, value in enumerate(many):
        for path, array, _ in leaves(value, f"{start}[{number}]"):
            yield path, array


def _is_model(value: Value) -> bool:
    return isinstance(value, (Tree, Instance))


def _state(given: Call) -> Value:
    """The arrays under keys instead of attributes."""
    model = given.args[0]
    if isinstance(model, Tree) and len(given.args) == 1:
        return Tree(tuple((_ATTRIBUTE.sub(r"['\1']", path), array) for path, array in model.arrays))
    return SOMEWHERE if _is_model(model) else UNKNOWN


_ATTRIBUTE = re.compile(r"\.(\w+)")


def _split(given: Call) -> Value:
    """The structure, which has no arrays, and a part with arrays for each filter."""
    many = max(1, len(given.args) - 1)
    return Sequence((UNKNOWN, *[_state(given)] * many))


_ARE_ARRAYS = [[External(f"equinox.{name}")] for name in ("is_array", "is_inexact_array")]


def _partition(given: Call) -> Sequence:
    model = given.args[0]
    if isinstance(model, Tree) and given.args[1:] in _ARE_ARRAYS:
        return Sequence((model, UNKNOWN))
    return Sequence((SOMEWHERE if _is_model(model) else UNKNOWN, UNKNOWN))


def _same(given: Call) -> Value:
    """A changed copy, with arrays of the same sizes."""
    return given.args[0] if _is_model(given.args[0]) else UNKNOWN


_FUNCTIONS: dict[str, Callable[[Call], Value]] = {
    **{f"flax.nnx.{name}": _wrapped for name in words("Param Variable BatchStat Cache")},
    "flax.nnx.Sequential": _sequential,
    "equinox.nn.Sequential": _sequential,
    "flax.nnx.List": _list,
    "flax.nnx.split": _split,
    "flax.nnx.state": _state,
    "equinox.partition": _partition,
    "equinox.filter": lambda given: _partition(given).item(0),
    "equinox.nn.inference_mode": _same,
    "equinox.apply_updates": _same,
}
