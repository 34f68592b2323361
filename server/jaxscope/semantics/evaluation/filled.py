"""Lists and dicts that are filled, changed or emptied after they were made: what they hold when all of that is done.

Where it is not certain how often something is put in or taken out, the number of items is not known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from jaxscope.semantics.evaluation.arrays import Slice
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.operations import length
from jaxscope.semantics.evaluation.turns import each_turn
from jaxscope.semantics.evaluation.values import UNKNOWN, Const, Mapping, Sequence, Value, join, leaves
from jaxscope.semantics.names.changes import THROUGH_PARAMETER, InPlace
from jaxscope.semantics.names.scopes import Binding, Block, Scope, facts_of

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

_MOST_ITEMS = 64
"""Items that are told one by one."""
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise)


@dataclass(frozen=True, slots=True)
class _Step:
    """One change, in terms of methods: `append`, `extend`, `update`, `[]=`, `del` and so on."""

    method: str
    given: tuple[Value, ...]
    times: int | None
    """How often it happens; None where that is not known."""
    key: Value = UNKNOWN
    distinct: bool = False
    """Is the key another one each time?"""
    path: tuple[object, ...] = ()
    """Keys under which is what it changes; None for one that is not written out."""


def can_change(value: Value) -> TypeGuard[Sequence | Mapping]:
    """Is it a list or dict? A named tuple may have methods under the same names."""
    return isinstance(value, Mapping) or (isinstance(value, Sequence) and not value.fields)


def filled(ev: Evaluator, binding: Binding, value: Sequence | Mapping, frame: Frame) -> Value:
    """What a name stands for that `binding` gives the list or dict `value`, after all changes in sight."""
    name, owner, model = binding.name, binding.scope.owner(), frame.model
    changes = [change for change in ev.changes_of(model, name) if _is_same(ev, change.read.scope, name, owner)]
    bindings = [one for one in model.bindings_of(name, owner) if one is not binding]
    augmented = [one for one in bindings if one.kind == "augmented"]
    elsewhere = changed_elsewhere(ev, name, model)
    if not (changes or augmented or elsewhere):
        return value
    found: list[tuple[tuple[int, int], _Step]] = []
    for change in changes:
        step = _step(ev, change, binding, frame)
        found.append((model.order_key(change.read.scope, change.read.order), step))
    for one in augmented:
        found.append((model.order_key(one.scope, one.order), _added(ev, one, binding, frame)))
    certain = len(bindings) == len(augmented) and not elsewhere
    result: Value = value
    for _, step in sorted(found, key=lambda pair: pair[0]):
        result = _after(result, step if certain else replace(step, times=None))
    return result if certain or found else _of_unknown_number(result)


def _is_same(ev: Evaluator, scope: Scope, name: str, owner: Scope) -> bool:
    """Does the name mean there what it means in `owner`?"""
    found = ev.owner(name, scope)
    return found is owner or (found is not None and found.kind == owner.kind == "module")


def changed_elsewhere(ev: Evaluator, name: str, model: FileModel) -> bool:
    """Is it changed under another name, or by a function that it is handed to?"""
    if any(ev.changes_of(model, other) for other in ev.other_names(model, name) - {name}):
        return True
    changing = {change.read.scope.owner().name for change in ev.changes_of(model, THROUGH_PARAMETER)}
    calls = [call for function in changing for call, _ in ev.calls_named(model, function)]
    return any(isinstance(given, ast.Name) and given.id == name for call in calls for given in call.args)


# ---------------------------------------------------------------- steps


def _step(ev: Evaluator, change: InPlace, binding: Binding, frame: Frame) -> _Step:
    scope = change.read.scope
    home = ev.frame_of(scope, frame)
    ev.look_at(scope)
    times, loop = _times(ev, change.read.block, scope, binding, home)
    node, path = change.node, tuple(key for kind, key in change.path if kind == "[]")
    if len(path) < len(change.path):
        return _Step("?", (), None)
    if isinstance(node, ast.Call) and change.method and isinstance(node.func, ast.Attribute):
        given = tuple(ev.evaluate(one, scope, home) for one in node.args)
        if loop is not None and node.func.attr == "append" and len(node.args) == 1:
            values = each_turn(ev, node.args[0], scope, home, loop)
            if values is not None:
                return _Step("extend", (Sequence(values),), 1, path=path)
        named = tuple((one.arg or "", ev.evaluate(one.value, scope, home)) for one in node.keywords)
        return _Step(node.func.attr, (*given, Mapping(named)) if named else given, times, path=path)
    if not isinstance(node, ast.Subscript):
        return _Step("?", (), None)
    key = ev.evaluate(node.slice, scope, home)
    if isinstance(node.ctx, ast.Del):
        return _Step("pop", (key,), times, path=path[:-1])
    statement = facts_of(scope.chunk).parents.get(id(node))
    given_value = ev.evaluate(statement.value, scope, home) if isinstance(statement, ast.Assign) else UNKNOWN
    distinct = loop is not None and names_each(loop, node.slice)
    return _Step("[]=", (given_value,), times, key, distinct, path[:-1])


def _added(ev: Evaluator, one: Binding, binding: Binding, frame: Frame) -> _Step:
    """`name += value`, `name |= value`."""
    facts = facts_of(one.scope.chunk)
    statement = facts.parents.get(id(one.node))
    ev.look_at(one.scope)
    if not isinstance(statement, ast.AugAssign):
        return _Step("?", (), None)
    home = ev.frame_of(one.scope, frame)
    method = {ast.Add: "extend", ast.BitOr: "update"}.get(type(statement.op), "?")
    times, _ = _times(ev, facts.blocks.get(id(one.node), ()), one.scope, binding, home)
    return _Step(method, (ev.evaluate(statement.value, one.scope, home),), times)


def _times(
    ev: Evaluator, block: Block, scope: Scope, binding: Binding, frame: Frame
) -> tuple[int | None, ast.For | None]:
    """How often code in a block runs after the container was made, and the one loop around it if there is one."""
    facts = facts_of(scope.chunk)
    own = scope.owner() is binding.scope.owner()
    if not (own or scope.owner().kind == binding.scope.owner().kind == "module"):
        return None, None
    inside = [number for number in block if number not in binding.block or scope.chunk is not binding.scope.chunk]
    count = 1
    loops = [facts.loops.get(number) for number in inside]
    for loop in loops:
        if not isinstance(loop, ast.For) or any(isinstance(node, _LEAVING) for node in ast.walk(loop)):
            return None, None
        many = length(ev.evaluate(loop.iter, scope, frame))
        if many is None:
            return None, None
        count *= many
    only = loops[0] if len(loops) == 1 else None
    return count, only if isinstance(only, ast.For) else None


def names_each(loop: ast.For | ast.comprehension, key: ast.expr) -> bool:
    """Is a key made of a loop's variable another one in each turn: `f"w{i}"` with `for i in range(...)`?"""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif isinstance(over, (ast.List, ast.Tuple)):
        values = [item.value for item in over.elts if isinstance(item, ast.Constant)]
        if len(set(values)) < len(over.elts):
            return False
    elif not (isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range"):
        return False
    if not isinstance(target, ast.Name) or _is_bound_in(loop, target.id):
        return False
    if isinstance(key, ast.JoinedStr):
        shown = (part for part in key.values if isinstance(part, ast.FormattedValue))
        parts = [part.value for part in shown if part.format_spec is None or _is_width(part.format_spec)]
    else:
        parts = [key]
    return any(isinstance(part, ast.Name) and part.id == target.id for part in parts)


def _is_width(spec: ast.expr) -> bool:
    """Does a format only fill up what it shows: `:02d`?"""
    only = spec.values[0] if isinstance(spec, ast.JoinedStr) and len(spec.values) == 1 else None
    return isinstance(only, ast.Constant) and str(only.value).removesuffix("d").isdigit()


def _is_bound_in(loop: ast.For | ast.comprehension, name: str) -> bool:
    """Does the body of a loop give its variable another value?"""
    nodes = (node for statement in getattr(loop, "body", ()) for node in ast.walk(statement))
    return any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)


