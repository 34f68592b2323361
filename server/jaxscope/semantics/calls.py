"""Calls: of the project's own functions and classes, of transforms, and of library functions."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jaxscope.semantics import builtin_calls, library, objects
from jaxscope.semantics.arrays import as_array, as_shape, reshaped
from jaxscope.semantics.dtypes import from_value, narrowed
from jaxscope.semantics.frames import Frame
from jaxscope.semantics.scopes import Binding, FunctionNode, Scope
from jaxscope.semantics.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Made,
    Mapping,
    Method,
    PartialValue,
    Scalar,
    Sequence,
    Transformed,
    TupleType,
    Value,
    join,
)
from jaxscope.semantics.vocabulary import ARRAY_TYPES, Transform, canonical, transform, words

if TYPE_CHECKING:
    from jaxscope.semantics.evaluate import Evaluator

_DEEPEST = 12
_MOST_CALLS = 8
_PARTIALS = ("functools.partial", "jax.tree_util.Partial")
_GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")
_MOVES = ("jax.device_put", "jax.lax.with_sharding_constraint", "jax.lax.stop_gradient")
_SAME_SHAPE_NN = frozenset(
    words(
        "relu relu6 gelu silu swish sigmoid softplus softmax log_softmax tanh elu selu leaky_relu soft_sign "
        "log_sigmoid"
    )
)


class Given:
    """Evaluated arguments of one call."""

    __slots__ = ("args", "keywords", "starred")

    def __init__(self, args: list[Value], keywords: dict[str, Value], starred: bool) -> None:
        self.args = args
        self.keywords = keywords
        self.starred = starred
        """Are there `*args` or `**kwargs` whose items are not known?"""


def arguments(ev: Evaluator, node: ast.Call, scope: Scope, frame: Frame) -> Given:
    """Evaluates the arguments of a call."""
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    starred = False
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            many = ev.evaluate(argument.value, scope, frame)
            if isinstance(many, Sequence) and many.items is not None and not starred:
                args += many.items
            else:
                starred = True
        elif not starred:
            args.append(ev.evaluate(argument, scope, frame))
    for keyword in node.keywords:
        value = ev.evaluate(keyword.value, scope, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping) and value.element == UNKNOWN:
            keywords.update((str(key), item) for key, item in value.items)
        else:
            starred = True
    return Given(args, keywords, starred)


def evaluate_call(ev: Evaluator, node: ast.Call, scope: Scope, frame: Frame) -> Value:
    """Value of a call expression."""
    callee = ev.evaluate(node.func, scope, frame)
    if callee == UNKNOWN:
        return UNKNOWN
    return call_value(ev, callee, arguments(ev, node, scope, frame), node, frame)


def call_value(ev: Evaluator, callee: Value, given: Given, node: ast.AST, frame: Frame) -> Value:
    """What `callee` gives for arguments."""
    if isinstance(callee, FunctionValue):
        return call_function(ev, callee, given, frame)
    if isinstance(callee, ClassValue):
        return objects.construct(ev, callee, given, frame)
    if isinstance(callee, External):
        return _call_external(ev, callee.name, given, node, frame)
    if isinstance(callee, Method):
        return _call_method(ev, callee, given, frame)
    if isinstance(callee, PartialValue):
        keywords = {**dict(callee.keywords), **given.keywords}
        return call_value(ev, callee.target, Given([*callee.args, *given.args], keywords, given.starred), node, frame)
    if isinstance(callee, Instance):
        method = objects.attribute(ev, callee, "__call__")
        return call_value(ev, method, given, node, frame) if isinstance(method, FunctionValue) else UNKNOWN
    if isinstance(callee, TupleType):
        return Sequence(_by_name(given, callee.fields), fields=callee.fields)
    if isinstance(callee, Transformed):
        if frame.traced:
            return TRACER
        if callee.transform.name in ("jax.jit", "jax.experimental.pjit.pjit", "jax.checkpoint"):
            result = call_value(ev, callee.target, given, node, frame)
            return result if isinstance(result, (Array, Sequence, Mapping)) else UNKNOWN
        return UNKNOWN
    return TRACER if callee is TRACER else UNKNOWN


def _by_name(given: Given, names: tuple[str, ...]) -> tuple[Value, ...]:
    values = dict(zip(names, given.args, strict=False)) | given.keywords
    return tuple(values.get(name, UNKNOWN) for name in names)


# ---------------------------------------------------------------- the project's functions


def parameters(node: FunctionNode) -> list[str]:
    """Names of parameters that can be given by position."""
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]


def bind(ev: Evaluator, scope: Scope, given: Given, home: Frame, bound: Value | None) -> dict[str, Value]:
    """Values of a function's parameters in one call; defaults are evaluated in `home`, the frame around it."""
    node = scope.function_node
    names = parameters(node)
    args = [bound, *given.args] if bound is not None else given.args
    values: dict[str, Value] = dict.fromkeys((argument.arg for argument in node.args.kwonlyargs), UNKNOWN)
    values.update(dict.fromkeys(names, UNKNOWN))
    if not given.starred:
        values.update(defaults(ev, scope, home))
    values.update(zip(names, args, strict=False))
    extra: dict[str, Value] = {}
    for key, value in given.keywords.items():
        (values if key in values else extra)[key] = value
    if node.args.vararg is not None:
        rest = tuple(args[len(names) :])
        values[node.args.vararg.arg] = Sequence(None) if given.starred else Sequence(rest)
    if node.args.kwarg is not None:
        values[node.args.kwarg.arg] = Mapping(tuple(extra.items()))
    return values


