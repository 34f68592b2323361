"""Calls of what is not the project's own: transforms, array libraries, builtins, methods of arrays and containers."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jaxscope.semantics.evaluation import builtin_calls
from jaxscope.semantics.evaluation.arguments import Given
from jaxscope.semantics.evaluation.arrays import Call, as_array, as_shape, reshaped
from jaxscope.semantics.evaluation.dtypes import from_value, narrowed
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    SOMEWHERE,
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    External,
    Instance,
    Made,
    Mapping,
    Method,
    PartialValue,
    Scalar,
    Sequence,
    Transformed,
    Tree,
    TupleType,
    Value,
)
from jaxscope.semantics.library import functions as library
from jaxscope.semantics.library import layers
from jaxscope.semantics.library import random as library_random
from jaxscope.semantics.vocabulary import LINEN_LIFTS, PARTIALS, Transform, transform, words

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

_GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")
_MOVES = ("jax.device_put", "jax.lax.with_sharding_constraint", "jax.lax.stop_gradient")
_SAME_SHAPE_NN = frozenset(
    words(
        "relu relu6 gelu silu swish sigmoid softplus softmax log_softmax tanh elu selu leaky_relu soft_sign log_sigmoid"
    )
)


_FOLLOWED = frozenset(words("jax numpy scipy builtins math copy types collections functools flax equinox"))
"""Packages of which some functions are known."""


def whatever_given(name: str, frame: Frame) -> Value | None:
    """What calling `name` gives if that does not depend on the arguments; else None."""
    module = name.rpartition(".")[0]
    if not frame.traced:
        return UNKNOWN if module.partition(".")[0] not in _FOLLOWED and transform(name) is None else None
    if module.startswith("jax") and module not in ("jax", "jax.tree_util", "jax.lax") and transform(name) is None:
        return TRACER
    return None


def call_external(ev: Evaluator, name: str, given: Given, node: ast.AST, frame: Frame) -> Value:
    """What calling `name`, a dotted name from outside the project, gives."""
    entry = transform(name)
    if entry is not None:
        return _apply_transform(entry, given, node, frame)
    if name in LINEN_LIFTS and given.args and isinstance(given.args[0], ClassValue):
        return given.args[0]
    if name in PARTIALS:
        if not given.args:
            return UNKNOWN
        keywords = tuple(given.keywords.items())
        return PartialValue(name, given.args[0], tuple(given.args[1:]), keywords, node, frame)
    if layers.is_known(name):
        return TRACER if frame.traced else _layer(ev, name, given, frame)
    module, _, tail = name.rpartition(".")
    if module == "builtins":
        return builtin_calls.call(ev, tail, given.args, given.keywords, frame)
    if name in ("jax.tree_util.tree_map",) and len(given.args) > 1:
        return _tree_map(ev, given, node, frame)
    if name in ("copy.deepcopy", "copy.copy", "jax.block_until_ready", "jax.lax.stop_gradient") and given.args:
        return given.args[0]
    if name == "collections.namedtuple" and len(given.args) > 1:
        return _named_tuple(given.args[1])
    if name == "types.SimpleNamespace" and not given.args and not given.starred:
        return Sequence(tuple(given.keywords.values()), fields=tuple(given.keywords))
    if module == "math":
        return _math(tail, given.args)
    return _array_call(ev, module, tail, given, frame)


def _layer(ev: Evaluator, name: str, given: Given, frame: Frame) -> Value:
    if given.starred:
        return SOMEWHERE
    found = layers.call(name, Call(given.args, given.keywords, "jax", frame.model.x64))
    if not isinstance(found, Tree):
        return found
    return Tree(
        tuple(
            (path, replace(array, shape=None) if _is_assigned(ev, path, frame) else array)
            for path, array in found.arrays
        )
    )


def _is_assigned(ev: Evaluator, path: str, frame: Frame) -> bool:
    """May the array at `path` of a layer be another by now: `layer.kernel = …`, `layer.kernel.value = …`?"""
    name = path.rpartition(".")[2]
    inside = (write.node for write in ev.writes_from_outside(frame.model, "value"))
    return bool(ev.writes_from_outside(frame.model, name)) or any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == name
        for node in inside
    )


def _array_call(ev: Evaluator, module: str, tail: str, given: Given, frame: Frame) -> Value:
    if given.starred and TRACER not in given.args:
        given = Given([*given.args, UNKNOWN], given.keywords, True)
    if module.startswith("jax"):
        if frame.traced and module != "jax.tree_util":
            return TRACER
        call = ev.library_call(given.args, frame, given.keywords)
        call.library = "jax"
        if module == "jax.random":
            return library_random.jax_random(tail, call)
        if f"{module}.{tail}" in _MOVES:
            return _as_jax(given.args[0], call.x64) if given.args else UNKNOWN
        if module == "jax.nn":
            return _nn(tail, given, call)
        if module in ("jax.numpy", "jax.lax", "jax.scipy.special"):
            handler = library.array_function(tail)
            if handler is not None:
                return handler(call)
            return (library.dtype_call(tail, call) or UNKNOWN) if module == "jax.numpy" else UNKNOWN
        return UNKNOWN
    if TRACER in given.args:
        return TRACER
    if f"{module}.{tail}" in _GENERATORS:
        return Made("numpy.random.Generator")
    if module == "numpy.random":
        call = ev.library_call([], frame, given.keywords)
        call.args = given.args
        return library_random.numpy_random(tail, call)
    if module in ("numpy", "scipy.special"):
        handler = library.array_function(tail)
        call = ev.library_call(given.args, frame, given.keywords)
        if call.library == "jax" and frame.traced:
            return UNKNOWN
        call.library = "numpy"
        if tail == "prod" and given.args and (shape := as_shape(given.args[0])) is not None and None not in shape:
            return Const(math.prod(size for size in shape if size is not None))
        return handler(call) if handler is not None else library.dtype_call(tail, call) or UNKNOWN
    return UNKNOWN


def _apply_transform(entry: Transform, given: Given, node: ast.AST, frame: Frame) -> Value:
    options = dict(given.keywords)
    for position, name in entry.option_positions:
        if position < len(given.args):
            options.setdefault(name, given.args[position])
    if entry.loop or any(body.arguments == "given" for body in entry.bodies):
        return TRACER if frame.traced else UNKNOWN
    body = entry.bodies[0]
    target = given.args[0] if given.args else options.pop(body.name, None)
    if isinstance(target, ClassValue):
        return target  # flax.linen makes a class of a class
    if target is None:
        return PartialValue("options", External(entry.name), (), tuple(options.items()), None, frame)
    return Transformed(entry, target, tuple(options.items()), node, frame)


def _as_jax(value: Value, x64: bool) -> Value:
    if isinstance(value, Array):
        dtype = narrowed(value.dtype, x64)
        source = None if dtype == value.dtype else value.dtype
        return replace(value, library="jax", dtype=dtype, made=False, source=source)
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(_as_jax(item, x64) for item in value.items)
        return replace(value, items=items, element=_as_jax(value.element, x64))
    if isinstance(value, Mapping):
        return Mapping(tuple((key, _as_jax(item, x64)) for key, item in value.items), _as_jax(value.element, x64))
    return value


def _tree_map(ev: Evaluator, given: Given, node: ast.AST, frame: Frame) -> Value:
    function, *trees = given.args
    first = trees[0]
    if isinstance(first, (Sequence, Mapping)):

        def inner(pick: Any) -> Value:
            parts = [pick(tree) for tree in trees if isinstance(tree, type(first))]
            return _tree_map(ev, Given([function, *parts], {}, False), node, frame)

        if isinstance(first, Mapping):
            return Mapping(tuple((key, inner(lambda tree, key=key: tree.get(key))) for key, _ in first.items))
        if first.items is None:
            return replace(first, element=inner(lambda tree: tree.any_item()))
        return replace(first, items=tuple(inner(lambda tree, n=n: tree.item(n)) for n in range(len(first.items))))
    if first in (UNKNOWN, TRACER) or isinstance(first, (Instance, Tree)):
        return TRACER if TRACER in trees else UNKNOWN
    return ev.call(function, Given(list(trees), {}, False), node, frame)


def _named_tuple(fields: Value) -> Value:
    if isinstance(fields, Const) and isinstance(fields.value, str):
        return TupleType(tuple(fields.value.replace(",", " ").split()))
    if isinstance(fields, Sequence) and fields.items is not None:
        names = [item.value for item in fields.items if isinstance(item, Const)]
        if len(names) == len(fields.items):
            return TupleType(tuple(str(name) for name in names))
    return UNKNOWN


def _math(tail: str, args: list[Value]) -> Value:
    if tail == "prod" and args and (shape := as_shape(args[0])) is not None and None not in shape:
        return Const(math.prod(size for size in shape if size is not None))
    numbers = [v.value for v in args if isinstance(v, Const) and isinstance(v.value, (int, float))]
    function = getattr(math, tail, None)
    if len(numbers) == len(args) and tail in ("ceil", "floor", "sqrt", "log2", "log", "exp", "gcd", "isqrt"):
        try:
            return Const(function(*numbers)) if function is not None else UNKNOWN
        except (ArithmeticError, TypeError, ValueError):
            return UNKNOWN
    return Scalar("int" if tail in ("ceil", "floor", "gcd", "isqrt", "comb", "factorial", "prod") else "float")


def _nn(tail: str, given: Given, call: Any) -> Value:
    first = given.args[0] if given.args else UNKNOWN
    if tail in _SAME_SHAPE_NN and isinstance(first, Array):
        return replace(first, library="jax")
    if tail == "one_hot":
        base = as_array(first, call)
        count = given.args[1] if len(given.args) > 1 else given.keywords.get("num_classes", UNKNOWN)
        classes = count.value if isinstance(count, Const) and isinstance(count.value, int) else None
        shape = None if base is None or base.shape is None else (*base.shape, classes)
        made: Value = call.array(shape, call.dtype(None, call.float))
        return made
    return UNKNOWN


_SAME_METHODS = frozenset(("copy", "block_until_ready", "conj", "clip", "round"))
_GENERATOR_METHODS = frozenset(("numpy.random.Generator",))


def call_method(ev: Evaluator, callee: Method, given: Given, frame: Frame) -> Value:
    """What calling a method of an array, a random generator, a dict or a list gives."""
    owner, name = callee.owner, callee.name
    if isinstance(owner, Array):
        return _array_method(ev, owner, name, given, frame)
    if isinstance(owner, Made) and owner.name in _GENERATOR_METHODS:
        call = ev.library_call([], frame, given.keywords)
        call.args, call.library = given.args, "numpy"
        return library_random.numpy_random(name, call)
    if isinstance(owner, Mapping):
        if name == "values":
            return Sequence(tuple(item for _, item in owner.items)) if owner.items else Sequence(None, owner.element)
        if name == "keys":
            return Sequence(tuple(Const(key) for key, _ in owner.items))
        if name == "items":
            return Sequence(tuple(Sequence((Const(key), item)) for key, item in owner.items))
        if name == "get" and given.args and isinstance(given.args[0], Const):
            return owner.get(given.args[0].value)
        if name == "copy":
            return owner
    if isinstance(owner, Sequence) and name == "copy":
        return owner
    return UNKNOWN


def _array_method(ev: Evaluator, owner: Array, name: str, given: Given, frame: Frame) -> Value:
    if name == "item":
        return Scalar("float")
    if name in ("tolist", "tobytes"):
        return UNKNOWN
    if frame.traced and owner.library == "jax":
        return TRACER
    if name.startswith("at[]."):
        return owner
    if name in _SAME_METHODS:
        return owner
    call = ev.library_call([owner, *given.args], frame, given.keywords)
    if name == "astype":
        dtype = call.dtype(1, None)
        kept = dtype if owner.library == "numpy" else narrowed(dtype, call.x64)
        return replace(owner, dtype=kept, source=None if kept == dtype else dtype)
    if name == "reshape":
        flat = given.args[0] if len(given.args) == 1 else Sequence(tuple(given.args))
        return reshaped(owner, as_shape(flat))
    if name == "transpose" and len(given.args) > 1:
        call.args = [owner, Sequence(tuple(given.args))]
    if name in ("flatten", "ravel"):
        return reshaped(owner, (-1,))
    if name == "view":
        return replace(owner, shape=None, dtype=from_value(given.args[0]) if given.args else owner.dtype)
    handler = library.array_function(name)
    return UNKNOWN if handler is None else handler(call)