# ---------------------------------------------------------------- what a step leaves


def _after(value: Value, step: _Step) -> Value:
    if step.path:
        return _inside(value, step.path[0], replace(step, path=step.path[1:]))
    if isinstance(value, Sequence):
        return _list_after(value, step)
    return _dict_after(value, step) if isinstance(value, Mapping) else value


def _inside(value: Value, key: object, step: _Step) -> Value:
    """A list or dict after a step that changes what is under a key of it; None: nobody knows which."""
    step = step if key is not None else replace(step, times=None)
    if isinstance(value, Mapping):
        items = tuple((name, _after(item, step) if key in (None, name) else item) for name, item in value.items)
        return replace(value, items=items, element=_after(value.element, step))
    if isinstance(value, Sequence) and value.items is not None:
        at = key + len(value.items) if isinstance(key, int) and key < 0 else key
        return replace(value, items=tuple(_after(i, step) if at in (None, n) else i for n, i in enumerate(value.items)))
    if isinstance(value, Sequence):
        return replace(value, element=_after(value.element, replace(step, times=None)))
    return value


def _of_unknown_number(value: Value, more: tuple[Value, ...] = ()) -> Value:
    """A list or dict of which it is not known how many items it has."""
    if isinstance(value, Mapping):
        items = tuple((key, join([item, *more])) for key, item in value.items)
        arrays = [item for _, item in items if next(leaves(item), None) is not None]
        return Mapping(items, join(list(_different([value.element, *(more or arrays)]))))
    if not isinstance(value, Sequence):
        return value
    return Sequence(None, join(list(_different([*(value.items or (value.element,)), *more]))))


