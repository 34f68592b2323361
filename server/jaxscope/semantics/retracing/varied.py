"""Compiled functions that are called with something else each time: static values, shapes, ways of passing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.compiled.callers import CompiledCall, LibraryCall
from jaxscope.semantics.compiled.repetition import runs_again
from jaxscope.semantics.compiled.varying import Loop, bindings_in, loops_around, names_in, varying_names
from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import Array, Const, External, Instance, Value, number
from jaxscope.semantics.names.scopes import Binding, Block, Scope
from jaxscope.semantics.retracing.fresh import hashes_by_identity, made, only_binding
from jaxscope.semantics.retracing.growing import JOINING, grows, is_joined
from jaxscope.semantics.retracing.static_use import Use, use_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

ShapeCause = Literal["length", "grows", "last batch"]
Cause = Literal["unhashable", "new function", "new object", "number", "style"] | ShapeCause
_UNHASHABLE = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
_MAKING_ONE = JOINING | {"array", "asarray", "stack"}
"""Functions that make one array of a list."""
_SIZED = frozenset(("zeros", "ones", "full", "empty", "arange", "linspace", "eye"))


@dataclass(frozen=True, slots=True)
class Varied:
    """One argument of one call."""

    cause: Cause
    call: CompiledCall
    parameter: str
    node: ast.expr
    """The argument, or what of it varies."""
    sure: bool
    loop: Loop | None = None
    """The loop in which it varies."""
    use: Use = "unknown"
    """What the function needs a static number for."""
    other: CompiledCall | None = None
    """The call that passes it in the other way."""

    @property
    def is_marked_nowhere(self) -> bool:
        """Is it static because it is a Python number, rather than by an option?"""
        return self.cause == "number" and self.parameter not in self.call.statics


@dataclass(frozen=True, slots=True)
class Shape:
    """An array, or a list of arrays, whose shape varies."""

    cause: ShapeCause
    node: ast.expr
    sure: bool
    loop: Loop
    """In which it varies."""


@dataclass(frozen=True, slots=True)
class Resized:
    """One argument of one call of a library's function."""

    call: LibraryCall
    argument: ast.expr
    shape: Shape


def of_library_call(ev: Evaluator, call: LibraryCall) -> Iterator[Resized]:
    """What has another shape each time that a call is made."""
    for node in (*call.node.args, *(word.value for word in call.node.keywords)):
        shape = _shape(ev, call, node)
        if shape is not None:
            yield Resized(call, node, shape)


def of_call(ev: Evaluator, model: FileModel, call: CompiledCall) -> Iterator[Varied]:
    """What differs each time that a call is made."""
    statics = dict.fromkeys(call.statics)
    own = parameters(call.function.function_node)
    func = call.node.func
    if call.receiver and own[:1] and own[0] in statics and isinstance(func, ast.Attribute):
        found = _object(ev, call, own[0], func.value)
        if found is not None:
            yield found
    for name, node in call.given:
        if name in statics:
            one = _static(ev, call, name, node)
        else:
            one = (_number(ev, call, name, node) if call.anew else None) or _reshaped(ev, call, name, node)
        if one is not None:
            yield one


# ---------------------------------------------------------------- static arguments


def _static(ev: Evaluator, call: CompiledCall, name: str, node: ast.expr) -> Varied | None:
    value = _value(ev, node, call.scope)
    if isinstance(_source(ev, node, call.scope), _UNHASHABLE) or (isinstance(value, Array) and not _is_scalar(value)):
        return Varied("unhashable", call, name, node, True)
    found = _object(ev, call, name, node)
    if found is not None:
        return found
    fresh = made(ev, node, call.scope, call.block)
    if fresh is not None and fresh.kind != "bound method":
        again = runs_again(ev, fresh.scope, fresh.block, fresh.node)
        if again is None or again.why == "called from outside":
            return None
        return Varied("new function", call, name, node, again.why != "called several times")
    return _number(ev, call, name, node)


