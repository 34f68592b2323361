"""Follows one compiled function through its body, nested functions and the functions that it calls, and collects the
arrays that it reads and did not get as arguments."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxscope.semantics import branches, calls, derivatives, objects, purity
from jaxscope.semantics.arguments import Given, arguments, bind, defaults, parameters
from jaxscope.semantics.capture import Capture, Mark
from jaxscope.semantics.capture_list import CaptureList, written
from jaxscope.semantics.capture_origin import Origin
from jaxscope.semantics.evaluate import Evaluator
from jaxscope.semantics.frames import Frame
from jaxscope.semantics.scopes import Read, Scope, facts_of
from jaxscope.semantics.sites import Site, Target, leading, peel
from jaxscope.semantics.values import (
    TRACER,
    UNKNOWN,
    Array,
    Const,
    FunctionValue,
    Instance,
    Mapping,
    Method,
    PartialValue,
    Sequence,
    Transformed,
    Value,
    leaves,
)
from jaxscope.semantics.vocabulary import METADATA

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel


_DEEPEST = 16
Step = tuple[Scope, "bool | None"]
"""A function whose code runs while tracing (None), or of which it was asked whether it is compiled by itself."""
_PARTIAL_VIA = {"functools.partial": "functools.partial", "jax.tree_util.Partial": "tree_util.Partial"}


@dataclass(slots=True)
class Found:
    """What the walks through one chunk's sites gave."""

    captures: list[Capture]
    reached: set[Scope]
    """Functions whose code runs while tracing."""
    enclosed: frozenset[Scope]
    """Functions around the sites that were taken to be traced themselves."""
    asked: dict[Scope, bool]
    """Functions that were met, and whether they are compiled by themselves."""


@dataclass(frozen=True, slots=True)
class Clean:
    """What going into a function met that captures nothing."""

    depth: int
    compiled: frozenset[Scope]
    trail: tuple[Step, ...]

    def holds(self, compiled: frozenset[Scope], depth: int) -> bool:
        """Would going there again, from that deep, meet the same?"""
        return depth >= self.depth and (
            compiled is self.compiled
            or all(asked is None or (scope in compiled) is asked for scope, asked in self.trail)
        )


def _all_tracers(scope: Scope) -> dict[str, Value]:
    return {name: TRACER for name, bindings in scope.bindings.items() if any(b.kind == "parameter" for b in bindings)}


@dataclass(frozen=True, slots=True)
class _Outer:
    """What a parameter stands for when it is not an argument of the compiled function."""

    via: str
    written: str | None = None
    """How it is written where it is compiled, when that is where to show it."""
    at: Mark | None = None


