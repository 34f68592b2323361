"""Where a function goes that is put into a container or an object, and where it comes out again.

A path says how the function is reached in a value: `Step("key", "a")` in `{"a": f}`, nothing where the value is the
function itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.receivers import method_around, own_name
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.writing.syntax import positional
from jaxscope.semantics.names.scopes import Scope


@dataclass(frozen=True, slots=True)
class Step:
    """One step to an element. `at`: index, key or field; None when it may be any."""

    kind: Literal["item", "key", "field"]
    at: object = None

    def may_be(self, index: ast.expr) -> bool:
        """May the step lead to what `value[index]` takes?"""
        known = index.value if isinstance(index, ast.Constant) else None
        return self.at is None or known is None or self.at == known


Path = tuple[Step, ...]
Moves = list[tuple[Use, Path]]
_ITEM, _KEY, _SECOND = Step("item"), Step("key"), Step("item", 1)
_SAME = frozenset(["builtins.list", "builtins.tuple", "builtins.reversed", "builtins.iter", "builtins.dict"])
_OF_KEYS = frozenset(["builtins.list", "builtins.tuple", "builtins.sorted", "builtins.set", "builtins.iter"])
_ADDING = {"append": 0, "add": 0, "insert": 1, "appendleft": 0}
"""Methods that put an argument into a container, and its position."""
_HARMLESS = frozenset(["keys", "append", "insert", "extend", "update", "clear", "sort", "reverse"])
_DATACLASSES = frozenset(["dataclasses.dataclass", "flax.struct.dataclass", "chex.dataclass"])


class Flow:
    """Answers for one expression at a time."""

    def __init__(self, files: Files, compiled: Compiled) -> None:
        self.files = files
        self.compiled = compiled

    def onward(self, use: Use, path: Path) -> Moves | None:
        """The expressions that have the value, or a part of it that holds the function, next; None when not seen."""
        file, node, parent = use.file, use.node, use.file.parents[use.node]
        if isinstance(parent, ast.keyword | ast.Call):
            call = file.parents[parent] if isinstance(parent, ast.keyword) else parent
            return self._given(use, call, path) if isinstance(call, ast.Call) else None
        step = _step(parent, node)
        if step is not None and isinstance(parent, ast.expr):
            return [(Use(file, parent), (step, *path))]
        if isinstance(parent, ast.IfExp) and parent.test is not node:
            return [(Use(file, parent), path)]
        if isinstance(parent, ast.Assign | ast.AnnAssign) and parent.value is node:
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return _all(self._into(file, target, path) for target in targets)
        if isinstance(parent, ast.Return):
            return self._returned(file, parent, path)
        if isinstance(parent, ast.Expr):
            return []
        return self._taken(use, parent, path) if path else None

    # ------------------------------------------------------------ out of a container

    def _taken(self, use: Use, parent: ast.AST, path: Path) -> Moves | None:
        file, node, first = use.file, use.node, path[0]
        if isinstance(parent, ast.Subscript) and parent.value is node and first.kind != "field":
            if not isinstance(parent.ctx, ast.Load):
                return []
            if isinstance(parent.slice, ast.Slice):
                return [(Use(file, parent), (_ITEM, *path[1:]))]
            return [(Use(file, parent), path[1:])] if first.may_be(parent.slice) else []
        if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
            if first.kind == "item":
                return self._into(file, parent.target, path[1:])
            return [] if first.kind == "key" else None
        if isinstance(parent, ast.Attribute):
            return self._attribute(file, parent, path)
        if isinstance(parent, ast.Compare) and parent.left is not node and first.kind == "key":
            return [] if isinstance(parent.ops[0], ast.In | ast.NotIn) else None
        return None

    def _attribute(self, file: File, node: ast.Attribute, path: Path) -> Moves | None:
        first, call = path[0], file.parents[node]
        if first.kind == "field":  # its reads are followed from where the object is made
            return None if node.attr.startswith("_") else []
        if not isinstance(call, ast.Call) or call.func is not node:
            return None
        made = Use(file, call)
        if node.attr in ("get", "pop", "setdefault") and call.args:
            return [(made, path[1:])] if first.may_be(call.args[0]) else []
        if node.attr == "pop":
            return [(made, path[1:])]
        if node.attr in ("values", "items") and first.kind == "key":
            return [(made, (_ITEM, *([_SECOND] if node.attr == "items" else []), *path[1:]))]
        if node.attr == "copy":
            return [(made, path)]
        return [] if node.attr in _HARMLESS else None

    # ------------------------------------------------------------ into something

    def _into(self, file: File, target: ast.expr, path: Path) -> Moves | None:
        """What a target holds that is given the value."""
        if isinstance(target, ast.Name):
            home = file.lookup(file.scope_of(target), target.id)
            if home is None or file.scope_of(target).kind == "class":
                return None
            return [(use, path) for use in self.files.of_name(file, home, target.id)]
        if isinstance(target, ast.Tuple | ast.List):
            if not path or path[0].kind != "item" or any(isinstance(each, ast.Starred) for each in target.elts):
                return None
            chosen = [each for number, each in enumerate(target.elts) if path[0].at in (None, number)]
            return _all(self._into(file, each, path[1:]) for each in chosen)
        if isinstance(target, ast.Attribute) and self._of_instance(file, target):
            stores = list(self.files.attribute_stores(target.attr))
            return [(use, path) for use in self.files.of_attribute(target.attr)] if len(stores) == 1 else None
        if isinstance(target, ast.Subscript):
            return self._put(file, target.value, target.slice, path)
        return None

    def _put(self, file: File, container: ast.expr, index: ast.expr | None, path: Path) -> Moves | None:
        """What a container holds, by all its names, that is given an element."""
        home = file.lookup(file.scope_of(container), container.id) if isinstance(container, ast.Name) else None
        if home is None or not isinstance(container, ast.Name) or home.kind == "class":
            return None
        kinds = {self._fresh(file, home, binding.value) for binding in file.bindings(home, container.id)}
        if len(kinds) != 1 or None in kinds:
            return None
        known = index.value if isinstance(index, ast.Constant) and "key" in kinds else None
        step = Step("key", known) if "key" in kinds else _ITEM
        return [(use, (step, *path)) for use in self.files.of_name(file, home, container.id)]

    def _fresh(self, file: File, home: Scope, value: ast.expr | None) -> str | None:
        """Does the expression make a new sequence, or a new mapping?"""
        called = file.dotted(value.func) if isinstance(value, ast.Call) else None
        if isinstance(value, ast.List | ast.ListComp) or called == "builtins.list":
            return "item"
        return "key" if isinstance(value, ast.Dict | ast.DictComp) or called == "builtins.dict" else None

    def _returned(self, file: File, node: ast.Return, path: Path) -> Moves | None:
        found: Moves = []
        for other in self.files.of_function(file, file.scope_of(node).function_node):
            call = other.file.parents[other.node]
            if not isinstance(call, ast.Call) or call.func is not other.node:
                return None
            found.append((Use(other.file, call), path))
        return found

    def _given(self, use: Use, call: ast.Call, path: Path) -> Moves | None:
        """The value is an argument."""
        file, node = use.file, use.node
        name, made = file.dotted(call.func), Use(file, call)
        position = next((number for number, arg in enumerate(call.args) if arg is node), None)
        keyword = next((each.arg for each in call.keywords if each.value is node), None)
        if name == "builtins.dict" and keyword is not None:
            return [(made, (Step("key", keyword), *path))]
        if isinstance(call.func, ast.Attribute) and _ADDING.get(call.func.attr, -1) == position and name is None:
            return self._put(file, call.func.value, call.args[0] if position else None, path)
        if path and path[0].kind == "item" and name in ("builtins.zip", "builtins.enumerate"):
            place = Step("item", position) if name == "builtins.zip" else _SECOND
            return [(made, (_ITEM, place, *path[1:]))] if position is not None else None
        if path and name in _SAME and position == 0 and (name == "builtins.dict") == (path[0].kind == "key"):
            return [(made, path if path[0].kind == "key" else (_ITEM, *path[1:]))]  # in another order, perhaps
        if path and (name == "builtins.len" or (name in _OF_KEYS and path[0].kind == "key")):
            return []
        if name == "dataclasses.replace" and position == 0 and path and path[0].kind == "field":
            return [(made, path)]
        return self._entered(use, call, position, keyword, path)

    def _entered(self, use: Use, call: ast.Call, position: int | None, keyword: str | None, path: Path) -> Moves | None:
        """The parameter that takes the value, or the field of a new object."""
        if any(isinstance(arg, ast.Starred) for arg in call.args):
            return None
        fields = self._fields(use.file, call.func)
        if fields is not None:
            name = keyword or (fields[position] if position is not None and position < len(fields) else None)
            if name is None or name not in fields:
                return None
            read = [(other, path) for other in self.files.of_attribute(name)]
            return [(Use(use.file, call), (Step("field", name), *path)), *read]
        found = list(self.compiled.definition(use.file, call.func)) if self._bound_once(use.file, call.func) else []
        if len(found) != 1 or getattr(found[0][1], "decorator_list", []):
            return None
        file, function = found[0]
        names = [arg.arg for arg in positional(function)]
        name = keyword or (names[position] if position is not None and position < len(names) else None)
        if name not in [*names, *(arg.arg for arg in function.args.kwonlyargs)] or name is None:
            return None
        return [(other, path) for other in self.files.of_name(file, file.scope(function), name)]

    def _bound_once(self, file: File, node: ast.expr) -> bool:
        home = file.lookup(file.scope_of(node), node.id) if isinstance(node, ast.Name) else None
        return home is not None and isinstance(node, ast.Name) and len(file.bindings(home, node.id)) == 1

    def _fields(self, file: File, called: ast.expr) -> list[str] | None:
        """The fields of a plain data class or named tuple of the project."""
        home = file.lookup(file.scope_of(called), called.id) if isinstance(called, ast.Name) else None
        bindings = file.bindings(home, called.id) if home is not None and isinstance(called, ast.Name) else []
        target = self.files.target(file, bindings[0]) if len(bindings) == 1 else None
        if target is not None and target[1] is not None:
            file = self.files.get(target[0])
            bindings = file.top.bindings.get(target[1], [])
        cls = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(cls, ast.ClassDef) or cls.keywords:
            return None
        decorators = [d.func if isinstance(d, ast.Call) else d for d in cls.decorator_list]
        data = not cls.bases and [file.dotted(each) in _DATACLASSES for each in decorators] == [True]
        named = not decorators and [file.dotted(base) for base in cls.bases] == ["typing.NamedTuple"]
        making = {"__init__", "__new__", "__post_init__", "__iter__", "__getattribute__", "__setattr__"}
        if not (data or named) or any(getattr(item, "name", "") in making for item in cls.body):
            return None
        if not all(_only_parts(file, item) for item in cls.body if isinstance(item, ast.FunctionDef)):
            return None
        items = [item for item in cls.body if isinstance(item, ast.AnnAssign)]
        if any(word in ast.unparse(item.annotation) for item in items for word in ("ClassVar", "InitVar", "KW_ONLY")):
            return None
        plain = [item.target.id for item in items if isinstance(item.target, ast.Name)]
        return plain if not any("field" in ast.unparse(item.value) for item in items if item.value) else None

    def _of_instance(self, file: File, target: ast.Attribute) -> bool:
        """Is it `self.name`? What a class holds becomes a method of its instances, which a `partial` does not."""
        scope = file.scope_of(target).owner()
        if scope is not method_around(file, target) or getattr(scope.node, "decorator_list", []):
            return False
        return isinstance(target.value, ast.Name) and target.value.id == own_name(scope)


def _step(parent: ast.AST, node: ast.expr) -> Step | None:
    """How `node` is reached in the display or comprehension around it."""
    if isinstance(parent, ast.Tuple):
        starred = any(isinstance(each, ast.Starred) for each in parent.elts)
        return _ITEM if starred else Step("item", parent.elts.index(node))
    if isinstance(parent, ast.List):
        return _ITEM  # its elements may move
    if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp) and parent.elt is node:
        return _ITEM
    if isinstance(parent, ast.DictComp) and parent.value is node:
        return _KEY
    if isinstance(parent, ast.Dict) and node in parent.values:
        key = parent.keys[parent.values.index(node)]
        known = [each.value for each in parent.keys if isinstance(each, ast.Constant)]
        if isinstance(key, ast.Constant) and known.count(key.value) == 1 and len(known) == len(parent.keys):
            return Step("key", key.value)
        return _KEY if key is not None else None  # a later element may have the same key
    return None


def beside(file: File, parent: ast.AST, node: ast.expr) -> ast.Name | None:
    """The name that is given the element `node` in `a, b = f, g`."""
    outer = file.parents.get(parent)
    target = outer.targets[0] if isinstance(outer, ast.Assign) and len(outer.targets) == 1 else None
    if not isinstance(parent, ast.Tuple) or not isinstance(target, ast.Tuple) or len(target.elts) != len(parent.elts):
        return None
    if any(isinstance(each, ast.Starred) for each in (*parent.elts, *target.elts)):
        return None
    found = target.elts[parent.elts.index(node)]
    return found if isinstance(found, ast.Name) else None


def _only_parts(file: File, method: ast.FunctionDef) -> bool:
    """Does the method use of its first parameter nothing but attributes?"""
    first = positional(method)[:1]
    reads = file.reads(file.scope(method), first[0].arg) if first else []
    parents = [file.parents[read.node] for read in reads]
    return all(isinstance(parent, ast.Attribute) and not parent.attr.startswith("_") for parent in parents)


def _all(found: Iterable[Moves | None]) -> Moves | None:
    moves: Moves = []
    for each in found:
        if each is None:
            return None
        moves += each
    return moves