def _number(ev: Evaluator, call: CompiledCall, name: str, node: ast.expr) -> Varied | None:
    """A Python number that is another one in each iteration."""
    value = _value(ev, node, call.scope)
    if number(value) in ("int", "float", "complex") and _is_new_each_time(_source(ev, node, call.scope)):
        loop = _changing_loop(ev, node, call.scope, call.block)
        if loop is not None:
            use = use_of(ev, call.function, name, hands_numbers_on=bool(call.anew))
            innermost = loops_around(call.scope, call.block)[0] == loop
            return Varied("number", call, name, node, use in ("array", "exponent") and innermost, loop, use)
    return None


def _is_scalar(value: Array) -> bool:
    """May it be a NumPy scalar, which can be hashed?"""
    return value.library == "numpy" and value.shape in ((), None)


def _is_new_each_time(node: ast.expr) -> bool:
    """Is it arithmetic, or a number made of data? `min(size, rest)` and `i % 2` are the same most of the time."""
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Mod, ast.FloorDiv)):
            return False
        if isinstance(one, (ast.Compare, ast.IfExp, ast.BoolOp)):
            return False
        if isinstance(one, ast.Call) and not (
            (isinstance(one.func, ast.Name) and one.func.id in ("float", "int"))
            or (isinstance(one.func, ast.Attribute) and one.func.attr == "item")
        ):
            return False
    return True


def _object(ev: Evaluator, call: CompiledCall, name: str, node: ast.expr) -> Varied | None:
    """An object of a class that compares by identity, made in the loop that it is used in."""
    value = _value(ev, node, call.scope)
    if not isinstance(value, Instance) or not hashes_by_identity(ev, value.cls):
        return None
    where = _source(ev, node, call.scope)
    if not isinstance(where, ast.Call):
        return None
    loops = loops_around(call.scope, call.block)
    if where is not node:
        loops = [
            loop for loop in loops if any(one.value is where for many in bindings_in(loop).values() for one in many)
        ]
    if loops:
        return Varied("new object", call, name, node, True, loops[0])
    again = runs_again(ev, call.scope, call.block, call.node)
    if again is None or again.why != "called in a loop":
        return None
    return Varied("new object", call, name, node, True)


def _source(ev: Evaluator, node: ast.expr, scope: Scope) -> ast.expr:
    """`node`, or what the name is bound to if that is the only thing."""
    binding = only_binding(ev, node, scope)
    if binding is None or binding.kind != "assign" or binding.value is None or binding.path:
        return node
    return binding.value


def _value(ev: Evaluator, node: ast.expr, scope: Scope) -> Value:
    return ev.evaluate(node, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))


def _changing_loop(ev: Evaluator, node: ast.expr, scope: Scope, block: Block) -> Loop | None:
    """The innermost loop around a place in which an expression differs from one iteration to the next."""
    names = set(names_in(node))
    for loop in loops_around(scope, block):
        if not names.isdisjoint(varying_names(ev, loop)):
            return loop
    return None


# ---------------------------------------------------------------- shapes


def _reshaped(ev: Evaluator, call: CompiledCall, name: str, node: ast.expr) -> Varied | None:
    shape = _shape(ev, call, node)
    return Varied(shape.cause, call, name, shape.node, shape.sure, shape.loop) if shape is not None else None


def _shape(ev: Evaluator, call: CompiledCall | LibraryCall, node: ast.expr) -> Shape | None:
    loops = loops_around(call.scope, call.block)
    source = _source(ev, node, call.scope) if loops else node
    if source is node or any(
        one.value is source for loop in loops for many in bindings_in(loop).values() for one in many
    ):
        found = _sliced(ev, call.scope, source, loops) or _sized(ev, call, source, loops)
        if found is not None:
            return found
    growing = (loop for loop in loops if grows(ev, node, loop, call.scope, call.block))
    return next((Shape("grows", node, loop is loops[0], loop) for loop in growing), None)


