"""Follows one compiled function through its body, nested functions and the functions that it calls, and collects the
arrays that it reads and did not get as arguments."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from jaxscope.semantics.captured.capture import Mark
from jaxscope.semantics.captured.listing import CaptureList, written
from jaxscope.semantics.captured.objects import CapturedObjects, hashable
from jaxscope.semantics.captured.origin import Origin
from jaxscope.semantics.captured.parameters import OutsideParameters, all_tracers, traced_parameters
from jaxscope.semantics.captured.visits import Found, TracedCode, Visits
from jaxscope.semantics.compiled import derivatives, purity
from jaxscope.semantics.compiled.sites import Site, Target, leading, peel
from jaxscope.semantics.evaluation import branches
from jaxscope.semantics.evaluation.arguments import Given, arguments, bind, parameters
from jaxscope.semantics.evaluation.evaluate import Evaluator
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.evaluation.values import (
    TRACER,
    UNKNOWN,
    Array,
    Const,
    External,
    FunctionValue,
    Instance,
    Mapping,
    Method,
    ModuleValue,
    PartialValue,
    Sequence,
    Transformed,
    Tree,
    Value,
    as_argument,
    leaves,
)
from jaxscope.semantics.names.scopes import Read, Scope, facts_of
from jaxscope.semantics.vocabulary import METADATA, Transform, transform

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel


class Walk:
    """One compiled function."""

    def __init__(self, model: FileModel, compiled: frozenset[Scope], ev: Evaluator, site: Site, chunk: Found) -> None:
        self.model = model
        self.chunk = chunk
        self.site = site
        self.origin = Origin(ev)
        self.ev = ev
        self.list = CaptureList(model, site)
        self.visits = Visits(compiled, chunk, ev.clean)
        self.lexical = set(site.function.walk())
        self.outside = OutsideParameters(ev, site, self.list, self.origin)
        self.objects = CapturedObjects(ev, self.list, self.origin)
        self.custom: list[Transformed] = []
        """Functions with derivatives of their own that were met."""

    def run(self) -> None:
        """Adds to what is found in the chunk."""
        value = self.site.value(self.ev, self.model)
        target = peel(self.ev, value) if value is not None else Target()
        if target.function is None or value is None:
            return
        function = target.function
        for bound in target.partials:
            if bound not in target.taken_apart:
                self.outside.take_partial(bound)
        frame = Frame(function.scope, function.frame.model, self._home(function.frame), {}, traced=True)
        frame.parameters = self.outside.of_compiled(target, function, frame)
        self.custom += derivatives.custom_in(value)
        self._walk(function.scope, frame)
        self._derivatives(target, frame)
        self.chunk.captures += self.list.found.values()
        self.chunk.code.append(TracedCode(self.site, self._walked()))

    def _derivatives(self, target: Target, frame: Frame) -> None:
        """Goes into the rules of functions with their own derivatives, if anything is differentiated."""
        if not self.custom:
            return
        if any(entry.differentiates for entry in target.chain) or derivatives.mentioned(self.ev, self._walked()):
            for function in self.custom:  # the functions gone into may add to these
                for rule in derivatives.rules_of(self.ev, function):
                    if isinstance(rule, FunctionValue):
                        rule = replace(rule, frame=self._home(rule.frame, self.chunk.reached))
                    self._enter(rule, None, frame)

    def _walked(self) -> tuple[Scope, ...]:
        return tuple(dict.fromkeys(scope for scope, asked in self.visits.trail if asked is None))

    def _home(self, frame: Frame, traced: Collection[Scope] = ()) -> Frame:
        """`frame`, as it is while tracing when its function is traced."""
        if frame.parent is None or frame.traced:
            return frame
        parent = self._home(frame.parent, traced)
        if frame.scope in self.chunk.enclosed or frame.scope in traced or parent.traced:
            return Frame(frame.scope, frame.model, parent, all_tracers(frame.scope), traced=True)
        return frame

    # -- walking

    def _walk(self, scope: Scope, frame: Frame) -> None:
        self.ev.look_at(scope)
        self.visits.step(scope, None)
        callables = [
            self._read(read, scope, frame)
            for read in scope.reads
            if not branches.never_runs(self.ev, read.block, scope, frame)
        ]
        for one in filter(None, callables):  # the objects that are handed to them have been met
            self._follow(*one, scope, frame)
        for call, block in scope.calls:
            if not branches.never_runs(self.ev, block, scope, frame):
                self._call(call, scope, frame)
        for child in scope.children:
            if not child.is_function:
                self._walk(child, frame)
            elif not self.visits.is_compiled(child) and not self._is_only_looked_at(child, scope, frame):
                values = traced_parameters(self.ev, child, frame)
                inner = Frame(child, frame.model, frame, values, traced=True)
                self._walk(child, inner)

    def _is_only_looked_at(self, function: Scope, scope: Scope, frame: Frame) -> bool:
        """Is a function inside a traced one needed for the shapes of its results alone, as by `eval_shape`?"""
        if isinstance(function.node, ast.Lambda):
            return self._for_shapes(function.node, scope, frame)
        reads = [
            read
            for inner in scope.walk()
            for read in inner.reads
            if read.name == function.name and self.ev.owner(read.name, inner) is scope.owner()
        ]
        return bool(reads) and all(self._for_shapes(read.node, read.scope, frame) for read in reads)

    def _for_shapes(self, node: ast.expr, scope: Scope, frame: Frame) -> bool:
        entry = self._given_to(node, scope, frame)
        return entry is not None and entry.traces_only

    def _given_to(self, node: ast.expr, scope: Scope, frame: Frame) -> Transform | None:
        """The transform that `node` is an argument of."""
        call = facts_of(scope.chunk).parents.get(id(node))
        if not isinstance(call, ast.Call) or call.func is node:
            return None
        callee = self.ev.evaluate(call.func, scope, frame)
        return transform(callee.name) if isinstance(callee, External) else None

    def _read(self, read: Read, scope: Scope, frame: Frame) -> tuple[ast.expr, Value] | None:
        """Takes down what is captured there; gives what may be called, to be followed."""
        owner = self.ev.owner(read.name, scope)
        if owner is None:
            return None
        value = self.ev.evaluate(read.node, scope, frame)
        if value is UNKNOWN or value is TRACER:
            return None
        via = self._how(read, owner, scope, frame)
        node, value, rest, container = self._descend(read, value, scope, frame)
        if via is not None:
            self.objects.meet(read, node, value, via, frame)
        if isinstance(value, (FunctionValue, Transformed, PartialValue, Instance)):
            return None if rest else (node, value)
        if via is None:
            self._made(read, value, owner, scope, frame)
        elif not (rest and isinstance(rest[0], ast.Attribute) and rest[0].attr in METADATA):
            stays = purity.what_stays(self.ev, node, value, scope, frame)
            if stays is not None and next(leaves(stays), None) is not None:
                self._report(read, node, stays, (via, container), frame)
        return None

    def _how(self, read: Read, owner: Scope, scope: Scope, frame: Frame) -> str | None:
        """How the name got into traced code; None when it is the traced code's own."""
        if owner.kind == "module":
            bindings = frame.model.global_bindings(read.name)
            imported = any(binding.kind == "import" for binding in bindings)
            return "module-attribute" if imported and read.links else "module-global"
        home = self.ev.frame_of(owner, frame)
        if (home, read.name) in self.outside.found:
            return self.outside.found[home, read.name].via
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
                if not isinstance(value, (Sequence, Mapping, Tree)) or not isinstance(key, Const):
                    return node, value, rest, container
                container = container or (written(scope.chunk, node), Mark(scope.chunk, node))
            after = self.ev.evaluate(link, scope, frame)
            if isinstance(after, Method) and isinstance(value, (Sequence, Mapping)):
                return node, value, rest, container
            node, value = link, after
        return node, value, (), container

    # -- functions that traced code calls or passes on

    def _follow(self, node: ast.expr, value: Value, scope: Scope, frame: Frame) -> None:
        parent = facts_of(scope.chunk).parents.get(id(node))
        given: Given | None = None
        if isinstance(parent, ast.Call) and parent.func is node:
            given = arguments(self.ev, parent, scope, frame)
        elif (entry := self._given_to(node, scope, frame)) is not None:
            if entry.traces_only:
                return
        elif isinstance(value, Instance):
            return
        self._enter(value, given, frame)

    def _call(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        """Calls of what a call returned, and NumPy arrays that are made on the spot."""
        if isinstance(call.func, ast.Call):
            value = self.ev.evaluate(call.func, scope, frame)
            if isinstance(value, (FunctionValue, PartialValue, Instance, Transformed)):
                self._enter(value, arguments(self.ev, call, scope, frame), frame)
        value = self.ev.evaluate(call, scope, frame)
        if isinstance(value, ModuleValue):
            self._looked_up(call, scope, frame)
        if isinstance(value, Array) and value.made and value.library == "numpy":
            self._made_inline(call, scope, frame)

    def _looked_up(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        """Takes down `globals()["W"]`."""
        node = facts_of(scope.chunk).parents.get(id(call))
        if isinstance(node, ast.Subscript) and node.value is call:
            value = self.ev.evaluate(node, scope, frame)
            stays = purity.what_stays(self.ev, node, value, scope, frame)
            name, mark = written(scope.chunk, node), Mark(scope.chunk, node)
            if stays is not None:
                self.list.keep(
                    (frame.model.path, name), name, mark, "module-global", stays, inner=self.list.inner(scope)
                )

    def _enter(self, value: Value, given: Given | None, frame: Frame) -> None:
        """Goes into a function of the project that is called with `given`, or with nobody knows what."""
        target = peel(self.ev, value)
        function = target.function
        if function is None or any(entry.is_jit or entry.traces_only for entry in target.chain):
            return
        custom = [layer for layer in derivatives.custom_in(value) if layer not in self.custom]
        self.custom += custom
        self.visits.doubts += len(custom)
        scope = function.scope
        values = self._given(target, function, given)
        objects = tuple((name, item) for name, item in values.items() if isinstance(item, Instance) and item.argument)
        key = (scope, function.frame, hashable(function.bound), objects)
        if function.frame.traced and scope in self.lexical and not objects:
            return
        if self.visits.is_compiled(scope):
            return
        if self.visits.are_over(key):
            return
        inner = Frame(scope, function.frame.model, function.frame, values, traced=True, depth=frame.depth + 1)
        memory = hashable((scope, function.frame, tuple(values.items())))
        self.visits.go(key, memory, partial(self._captures_nothing, inner, frame))

    def _given(self, target: Target, function: FunctionValue, given: Given | None) -> dict[str, Value]:
        """Values of the parameters of a function that is called with `given`, or with nobody knows what."""
        values = traced_parameters(self.ev, function.scope, function.frame)
        names = parameters(function.scope.function_node)
        if given is not None and not target.partials and not leading(target):
            found = bind(self.ev, function.scope, given, function.frame, function.bound)
            if not target.chain and target.instance is None:
                return {name: _not_made(item) for name, item in found.items()}
            values.update((name, as_argument(item)) for name, item in found.items() if isinstance(item, Instance))
        if function.bound is not None and names:
            values[names[0]] = function.bound
        return values

    def _captures_nothing(self, inner: Frame, outer: Frame) -> bool:
        """Goes into a function; is nothing found there?"""
        kept = self.list.kept
        self.outside.hand_on(inner, outer)
        self._walk(inner.scope, inner)
        return kept == self.list.kept and not self.ev.spent

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
        if self.objects.take(read, node, value, frame):
            return
        owner = self.ev.owner(read.name, scope)
        in_module = owner is None or owner.kind == "module"
        home = frame if owner is None or in_module else self.ev.frame_of(owner, frame)
        outer = self.outside.found.get((home, read.name))
        mark = Mark(scope.chunk, node)
        if "." in name and via in ("module-global", "enclosing-scope"):
            via = f"{via}-pytree-field"
        bound = self.origin.of_read(read, node, scope, frame)
        first = _first_name(bound) if bound is not None and node is read.node else None
        # A global that several files import is one array, and so is one with two names.
        of_module = id(bound.node) if bound is not None else frame.model.path
        key: tuple[object, ...] = first or (of_module if in_module else id(owner), name)
        inner = self.list.inner(scope)
        if outer is not None and outer.at is not None and outer.written is not None:
            name = outer.written + name[len(read.name) :]
            self.list.keep(key, name, outer.at, via, value, inner=inner, bound=bound, part_of=part_of, read_at=mark)
        else:
            self.list.keep(key, name, mark, via, value, inner=inner, bound=bound, part_of=part_of)


def _first_name(bound: Mark) -> tuple[object, ...] | None:
    """Tells the array of `W = V = ...` from others; None where one name is bound."""
    bindings = [one for scope in facts_of(bound.chunk).scopes for many in scope.bindings.values() for one in many]
    value = next((one.value for one in bindings if one.node is bound.node and not one.path), None)
    same = [one for one in bindings if value is not None and one.value is value and not one.path]
    return ("named", id(value)) if len(same) > 1 else None


def _not_made(value: Value) -> Value:
    return replace(value, made=False) if isinstance(value, Array) and value.made else value