def defaults(ev: Evaluator, scope: Scope, home: Frame) -> dict[str, Value]:
    """Values of the parameters' defaults."""
    found = {}
    outer = scope.parent or scope
    for name, default in default_nodes(scope.function_node).items():
        found[name] = ev.evaluate(default, outer, home)
    return found


def default_nodes(node: FunctionNode) -> dict[str, ast.expr]:
    """Expressions of the parameters' defaults."""
    names = parameters(node)
    count = len(node.args.defaults)
    found = dict(zip(names[len(names) - count :], node.args.defaults, strict=True)) if count else {}
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            found[argument.arg] = default
    return found


def call_function(ev: Evaluator, function: FunctionValue, given: Given, frame: Frame) -> Value:
    """Result of calling a function of the project."""
    scope = function.scope
    if frame.depth > _DEEPEST or scope.is_generator or isinstance(scope.node, ast.AsyncFunctionDef):
        return UNKNOWN
    values = bind(ev, scope, given, function.frame, function.bound)
    key: Any = (id(scope), id(function.frame), frame.traced, tuple(values.items()))
    try:
        if key in ev.results:
            return ev.results[key]
    except TypeError:
        key = None
    inner = Frame(scope, function.frame.model, function.frame, values, traced=frame.traced, depth=frame.depth + 1)
    if key is not None:
        ev.results[key] = UNKNOWN
    result = join([ev.evaluate(value, scope, inner) for value in scope.returns]) if scope.returns else Const(None)
    if key is not None:
        ev.results[key] = result
    return result


def passed(ev: Evaluator, frame: Frame, name: str) -> Value:
    """What every call in sight passes for a parameter of the function of a generic frame."""
    key = ("parameter", name)
    if key in frame.cache:
        return frame.cache[key]
    frame.cache[key] = UNKNOWN
    frame.cache[key] = value = _passed(ev, frame, name)
    return value


def _passed(ev: Evaluator, frame: Frame, name: str) -> Value:
    scope = frame.scope
    owner = scope.parent
    in_class = owner is not None and owner.kind == "class"
    if in_class and owner is not None and objects.is_self(scope, name):
        cls = ClassValue(owner, ev.frame_of(owner, frame))
        return cls if objects.has_decorator(scope, "classmethod") else Instance(cls, None)
    values = []
    for call, where in objects.calls_of(ev, scope, frame)[:_MOST_CALLS]:
        given = arguments(ev, call, where, ev.generic_frame(where, frame.model))
        bound = UNKNOWN if in_class and not objects.has_decorator(scope, "staticmethod") else None
        values.append(bind(ev, scope, given, frame.parent or frame, bound).get(name, UNKNOWN))
    value = join(values)
    if value != UNKNOWN:
        return value
    annotation = next((a.annotation for a in _all_arguments(scope.function_node) if a.arg == name), None)
    return annotated(ev, annotation, scope.parent or scope, frame.parent or frame)


