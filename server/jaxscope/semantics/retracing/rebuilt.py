"""Compiled functions that are made anew again and again: JAX traces each of them, though the code is the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.compiled.repetition import Again, block_of, runs_again
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.compiled.varying import loops_around, names_in, varying_names
from jaxscope.semantics.evaluation import objects
from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import (
    UNKNOWN,
    Array,
    External,
    FunctionValue,
    Mapping,
    Sequence,
    Transformed,
    Value,
    number,
)
from jaxscope.semantics.names.methods import has_decorator
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.retracing.fresh import Fresh, keeps_results, made, made_by
from jaxscope.semantics.retracing.outcomes import Call, Outcome, outcome, outcome_of_definition
from jaxscope.semantics.vocabulary import TRANSFORMS, transform

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

LOOPS = frozenset(
    name.rpartition(".")[2]
    for name, entry in TRANSFORMS.items()
    if entry.loop and entry.compiles and name != "jax.lax.map"
)
"""`lax.map` makes a function of its own each time, whatever it is given."""
Varies = Literal["nothing", "values", "unknown"]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """One place that compiles a new function object each time that it runs."""

    node: ast.expr
    """The decorator or call that compiles."""
    scope: Scope
    """Where that stands."""
    fresh: Fresh
    again: Again
    name: str
    """What is compiled, as the user wrote it."""
    sure: bool
    """Is it certain that this costs a trace each time, and that it need not?"""
    varies: Varies
    """What the function takes from around it that differs from one time to the next."""
    names: tuple[str, ...]
    """Names of that."""
    transform: str
    eager: tuple[Scope, ...]
    """Functions around it: when one of them is traced itself, this costs nothing."""


def of_decorated(ev: Evaluator, site: Site) -> Rebuilt | None:
    """A definition that its decorator compiles, if each run of the code around it compiles another function object."""
    assert site.binding is not None
    fresh = made_by(ev, site.binding)
    ends = outcome_of_definition(ev, site.binding.node, site.scope)
    return _rebuilt(ev, site.node, site.scope, fresh, ends, site.binding.name, site.transform)


def of_call(ev: Evaluator, model: FileModel, call: ast.Call, scope: Scope) -> Rebuilt | None:
    """What a call compiles, known or not, if each run of it compiles another function object."""
    value = ev.evaluate(call, scope, ev.generic_frame(scope, model))
    given = function_argument(call)
    if not isinstance(value, Transformed) or not value.transform.is_jit or value.call is not call or given is None:
        return None
    block = block_of(scope, call)
    fresh = made(ev, given, scope, block)
    ends = outcome(ev, call, scope, block)
    return _rebuilt(ev, call, scope, fresh, ends, _name(given, ends), value.transform.name.rpartition(".")[2])


def _rebuilt(
    ev: Evaluator, node: ast.expr, scope: Scope, fresh: Fresh | None, ends: Outcome, name: str, transform: str
) -> Rebuilt | None:
    again = None if fresh is None else runs_again(ev, fresh.scope, fresh.block, fresh.node)
    if fresh is None or again is None or ends.kept or any(keeps_results(one) for one in again.through):
        return None
    sure = _sure(ev, fresh, again, ends)
    if sure is None:
        return None
    varies, names = _varying(ev, fresh, again)
    sure = sure and varies != "unknown"
    return Rebuilt(
        node,
        scope,
        fresh,
        again,
        name,
        sure,
        varies,
        names,
        transform,
        (*_functions(scope), *again.through),
    )


def of_loop(ev: Evaluator, model: FileModel, call: ast.Call, scope: Scope) -> Rebuilt | None:
    """The body of a `lax` loop that runs outside of any compiled function, if it is a new one each time."""
    callee = ev.evaluate(call.func, scope, ev.generic_frame(scope, model))
    entry = transform(callee.name) if isinstance(callee, External) else None
    if entry is None or not entry.loop or not entry.compiles:
        return None
    block = block_of(scope, call)
    again = runs_again(ev, scope, block, call)
    if again is None or again.why not in ("loop", "called in a loop") or not _is_program(ev, scope, 0):
        return None
    for body in entry.bodies:
        node = call.args[body.position] if body.position < len(call.args) else None
        node = node or next((one.value for one in call.keywords if one.arg == body.name), None)
        fresh = made(ev, node, scope, block) if node is not None else None
        anew = None if fresh is None else runs_again(ev, fresh.scope, fresh.block, fresh.node)
        if fresh is not None and anew is not None and anew.why in ("loop", "called in a loop") and node is not None:
            varies, names = _varying(ev, fresh, anew)
            around = (*_functions(scope), *again.through, *anew.through)
            name = "<lambda>" if isinstance(node, ast.Lambda) else ast.unparse(node)
            short = entry.name.rpartition(".")[2]
            return Rebuilt(call, scope, fresh, anew, name, varies != "unknown", varies, names, short, around)
    return None


def function_argument(call: ast.Call) -> ast.expr | None:
    """What a transform is given as the function."""
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    return next((one.value for one in call.keywords if one.arg in ("fun", "f", "fn", "target")), None)


def _name(given: ast.expr, ends: Outcome) -> str:
    if isinstance(given, ast.Lambda):
        return ends.name.id if isinstance(ends.name, ast.Name) else "<lambda>"
    return ast.unparse(given)


# ---------------------------------------------------------------- is each one traced?


def _sure(ev: Evaluator, fresh: Fresh, again: Again, ends: Outcome) -> bool | None:
    """Is each of them called, so that each is traced? None: nothing says so."""
    if not ends.calls:
        return True if ends.returned and again.why == "called in a loop" and _result_called(ev, again) else None
    once = not any(_is_inner(call, fresh) for call in ends.calls)
    if again.why in ("loop", "called in a loop"):
        return None if ends.returned and again.why == "loop" else True
    if again.why == "called several times":
        return _together(ev, again) if once else None
    return False if once and not ends.returned and _takes_arguments(ev, ends, fresh) else None


def _is_inner(call: Call, fresh: Fresh) -> bool:
    """Is it in a loop or function of its own, so that one trace serves many calls?"""
    outer = {id(loop.node) for loop in loops_around(fresh.scope, fresh.block)}
    if call.scope.owner() is not fresh.scope.owner():
        return True
    return any(id(loop.node) not in outer for loop in loops_around(call.scope, call.block))


def _result_called(ev: Evaluator, again: Again) -> bool:
    """Is what the function that makes it returns called where that is in a loop?"""
    function = again.through[0] if again.through else None
    if function is None or len(again.through) > 1:
        return False
    model = ev.model_of(function.module_part())
    for call, where in objects.calls_of(ev, function, ev.generic_frame(function, model)):
        ends = outcome(ev, call, where, block_of(where, call))
        if ends.calls and not ends.kept and not ends.returned:
            return True
    return False


def _together(ev: Evaluator, again: Again) -> bool:
    """Does one run of a function make several of the calls, more than two or with the same arguments? Two calls may
    differ in the shapes that they pass, so that both would be traced anyhow."""
    function = again.through[-1]
    model = ev.model_of(function.module_part())
    groups: dict[Scope, list[str]] = {}
    for call, where in objects.calls_of(ev, function, ev.generic_frame(function, model)):
        groups.setdefault(where.owner(), []).append(ast.unparse(call))
    return any(len(group) > 2 or (len(group) == 2 and group[0] == group[1]) for group in groups.values())


def _takes_arguments(ev: Evaluator, ends: Outcome, fresh: Fresh) -> bool:
    """Is it called with what the function around it was called with, like a function that is there to be called?"""
    owner = fresh.scope.owner()
    if not owner.is_function or owner.name.startswith(("main", "test", "run", "train")) or owner.name == "__init__":
        return False
    own = set(parameters(owner.function_node))
    given = [one for call in ends.calls for one in (*call.node.args, *(key.value for key in call.node.keywords))]
    own -= (
        set(parameters(owner.function_node)[:1]) if owner.parent is not None and owner.parent.kind == "class" else set()
    )
    return any(name in own for one in given for name in names_in(one))


def _is_program(ev: Evaluator, scope: Scope, depth: int) -> bool:
    """Is it certain that nothing around the place is traced: does it run from the top of a file, or from a function
    without parameters?"""
    owner = scope.owner()
    if owner.kind == "module":
        return True
    if not owner.is_function or owner.enclosing_function() is not None or depth > 4:
        return False
    model = ev.model_of(owner.module_part())
    calls = objects.calls_of(ev, owner, ev.generic_frame(owner, model))
    if not calls:
        return not parameters(owner.function_node)
    return all(_is_program(ev, where, depth + 1) for _, where in calls)


def _functions(scope: Scope) -> list[Scope]:
    return [around for around in scope.around() if around.is_function]


# ---------------------------------------------------------------- what it takes from around it


def _varying(ev: Evaluator, fresh: Fresh, again: Again) -> tuple[Varies, tuple[str, ...]]:
    """What the new function captures that differs from the last one's."""
    names = dict.fromkeys(_captured(ev, fresh))
    kinds: dict[str, Varies] = {}
    for name, scope in names:
        if again.why == "loop":
            loop = loops_around(fresh.scope, fresh.block)[0]
            differs = ev.owner(name, scope) is loop.scope and name in varying_names(ev, loop)
        else:
            differs = _differs_by_call(ev, name, scope, again)
        if differs:
            value = ev.lookup(name, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
            kinds[name] = "values" if _is_data(value) else "unknown"
    overall: Varies = "unknown" if "unknown" in kinds.values() else "values" if kinds else "nothing"
    return overall, tuple(kinds)


def _captured(ev: Evaluator, fresh: Fresh) -> Iterator[tuple[str, Scope]]:
    """Names that it reads from around it; of functions made beside it theirs."""
    for node, scope in fresh.reads:
        yield from ((name, scope) for name in names_in(node))
    waiting, seen = list(fresh.code), set(fresh.code)
    while waiting:
        code = waiting.pop()
        ev.look_at(code)
        for inner in code.walk():
            for read in inner.reads:
                owner = ev.owner(read.name, inner)
                if owner is None or code in owner.around():
                    continue
                value = ev.lookup(read.name, inner, ev.generic_frame(inner, ev.model_of(inner.module_part())))
                if isinstance(value, FunctionValue) and value.scope.enclosing_function() is not None:
                    if value.scope not in seen:
                        seen.add(value.scope)
                        waiting.append(value.scope)
                else:
                    yield read.name, inner


def _differs_by_call(ev: Evaluator, name: str, scope: Scope, again: Again) -> bool:
    """May a name of the function that is called again have another value in another of its calls?"""
    owner = ev.owner(name, scope)
    function = again.through[0] if again.through else None
    if owner is None or function is None or owner is not function:
        return False
    own = function.bindings.get(name, ())
    if any(binding.kind == "parameter" for binding in own):
        return _argument_differs(ev, name, function, again)
    return any(
        binding.value is None
        or isinstance(binding.value, ast.Call)
        or _mentions(ev, binding.value, binding.scope, again)
        for binding in own
        if binding.kind not in ("import", "def", "class")
    )


def _mentions(ev: Evaluator, node: ast.expr, scope: Scope, again: Again) -> bool:
    return any(_differs_by_call(ev, name, scope, again) for name in set(names_in(node)))


def _argument_differs(ev: Evaluator, name: str, function: Scope, again: Again) -> bool:
    """Does a parameter get different values: another expression at another call, one that varies in a loop?"""
    model = ev.model_of(function.module_part())
    texts = set()
    for call, where in objects.calls_of(ev, function, ev.generic_frame(function, model)):
        given = _given(call, function, name)
        if given is None:
            continue
        texts.add(ast.unparse(given))
        for loop in loops_around(where, block_of(where, call)):
            if not set(varying_names(ev, loop)).isdisjoint(names_in(given)) or isinstance(given, ast.Call):
                return True
    return len(texts) > 1 or len(again.through) > 1


def _given(call: ast.Call, function: Scope, name: str) -> ast.expr | None:
    own = parameters(function.function_node)
    if function.parent is not None and function.parent.kind == "class" and not has_decorator(function, "staticmethod"):
        if own[:1] == [name]:
            return call.func.value if isinstance(call.func, ast.Attribute) else call.func
        own = own[1:]
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    index = own.index(name) if name in own else len(call.args)
    return call.args[index] if index < len(call.args) else None


def _is_data(value: Value) -> bool:
    """Arrays, numbers and containers of them: what a compiled function can be given as an argument."""
    if isinstance(value, Sequence):
        return _is_data(value.any_item())
    if isinstance(value, Mapping):
        return bool(value.items) and all(_is_data(item) for _, item in value.items)
    return value != UNKNOWN and (isinstance(value, Array) or number(value) in ("int", "float", "complex"))