def _sliced(ev: Evaluator, scope: Scope, node: ast.expr, loops: list[Loop]) -> Shape | None:
    """`data[:n]`: as long as the loop's variable says; `data[i : i + size]`: shorter at the end of the data."""
    if not isinstance(node, ast.Subscript):
        return None
    for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(index, ast.Slice):
            continue
        for loop in loops:
            varying = _numbers(ev, loop)
            low, high = (_depends(end, varying) for end in (index.lower, index.upper))
            if low != high:
                return Shape("length", node, loop is loops[0], loop)
            if low and high and _may_be_short(ev, index, loop, scope):
                return Shape("last batch", node, False, loop)
    return None


def _numbers(ev: Evaluator, loop: Loop) -> set[str]:
    """Varying names that are whole numbers."""
    found = set()
    for name, bindings in varying_names(ev, loop).items():
        given = [one for one in bindings if one.kind != "augmented"]
        if all(number(_bound_value(ev, one)) == "int" for one in given):
            found.add(name)
    return found


def _bound_value(ev: Evaluator, binding: Binding) -> Value:
    scope = binding.scope
    return ev.binding_value(binding, ev.generic_frame(scope, ev.model_of(scope.module_part())))


def _depends(end: ast.expr | None, varying: set[str]) -> bool:
    return end is not None and not varying.isdisjoint(names_in(end))


def _may_be_short(ev: Evaluator, index: ast.Slice, loop: Loop, scope: Scope) -> bool:
    """`for i in range(0, n, size): data[i : i + size]`, unless `n` is known to be a multiple of `size`."""
    low, high, over = index.lower, index.upper, loop.first
    if not isinstance(low, ast.Name) or not isinstance(high, ast.BinOp) or not isinstance(high.op, ast.Add):
        return False
    if ast.unparse(high.left) != low.id or not isinstance(over, ast.Call) or len(over.args) != 3:
        return False
    stop, step = over.args[1], over.args[2]
    if ast.unparse(step) != ast.unparse(high.right) or "-" in ast.unparse(stop) or "//" in ast.unparse(stop):
        return False
    end, size = (_value(ev, one, scope) for one in (stop, step))
    known = [one.value for one in (end, size) if isinstance(one, Const) and isinstance(one.value, int)]
    return not (len(known) == 2 and known[1] and known[0] % known[1] == 0)


def _sized(ev: Evaluator, call: CompiledCall | LibraryCall, node: ast.expr, loops: list[Loop]) -> Shape | None:
    """`jnp.zeros(n)`; `jnp.array(history)` of a list that grows; `xs = jnp.append(xs, x)`."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    word = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    callee = _value(ev, node.func, call.scope)
    if not isinstance(callee, External) or not callee.name.startswith(("jax.numpy.", "numpy.")):
        return None
    for loop in loops:
        if word in _SIZED and _depends(node.args[0], _numbers(ev, loop)):
            return Shape("length", node, loop is loops[0], loop)
        if word in _MAKING_ONE and grows(ev, node.args[0], loop, call.scope, call.block):
            return Shape("grows", node, loop is loops[0], loop)
        bound = (key for key, many in bindings_in(loop).items() if any(one.value is node for one in many))
        if any(is_joined(ev, name, node, call.scope) for name in bound):
            return Shape("grows", node, loop is loops[0], loop)
    return None


# ---------------------------------------------------------------- by position and by keyword


def by_style(calls: list[CompiledCall]) -> Iterator[Varied]:
    """The first call of each function that passes by keyword what an earlier one passes by position, or the reverse."""
    first: dict[int, dict[str, tuple[bool, CompiledCall]]] = {}
    told: set[int] = set()
    for call in calls:
        function = id(call.compiled_at)
        if call.starred or not call.given or function in told:
            continue
        keywords = {one.arg for one in call.node.keywords}
        known = first.setdefault(function, {})
        for name, node in call.given:
            by_keyword, other = known.setdefault(name, (name in keywords, call))
            if by_keyword is not (name in keywords):
                told.add(function)
                same = [key for key, _ in other.given] == [key for key, _ in call.given]
                together = call.scope.owner() is other.scope.owner()
                yield Varied("style", call, name, node, same and together, other=other)
                break
