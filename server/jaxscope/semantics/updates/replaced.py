"""Arguments that a call's own result replaces, `state = step(state, x)`: is the old value needed after it?"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal

from jaxscope.semantics.compiled.callers import CompiledCall
from jaxscope.semantics.compiled.repetition import loop_around, outermost_loop
from jaxscope.semantics.evaluation.objects import method_scope
from jaxscope.semantics.evaluation.values import ClassValue, External, FunctionValue, Transformed, TupleType
from jaxscope.semantics.names.scope_builder import last_name
from jaxscope.semantics.names.scopes import Binding, Read, Scope, facts_of
from jaxscope.semantics.names.variables import begins_with, chain_of
from jaxscope.semantics.updates.liveness import is_read_after
from jaxscope.semantics.vocabulary import FILLS, METADATA

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator
    from jaxscope.semantics.model import FileModel

Need = Literal["no", "hardly", "perhaps", "yes"]
NEEDS: tuple[Need, ...] = ("no", "hardly", "perhaps", "yes")
_KEEPING = FILLS | {"put", "push"}
"""Methods that keep what they are given."""
_SAME = frozenset(
    (
        *("asarray", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block_until_ready", "broadcast_to"),
        *("convert_element_type", "copy", "deepcopy", "device_get", "device_put", "dict", "expand_dims", "flatten"),
        *("leaves", "list", "map", "moveaxis", "positive", "ravel", "real", "replace", "reshape", "squeeze"),
        *("stop_gradient", "swapaxes", "transpose", "tree_flatten", "tree_leaves", "tree_map", "tuple", "view"),
        *("with_sharding_constraint", "zip"),
    )
)
"""Functions whose result may hold the very arrays that they are given."""
_HOLDING = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred, ast.IfExp, ast.BoolOp)
_MAKING = ("jax.numpy.", "jax.random.", "jax.nn.", "numpy.")
_DEEPEST = 3
_LOOKS = METADATA | {"is_deleted", "delete", "block_until_ready", "keys"}


@dataclass(frozen=True, slots=True)
class Replaced:
    """One argument."""

    parameter: str
    node: ast.expr
    """The argument as written in the call."""
    needed: Need
    """Is the old value needed after the call? `perhaps` where somebody out of sight may have it, `hardly` where that is
    only what an initializer was given: what an optimizer keeps is mostly its own."""


def replaced_by(ev: Evaluator, call: CompiledCall) -> list[Replaced]:
    """The arguments of a call that its result is assigned to again."""
    statement = facts_of(call.scope.chunk).parents.get(id(call.node))
    if isinstance(statement, ast.Await):
        statement = facts_of(call.scope.chunk).parents.get(id(statement))
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    assigned = {ast.unparse(target) for target in targets for target in _leaves(target)}
    found = []
    for parameter, node in call.given:
        parts = list(_leaves(node))
        if parameter not in call.statics and parts and all(ast.unparse(part) in assigned for part in parts):
            needed = most(_Old(ev, call, statement, part).need() for part in parts)
            found.append(Replaced(parameter, node, needed))
    return found


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from _leaves(element)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        yield node
    elif isinstance(node, ast.Starred):
        yield from _leaves(node.value)


class _Old:
    """The value that one variable has before a call which replaces it."""

    def __init__(
        self, ev: Evaluator, call: CompiledCall, statement: ast.Assign | ast.AnnAssign, node: ast.expr
    ) -> None:
        self.ev = ev
        self.call = call
        self.statement = statement
        self.text = ast.unparse(node)
        chain = chain_of(node)
        self.root = chain[0].id if chain is not None else ""
        self.model = ev.model_of(call.scope.module_part())
        self.owner = ev.owner(self.root, call.scope) if self.root else None
        self.loop = loop_around(call.scope, call.block, call.node)
        self.asked = {self.root}
        self.sought = {self.root}
        """Names that have been asked who reads them, and what they were given."""

    def need(self) -> Need:
        """Who may still want it after the call."""
        if self.owner is None or not _is_same(self.owner, self.call.scope.owner()) or self.text != self.root:
            return self._of_attribute()
        bindings = self.model.bindings_of(self.root, self.owner)
        place = self.model.place_key(self.call.scope, self.call.node)
        given = self.model.reaching(bindings, self.owner, (place, self.call.block))
        of_bindings = (self._of_binding(binding) for binding in given)
        since = min((self.model.order_key(binding.scope, binding.order) for binding in given), default=(0, 0))
        reads = (read for read in self._reads(self.owner, self.root) if not self._is_earlier(read, since))
        return most(chain(of_bindings, (self._of_read(read, self.owner) for read in reads)))

    def _is_earlier(self, read: Read, since: tuple[int, int]) -> bool:
        """Does it read what the name had before it was given the value?"""
        here = _is_same(read.scope.owner(), self.call.scope.owner()) and id(read.node) not in self.repeated
        return here and self.model.place_key(read.scope, read.node) < since

    def _of_attribute(self) -> Need:
        """A variable of somebody else's may be read anywhere; it is looked at in the same function."""
        reads = self._reads(self.owner, self.root) if self.owner is not None else ()
        of_reads = (self._of_read(read, None) for read in reads if begins_with(_written(read), self.text))
        return most(chain(("perhaps",), of_reads))

    def _reads(self, owner: Scope, name: str) -> Iterator[Read]:
        inside = owner.walk()
        if owner.kind == "module":
            inside = [scope for chunk in self.model.module.chunks for scope in facts_of(chunk).scopes]
        for scope in inside:
            for read in scope.reads:
                home = self.ev.owner(name, scope) if read.name == name else None
                if home is not None and _is_same(home, owner):
                    yield read

    # -- where it came from

    def _of_binding(self, binding: Binding) -> Need:
        if self.owner is not None and binding.kind == "assign" and binding.value is not None:
            others = (one for name, several in self.owner.bindings.items() if name != binding.name for one in several)
            same = [one.name for one in others if one.value is binding.value and one.path == binding.path]
            if any(self._of_name(name, self.owner) == "yes" for name in same):
                return "yes"  # `m = v = zeros_like(w)`
        if binding.kind in ("parameter", "iteration", "with", "import", "other"):
            return "perhaps"
        value = binding.value
        if value is None or value is self.statement.value:
            return "no"
        return self._of_source(value, binding)

    def _of_source(self, value: ast.expr, binding: Binding) -> Need:
        """Has somebody else the value of an expression?"""
        if isinstance(value, ast.Dict | ast.Tuple | ast.List):
            parts = value.values if isinstance(value, ast.Dict) else value.elts
            return most(self._of_source(part, binding) for part in parts)
        if isinstance(value, ast.Name):
            owner = self.ev.owner(value.id, binding.scope)
            if owner is None or not _is_same(owner, binding.scope.owner()):
                return "perhaps"
            bindings = self.model.bindings_of(value.id, owner) if value.id not in self.sought else []
            self.sought.add(value.id)
            return most(chain((self._of_name(value.id, owner),), (self._of_binding(one) for one in bindings)))
        if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred | ast.IfExp | ast.BoolOp | ast.NamedExpr):
            return "perhaps"
        return self._of_call(value, binding) if isinstance(value, ast.Call) else "no"

    def _of_call(self, call: ast.Call, binding: Binding) -> Need:
        """Has somebody else what a call gives? It may be what the call was given, or what its function keeps."""
        scope = binding.scope
        callee = self.ev.evaluate(call.func, scope, self.ev.generic_frame(scope, self.model))
        if isinstance(callee, External) and callee.name.startswith(_MAKING) and last_name(call.func) not in _SAME:
            return "no"
        if isinstance(callee, Transformed) and callee.transform.is_jit:
            return "no"  # what is compiled gives new arrays
        least: Need = "no"
        if isinstance(callee, FunctionValue):
            if all(_is_new(self.ev, node, callee.scope) for node in callee.scope.returns) and callee.scope.returns:
                return "no"
            least = "perhaps"
        given = (*call.args, *(word.value for word in call.keywords))
        need = most(chain((least,), (self._of_source(one, binding) for one in given)))
        if _is_initializer(call):
            return _least("hardly", need)
        holds = isinstance(callee, FunctionValue | ClassValue | TupleType) or last_name(call.func) in _SAME
        return need if holds else _least("perhaps", need)

    # -- who else has it

    def _of_read(self, read: Read, owner: Scope | None) -> Need:
        if self._looks_only(read) or not self._comes_before(read):
            return "no"
        return self._where_it_goes(read.links[-1] if read.links else read.node, read.scope, owner)

    def _looks_only(self, read: Read) -> bool:
        return any(isinstance(link, ast.Attribute) and link.attr in _LOOKS for link in read.links)

    def _comes_before(self, read: Read) -> bool:
        """Can the call run after the read, with no new value between?"""
        if not _is_same(read.scope.owner(), self.call.scope.owner()):
            return True
        if id(read.node) in self.repeated:
            return True
        where = self.model.place_key
        return where(read.scope, read.node) < where(self.call.scope, self.statement)

    @cached_property
    def repeated(self) -> frozenset[int]:
        """What runs with the call, or again after it."""
        loop = outermost_loop(self.call.scope, self.call.block)
        return frozenset(id(node) for node in ast.walk(self.statement if loop is None else loop))

    def _where_it_goes(self, node: ast.expr, scope: Scope, owner: Scope | None) -> Need:
        parent = facts_of(scope.chunk).parents.get(id(node))
        if isinstance(parent, ast.Call):
            return self._given(node, parent, scope, owner)
        holds = isinstance(node, ast.Tuple | ast.List) and isinstance(parent, ast.BinOp)  # `[p] * 2`
        if holds or isinstance(parent, _HOLDING):
            assert isinstance(parent, ast.expr)
            return self._where_it_goes(parent, scope, owner)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            return self._kept_as(parent, owner)
        if isinstance(parent, ast.AugAssign):
            return "yes" if isinstance(node, _HOLDING) else "no"  # `history += [p]`
        if isinstance(parent, ast.Return):
            return "no" if owner is scope.owner() and self.loop is None else "perhaps"
        if isinstance(parent, ast.Yield | ast.YieldFrom):
            return "yes"
        if isinstance(parent, ast.For | ast.comprehension | ast.With | ast.Lambda):
            return "perhaps"
        return "no"

    def _given(self, node: ast.expr, call: ast.Call, scope: Scope, owner: Scope | None) -> Need:
        if call.func is node:
            return self._where_it_goes(call, scope, owner) if last_name(node) in _SAME else "no"
        if call is self.call.node:
            same = [one for _, value in self.call.given for one in _leaves(value) if ast.unparse(one) == self.text]
            return "yes" if len(same) > 1 else "no"
        name = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and name in _KEEPING:
            return "yes"
        if name in _SAME:
            return self._where_it_goes(call, scope, owner)
        value = self.ev.evaluate(call.func, scope, self.ev.generic_frame(scope, self.ev.model_of(scope.module_part())))
        if isinstance(value, FunctionValue):
            new = all(_is_new(self.ev, one, value.scope) for one in value.scope.returns)
            return "no" if new else _least("perhaps", self._where_it_goes(call, scope, owner))
        if isinstance(value, ClassValue | TupleType):
            plain = isinstance(value, TupleType) or method_scope(self.ev, value, "__init__") is None
            return most(("no" if plain else "perhaps", self._where_it_goes(call, scope, owner)))
        if isinstance(value, External | Transformed):
            return "no"
        return "hardly" if _is_initializer(call) else "perhaps"

    def _kept_as(self, statement: ast.Assign | ast.AnnAssign | ast.NamedExpr, owner: Scope | None) -> Need:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        needs: list[Need] = []
        for target in (leaf for one in targets for leaf in _leaves(one)):
            if not isinstance(target, ast.Name):
                needs.append("yes")
            elif target.id != self.root and owner is not None:
                needs.append(self._of_name(target.id, owner))
        return most(needs)

    def _of_name(self, name: str, owner: Scope) -> Need:
        """Who may want it after the call, if another name has it too: whoever reads that name then, or takes the value
        from there before."""
        if name in self.asked:
            return "no"
        self.asked.add(name)
        reads = [read for read in self._reads(owner, name) if not self._looks_only(read)]
        if self._is_read_after(name, owner, reads):
            return "yes"
        return most(self._of_read(read, owner) for read in reads)

    def _is_read_after(self, name: str, owner: Scope, reads: list[Read]) -> bool:
        """Does the call itself read a name, or what may run after it before the name has another value?"""
        here = self.call.scope.owner()
        if any(not _is_same(one, here) for one in (owner, *(read.scope.owner() for read in reads))):
            return bool(reads)  # in a function that may be called at any time
        known = {id(read.node) for read in reads}
        written = [node for node in ast.walk(self.statement) if isinstance(node, ast.Name)]
        if any(id(node) in known for node in written):
            return True
        if any(node.id == name and isinstance(node.ctx, ast.Store) for node in written):
            return False  # which has another value then
        parents = ChainMap(*(facts_of(chunk).parents for chunk in {read.scope.chunk for read in reads}))
        nodes = [read.node for read in reads]
        return is_read_after(_body(owner, self.model), self.statement, name, nodes, parents)