def _different(values: list[Value]) -> Iterator[Value]:
    """The values, each once, without those of nothing."""
    for number, value in enumerate(values):
        if value != UNKNOWN and value not in values[:number]:
            yield value


def _list_after(value: Sequence, step: _Step) -> Value:
    given = step.given[-1] if step.given else UNKNOWN
    if step.method in ("append", "appendleft", "insert", "extend", "extendleft"):
        many = given if step.method.startswith("extend") else Sequence((given,))
        if not isinstance(many, Sequence):
            return _of_unknown_number(value)
        return _joined(value, many, step)
    if step.method in ("sort", "reverse"):
        return Sequence(None, value.any_item(), value.length())
    if step.method == "clear" and step.times == 1:
        return Sequence(())
    one_out = step.method == "pop" and not isinstance(given, Slice)
    if one_out and value.items is None and value.count is not None and step.times is not None:
        return replace(value, count=max(0, value.count - step.times))
    if step.times == 1 and value.items is not None:
        items = list(value.items)
        index = given if step.method == "pop" else step.key
        at = index.value if isinstance(index, Const) else -1 if step.method == "pop" and not step.given else None
        if isinstance(at, int) and -len(items) <= at < len(items):
            if step.method == "pop":
                del items[at]
                return Sequence(tuple(items))
            if step.method == "[]=":
                items[at] = given
                return Sequence(tuple(items))
    put = (given.any_item() if isinstance(given, Sequence) and not isinstance(step.key, Const) else given,)
    return _of_unknown_number(value, put if step.method == "[]=" else ())


def _joined(value: Sequence, many: Sequence, step: _Step) -> Value:
    """A list with all of `many` added as often as the step happens."""
    before, each = value.length(), many.length()
    if step.times is None or before is None or each is None:
        return _of_unknown_number(value, many.items or (many.element,))
    total = before + step.times * each
    items = (*_items(value, before), *_items(many, each) * step.times) if total <= _MOST_ITEMS else ()
    kinds = list(_different([*(value.items or (value.element,)), *(many.items or (many.element,))]))
    if not items or len(kinds) == 1:
        return Sequence(items) if step.times == 1 and items else Sequence(None, join(kinds), total)
    return Sequence(items)


def _items(value: Sequence, count: int) -> tuple[Value, ...]:
    if value.items is not None:
        return value.items
    return (value.element,) * count if count <= _MOST_ITEMS else ()


def _dict_after(value: Mapping, step: _Step) -> Value:
    items: dict[Any, Value] = dict(value.items)
    given = step.given[-1] if step.given else UNKNOWN
    put = _put(step, given)
    if put is not None:
        if step.times is None or value.element != UNKNOWN:
            return _perhaps(value, put)
        if step.method == "setdefault":
            return replace(value, items=tuple({**put, **items}.items()))
        return replace(value, items=tuple({**items, **put}.items()))
    if step.method == "[]=" and step.times is not None and step.distinct and value == Mapping(()):
        return Mapping((), given, step.times)
    key = step.given[0] if step.given else UNKNOWN
    if step.method == "pop" and step.times == 1 and isinstance(key, Const) and value.element == UNKNOWN:
        items.pop(key.value, None)
        return Mapping(tuple(items.items()))
    if step.method == "clear" and step.times == 1:
        return Mapping(())
    return _of_unknown_number(value, (given,) if step.method in ("[]=", "setdefault") else ())


def _put(step: _Step, given: Value) -> dict[Any, Value] | None:
    """What a step puts under which keys; None where that is not known."""
    if step.method in ("[]=", "setdefault"):
        key = step.key if step.method == "[]=" else step.given[0] if step.given else UNKNOWN
        return {key.value: given} if isinstance(key, Const) else None
    if step.method == "update" and isinstance(given, Mapping) and given.element == UNKNOWN and len(step.given) == 1:
        return dict(given.items)
    return None


def _perhaps(value: Mapping, put: dict[Any, Value]) -> Value:
    """A dict into which something is put, or not."""
    items = tuple((key, join([item, put[key]]) if key in put else item) for key, item in value.items)
    known = {key for key, _ in items}
    others = [item for key, item in put.items() if key not in known]
    return Mapping(items, join(list(_different([value.element, *others])))) if others else replace(value, items=items)