def _all_arguments(node: FunctionNode) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def annotated(ev: Evaluator, annotation: ast.expr | None, scope: Scope, frame: Frame) -> Value:
    """What an annotation says: an array of unknown size, a number, or nothing."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return UNKNOWN
        plain = isinstance(annotation, (ast.Name, ast.Attribute))
        return _array_type(ev, annotation, scope, frame) if plain else UNKNOWN
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice.elts[0] if isinstance(annotation.slice, ast.Tuple) and annotation.slice.elts else None
        return _array_type(ev, inner, scope, frame) if inner is not None else UNKNOWN
    return UNKNOWN if annotation is None else _array_type(ev, annotation, scope, frame)


def _array_type(ev: Evaluator, node: ast.expr, scope: Scope, frame: Frame) -> Value:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return UNKNOWN
    value: Value = ev.lookup(root.id, scope, frame)
    for name in _attributes(node):
        value = ev.attribute(value, name, frame)
    if isinstance(value, External) and value.name in ARRAY_TYPES:
        return Array(None, None, "numpy" if value.name.startswith("numpy") else "jax")
    if isinstance(value, External) and value.name in ("builtins.int", "builtins.float", "builtins.bool"):
        return Scalar(value.name.rpartition(".")[2])
    return Instance(value, None) if isinstance(value, ClassValue) else UNKNOWN


def _attributes(node: ast.expr) -> list[str]:
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return names[::-1]


def appended(ev: Evaluator, binding: Binding, frame: Frame) -> Value:
    """A list that starts empty: what is appended to it in the same scope."""
    values = []
    for call, where in frame.model.calls_named("append", within=binding.scope.owner()):
        target = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(target, ast.Name) and target.id == binding.name and len(call.args) == 1:
            values.append(ev.evaluate(call.args[0], where, ev.frame_of(where, frame)))
    return Sequence(None, join(values)) if values else Sequence(())


# ---------------------------------------------------------------- transforms and libraries


def _call_external(ev: Evaluator, name: str, given: Given, node: ast.AST, frame: Frame) -> Value:
    entry = transform(name)
    if entry is not None:
        return _apply_transform(entry, given, node, frame)
    if name in _PARTIALS:
        if not given.args:
            return UNKNOWN
        keywords = tuple(given.keywords.items())
        return PartialValue(name, given.args[0], tuple(given.args[1:]), keywords, node, frame)
    module, _, tail = name.rpartition(".")
    if module == "builtins":
        return builtin_calls.call(ev, tail, given.args, given.keywords, frame)
    if name in ("jax.tree_util.tree_map",) and len(given.args) > 1:
        return _tree_map(ev, given, node, frame)
    if name in ("copy.deepcopy", "copy.copy", "jax.block_until_ready", "jax.lax.stop_gradient") and given.args:
        return given.args[0]
    if name == "collections.namedtuple" and len(given.args) > 1:
        return _named_tuple(given.args[1])
    if module == "math":
        return _math(tail, given.args)
    return _array_call(ev, module, tail, given, frame)


def _array_call(ev: Evaluator, module: str, tail: str, given: Given, frame: Frame) -> Value:
    if given.starred and TRACER not in given.args:
        given = Given([*given.args, UNKNOWN], given.keywords, True)
    if module.startswith("jax"):
        if frame.traced and module != "jax.tree_util":
            return TRACER
        call = ev.library_call(given.args, frame, given.keywords)
        call.library = "jax"
        if module == "jax.random":
            return library.jax_random(tail, call)
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
        return library.numpy_random(tail, call)
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
    if first in (UNKNOWN, TRACER) or isinstance(first, Instance):
        return TRACER if TRACER in trees else UNKNOWN
    return call_value(ev, function, Given(list(trees), {}, False), node, frame)


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


def _call_method(ev: Evaluator, callee: Method, given: Given, frame: Frame) -> Value:
    owner, name = callee.owner, callee.name
    if isinstance(owner, Array):
        return _array_method(ev, owner, name, given, frame)
    if isinstance(owner, Made) and owner.name in _GENERATOR_METHODS:
        call = ev.library_call([], frame, given.keywords)
        call.args, call.library = given.args, "numpy"
        return library.numpy_random(name, call)
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


def canonical_name(value: Value) -> str | None:
    """Dotted name of an external value."""
    return canonical(value.name) if isinstance(value, External) else None