def most(needs: Iterable[Need]) -> Need:
    """The strongest of them; nothing after a `yes` is looked at."""
    most: Need = "no"
    for need in needs:
        if need == "yes":
            return need
        most = max(most, need, key=NEEDS.index)
    return most


def _body(owner: Scope, model: FileModel) -> list[ast.stmt]:
    """The statements of a function, or of the whole file."""
    if owner.kind == "module":
        return [statement for chunk in model.module.chunks for statement in chunk.body]
    body: list[ast.stmt] = getattr(owner.node, "body", [])
    return body


def _least(one: Need, other: Need) -> Need:
    return min(one, other, key=NEEDS.index)


def _is_initializer(call: ast.Call) -> bool:
    """`optimizer.init(params)`, `opt_init(params)`."""
    return bool(call.args) and (last_name(call.func) == "init" or last_name(call.func).endswith("_init"))


def _is_same(one: Scope, other: Scope) -> bool:
    """Do two scopes of a file have the same names? Each part of the file has a scope for the module."""
    return one is other or one.kind == other.kind == "module"


def _is_new(ev: Evaluator, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Is what a function returns made in it, so that nobody else has it?"""
    if isinstance(node, ast.Dict | ast.Tuple | ast.List):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        return all(_is_new(ev, part, scope, depth) for part in parts)
    if isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.DictComp | ast.ListComp):
        return not isinstance(node, ast.DictComp | ast.ListComp) or _is_new(ev, _element(node), scope, depth)
    if isinstance(node, ast.Name) and depth < _DEEPEST:
        bindings = scope.bindings.get(node.id, [])
        plain = bool(bindings) and all(one.kind == "assign" and one.value and not one.path for one in bindings)
        return plain and all(_is_new(ev, one.value, scope, depth + 1) for one in bindings if one.value is not None)
    if isinstance(node, ast.Call) and last_name(node.func) not in _SAME:
        callee = ev.evaluate(node.func, scope, ev.generic_frame(scope, ev.model_of(scope.module_part())))
        return isinstance(callee, External) and callee.name.startswith(_MAKING)
    return False


def _element(node: ast.DictComp | ast.ListComp) -> ast.expr:
    return node.value if isinstance(node, ast.DictComp) else node.elt


def _written(read: Read) -> str:
    return ast.unparse(read.links[-1]) if read.links else read.name