class Walk:
    """One compiled function."""

    def __init__(self, model: FileModel, compiled: frozenset[Scope], ev: Evaluator, site: Site, chunk: Found) -> None:
        self.model = model
        self.compiled = compiled
        self.chunk = chunk
        self.site = site
        self.origin = Origin(ev)
        self.ev = ev
        self.list = CaptureList(model, site)
        self.visited: dict[object, bool] = {}
        """Functions that were gone into, and whether nothing is captured there for certain."""
        self.trail: list[Step] = []
        self.cut = 0
        """How often a function was not gone into of which it is not known that nothing is captured there."""
        self.lexical = set(site.function.walk())
        self.outer_parameters: dict[tuple[Frame, str], _Outer] = {}
        """Parameters that stand for something from outside, by frame and name."""
        self.depth = 0
        self.custom: list[Transformed] = []
        """Functions with derivatives of their own that were met."""

    def run(self) -> list[Capture]:
        value = self.site.value(self.ev, self.model)
        target = peel(self.ev, value) if value is not None else Target()
        if target.function is None or value is None:
            return []
        function = target.function
        for partial in target.partials:
            self._partial(partial)
        frame = Frame(function.scope, function.frame.model, self._home(function.frame), {}, traced=True)
        frame.parameters = self._parameters(target, function, frame)
        self.custom += derivatives.custom_in(value)
        self._walk(function.scope, frame)
        self._derivatives(target, frame)
        return list(self.list.found.values())

    def _derivatives(self, target: Target, frame: Frame) -> None:
        """Goes into the rules of functions with their own derivatives, if anything is differentiated."""
        if not self.custom:
            return
        walked = dict.fromkeys(scope for scope, asked in self.trail if asked is None)
        if any(entry.differentiates for entry in target.chain) or derivatives.mentioned(self.ev, walked):
            for function in self.custom:  # the functions gone into may add to these
                for rule in derivatives.rules_of(self.ev, function):
                    if isinstance(rule, FunctionValue):
                        rule = replace(rule, frame=self._home(rule.frame, self.chunk.reached))
                    self._enter(rule, None, frame)

    def _home(self, frame: Frame, traced: Collection[Scope] = ()) -> Frame:
        """`frame`, as it is while tracing when its function is traced."""
        if frame.parent is None or frame.traced:
            return frame
        parent = self._home(frame.parent, traced)
        if frame.scope in self.chunk.enclosed or frame.scope in traced or parent.traced:
            return Frame(frame.scope, frame.model, parent, _all_tracers(frame.scope), traced=True)
        return frame

    # -- parameters of the compiled function

    def _parameters(self, target: Target, function: FunctionValue, frame: Frame) -> dict[str, Value]:
        scope = function.scope
        values = _all_tracers(scope)
        names = parameters(scope.function_node)
        takes_self = any(entry.takes_self for entry in target.chain)
        if function.bound is not None and names and not takes_self:
            values[names[0]] = function.bound
            self._bound_self(target, frame, names[0])
        rest = [""] * leading(target) + (names[1:] if function.bound is not None else names)
        for partial in reversed(target.partials):
            values.update(zip(rest, partial.args, strict=False))
            values.update(partial.keywords)
            rest = rest[len(partial.args) :]
        values.pop("", None)
        generic = self.ev.generic_frame(scope, function.frame.model)
        for name in self.site.statics:
            if name in values:
                values[name] = calls.passed(self.ev, generic, name)
                own = objects.is_self(scope, name)
                via = "static-self-attribute" if own else "static-argument"
                self.outer_parameters[frame, name] = _Outer(via)
        for name, default in self._used_defaults(scope, function.frame).items():
            if values.get(name) is TRACER:
                values[name] = default
                self.outer_parameters[frame, name] = _Outer("default-argument")
        return values

    def _bound_self(self, target: Target, frame: Frame, name: str) -> None:
        if target.instance is None:
            self.outer_parameters[frame, name] = _Outer("bound-self-attribute")
            return
        node, chunk = self.site.node, self.site.scope.chunk
        argument = node.args[0] if isinstance(node, ast.Call) and node.args else None
        outer = _Outer("jitted-callable-object")
        if isinstance(argument, (ast.Name, ast.Attribute)):
            outer = _Outer(outer.via, written(chunk, argument), Mark(chunk, argument))
        self.outer_parameters[frame, name] = outer

    def _used_defaults(self, scope: Scope, home: Frame) -> dict[str, Value]:
        """Defaults that are arrays and that some call in sight leaves to apply."""
        found = {
            name: value
            for name, value in defaults(self.ev, scope, home).items()
            if next(leaves(value), None) is not None
        }
        if not found:
            return found
        names = parameters(scope.function_node)
        callers = objects.calls_of(self.ev, scope, self.ev.generic_frame(scope, home.model))
        for name in list(found):
            at = names.index(name) if name in names else len(names)
            gives = [len(call.args) > at or any(k.arg == name for k in call.keywords) for call, _ in callers]
            if gives and all(gives):
                del found[name]
        return found

    def _partial(self, partial: PartialValue) -> None:
        """Arrays bound by `partial` are constants of what is compiled."""
        if partial.call is None:
            return
        found = partial.frame.model.chunk_of(partial.call)
        if found is None:
            return
        nodes = [*partial.call.args[1:], *(keyword.value for keyword in partial.call.keywords)]
        values = [*partial.args, *(value for _, value in partial.keywords)]
        if len(nodes) != len(values):
            return
        model = partial.frame.model
        for node, value in zip(nodes, values, strict=True):
            bound = None
            if isinstance(node, ast.Name):
                bound = self.origin.of_name(node.id, model.scope_at(found, node), partial.frame)
            via = _PARTIAL_VIA.get(partial.kind, partial.kind)
            self.list.keep(("partial", id(node)), written(found, node), Mark(found, node), via, value, bound=bound)

    # -- walking

    def _walk(self, scope: Scope, frame: Frame) -> None:
        self.ev.look_at(scope)
        self._step(scope, None)
        for read in scope.reads:
            if not branches.never_runs(self.ev, read.block, scope, frame):
                self._read(read, scope, frame)
        for call, block in scope.calls:
            if not branches.never_runs(self.ev, block, scope, frame):
                self._call(call, scope, frame)
        for child in scope.children:
            if not child.is_function:
                self._walk(child, frame)
            elif not self._is_compiled(child):
                inner = Frame(child, frame.model, frame, _all_tracers(child), traced=True)
                self._walk(child, inner)

    def _is_compiled(self, scope: Scope) -> bool:
        """Has it a site of its own, which reports what it captures?"""
        compiled = scope in self.compiled
        self._step(scope, compiled)
        return compiled

    def _step(self, scope: Scope, asked: bool | None) -> None:
        self.trail.append((scope, asked))
        if asked is None:
            self.chunk.reached.add(scope)
        else:
            self.chunk.asked[scope] = asked

    def _read(self, read: Read, scope: Scope, frame: Frame) -> None:
        owner = self.ev.owner(read.name, scope)
        if owner is None:
            return
        value = self.ev.evaluate(read.node, scope, frame)
        if value is UNKNOWN or value is TRACER:
            return
        via = self._how(read, owner, scope, frame)
        node, value, rest, container = self._descend(read, value, scope, frame)
        if isinstance(value, (FunctionValue, Transformed, PartialValue, Instance)):
            self._follow(node, value, scope, frame, rest)
        elif via is None:
            self._made(read, value, owner, scope, frame)
        elif not (rest and isinstance(rest[0], ast.Attribute) and rest[0].attr in METADATA):
            stays = purity.what_stays(self.ev, node, value, scope, frame)
            if stays is not None and next(leaves(stays), None) is not None:
                self._report(read, node, stays, (via, container), frame)

    def _how(self, read: Read, owner: Scope, scope: Scope, frame: Frame) -> str | None:
        """How the name got into traced code; None when it is the traced code's own."""
        if owner.kind == "module":
            bindings = frame.model.global_bindings(read.name)
            imported = any(binding.kind == "import" for binding in bindings)
            return "module-attribute" if imported and read.links else "module-global"
        home = self.ev.frame_of(owner, frame)
        if (home, read.name) in self.outer_parameters:
            return self.outer_parameters[home, read.name].via
        if home.traced:
            return None
        around: Scope | None = self.site.function
        while around is not None and around is not owner:
            around = around.parent
        return "closure-of-called-function" if around is None else "enclosing-scope"

    def _descend(
        self, read: Read, value: Value, scope: Scope, frame: Frame
    ) -> tuple[ast.expr, Value, tuple[ast.expr, ...], tuple[str, Mark] | None]:
        """Follows the attributes and known keys after a name to the array, container or function.

        Returns the expression that is it, its value, what is written after it, and the container it came from.
        """
        node: ast.expr = read.node
        container: tuple[str, Mark] | None = None
        for number, link in enumerate(read.links):
            rest = read.links[number:]
            member = isinstance(value, Transformed) and isinstance(link, ast.Attribute) and value.holds(link.attr)
            if isinstance(value, (Array, FunctionValue, Transformed, PartialValue)) and not member:
                return node, value, rest, container
            if isinstance(link, ast.Subscript):
                key = self.ev.evaluate(link.slice, scope, frame)
                if not isinstance(value, (Sequence, Mapping)) or not isinstance(key, Const):
                    return node, value, rest, container
                container = container or (written(scope.chunk, node), Mark(scope.chunk, node))
            after = self.ev.evaluate(link, scope, frame)
            if isinstance(after, Method) and isinstance(value, (Sequence, Mapping)):
                return node, value, rest, container
            node, value = link, after
        return node, value, (), container

    # -- functions that traced code calls or passes on

    def _follow(self, node: ast.expr, value: Value, scope: Scope, frame: Frame, rest: tuple[ast.expr, ...]) -> None:
        if rest:
            return
        parent = facts_of(scope.chunk).parents.get(id(node))
        given: Given | None = None
        if isinstance(parent, ast.Call) and parent.func is node:
            given = arguments(self.ev, parent, scope, frame)
        elif isinstance(value, Instance):
            return
        self._enter(value, given, frame)

    def _call(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        """Calls of what a call returned, and NumPy arrays that are made on the spot."""
        if isinstance(call.func, ast.Call):
            value = self.ev.evaluate(call.func, scope, frame)
            if isinstance(value, (FunctionValue, PartialValue, Instance)):
                self._enter(value, arguments(self.ev, call, scope, frame), frame)
        value = self.ev.evaluate(call, scope, frame)
        if isinstance(value, Array) and value.made and value.library == "numpy":
            self._made_inline(call, scope, frame)

    def _enter(self, value: Value, given: Given | None, frame: Frame) -> None:
        """Goes into a function of the project that is called with `given`, or with nobody knows what."""
        target = peel(self.ev, value)
        function = target.function
        if function is None or any(entry.is_jit or entry.traces_only for entry in target.chain):
            return
        custom = [layer for layer in derivatives.custom_in(value) if layer not in self.custom]
        self.custom += custom
        self.cut += len(custom)
        scope = function.scope
        key = (scope, function.frame, _hashable(function.bound))
        if function.frame.traced and scope in self.lexical:
            return
        if self._is_compiled(scope):
            return
        if key in self.visited or self.depth > _DEEPEST:
            self.cut += not self.visited.get(key)
            return
        self.visited[key] = False
        if given is None or target.chain or target.partials or target.instance is not None:
            values = _all_tracers(scope)
            names = parameters(scope.function_node)
            if function.bound is not None and names:
                values[names[0]] = function.bound
        else:
            values = bind(self.ev, scope, given, function.frame, function.bound)
            values = {name: _not_made(item) for name, item in values.items()}
        self.visited[key] = self._is_clean(
            Frame(scope, function.frame.model, function.frame, values, traced=True, depth=frame.depth + 1), frame
        )

    def _is_clean(self, inner: Frame, outer: Frame) -> bool:
        """Goes into a function, unless that was done before; does it capture nothing for certain?"""
        key = _hashable((inner.scope, inner.parent, tuple((inner.parameters or {}).items())))
        known = self.ev.clean.get(key)
        if known is not None and known.holds(self.compiled, self.depth):
            for step in known.trail:
                self._step(*step)
            return True
        kept, cut, start = self.list.kept, self.cut, len(self.trail)
        for name, item in (inner.parameters or {}).items():
            if isinstance(item, Instance) and not item.traced:
                self.outer_parameters[inner, name] = _Outer(self._object_via(outer, item))
        self.depth += 1
        self._walk(inner.scope, inner)
        self.depth -= 1
        if (kept, cut) != (self.list.kept, self.cut) or self.ev.spent:
            return False
        self.ev.clean[key] = Clean(self.depth, self.compiled, tuple(dict.fromkeys(self.trail[start:])))
        return True

    def _object_via(self, frame: Frame, value: Instance) -> str:
        for name, item in (frame.parameters or {}).items():
            if item == value and (frame, name) in self.outer_parameters:
                return self.outer_parameters[frame, name].via
        return "captured-object"

    # -- NumPy results made while tracing

    def _made(self, read: Read, value: Value, owner: Scope, scope: Scope, frame: Frame) -> None:
        if not (isinstance(value, Array) and value.made and value.library == "numpy"):
            return
        if not purity.ends_in_traced_code(self.ev, read.node, scope, frame):
            return
        bindings = owner.bindings.get(read.name, [])
        at = next((binding for binding in bindings if binding.kind == "assign"), None)
        stays = purity.what_stays(self.ev, read.node, value, scope, frame)
        if at is None or stays is None:
            return
        self.list.keep(
            ("made", id(at)),
            read.name,
            Mark(at.scope.chunk, at.node),
            "numpy-made-inside",
            stays,
            inner=self.list.inner(owner),
        )

    def _made_inline(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        top = purity.outermost(self.ev, call, scope, frame)
        value = self.ev.evaluate(top, scope, frame)
        if not purity.used_on_the_spot(top, scope) or not isinstance(value, Array):
            return
        mark = Mark(scope.chunk, top)
        name, inner = written(scope.chunk, top), self.list.inner(scope)
        self.list.keep(("made", id(top)), name, mark, "numpy-made-inside", value, inner=inner)

    # -- reporting

    def _report(
        self,
        read: Read,
        node: ast.expr,
        value: Value,
        how: tuple[str, tuple[str, Mark] | None],
        frame: Frame,
    ) -> None:
        scope = read.scope
        via, part_of = how
        name = written(scope.chunk, node)
        owner = self.ev.owner(read.name, scope)
        in_module = owner is None or owner.kind == "module"
        home = frame if owner is None or in_module else self.ev.frame_of(owner, frame)
        outer = self.outer_parameters.get((home, read.name))
        mark = Mark(scope.chunk, node)
        if "." in name and via in ("module-global", "enclosing-scope"):
            via = f"{via}-pytree-field"
        bound = self.origin.of_read(read, node, scope, frame)
        # A global that several files import is one array.
        of_module = id(bound.node) if bound is not None else frame.model.path
        key: tuple[object, ...] = (of_module if in_module else id(owner), name)
        inner = self.list.inner(scope)
        if outer is not None and outer.at is not None and outer.written is not None:
            name = outer.written + name[len(read.name) :]
            self.list.keep(key, name, outer.at, via, value, inner=inner, bound=bound, part_of=part_of, read_at=mark)
        else:
            self.list.keep(key, name, mark, via, value, inner=inner, bound=bound, part_of=part_of)


def _not_made(value: Value) -> Value:
    return replace(value, made=False) if isinstance(value, Array) and value.made else value


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
