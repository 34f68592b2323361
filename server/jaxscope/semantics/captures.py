"""What traced code takes from outside: follows each compiled function through its body, nested functions and the
functions that it calls, and collects the arrays that it reads and did not get as arguments."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jaxscope.semantics import calls, objects, purity
from jaxscope.semantics.frames import Frame
from jaxscope.semantics.scopes import Binding, Read, Scope, facts_of
from jaxscope.semantics.sites import Target, peel
from jaxscope.semantics.values import (
    TRACER,
    UNKNOWN,
    Array,
    ClassValue,
    Const,
    FunctionValue,
    Instance,
    Mapping,
    Method,
    ModuleValue,
    PartialValue,
    Sequence,
    Transformed,
    Value,
    leaves,
)
from jaxscope.semantics.vocabulary import METADATA
from jaxscope.text.span import Range

if TYPE_CHECKING:
    from jaxscope.semantics.model import FileModel, Place, TracedSite

_DEEPEST = 16
_PARTIAL_VIA = {"functools.partial": "functools.partial", "jax.tree_util.Partial": "tree_util.Partial"}


@dataclass(slots=True)
class Capture:
    """One array, or container of arrays, that a compiled function takes in as a constant."""

    site: TracedSite
    name: str
    """As written at `place`."""
    path: str
    place: Range
    via: str
    value: Value
    inner: Scope | None
    """The function that does the read, when it is not the compiled one."""
    bound: Place | None
    container: str | None = None
    """Name of the container that it was taken out of by a known key."""
    also: list[Range] = field(default_factory=list)
    """Further reads in the same file."""
    stale: bool = False
    """Does the read stand in text that does not parse now?"""


def captures_of(model: FileModel) -> list[Capture]:
    """Captures of every compiled function of the file."""
    kept: list[Capture] | None = model.derived.get("captures")
    if kept is None:
        kept = model.derived["captures"] = _Survey(model).run()
    return kept


class _Survey:
    """All sites of a file. Those inside functions that are themselves traced come last, when that is known."""

    def __init__(self, model: FileModel) -> None:
        self.model = model
        self.reached: set[int] = {id(site.function.scope) for site in model.traced}
        self.compiled = set(self.reached)

    def run(self) -> list[Capture]:
        found: list[Capture] = []
        waiting = list(self.model.traced)
        for _ in range(2):
            later = []
            for site in waiting:
                if self._inside_traced(site.scope) and _ == 0:
                    later.append(site)
                else:
                    found += _Walk(self, site).run()
            waiting = later
        return found

    def _inside_traced(self, scope: Scope | None) -> bool:
        at = scope
        while at is not None:
            if id(at) in self.reached:
                return True
            at = at.parent
        return False

    def home(self, frame: Frame) -> Frame:
        """`frame`, as it is while tracing when its function is traced."""
        if frame.parent is None or frame.traced:
            return frame
        parent = self.home(frame.parent)
        if id(frame.scope) in self.reached or parent.traced:
            return Frame(frame.scope, frame.model, parent, _all_tracers(frame.scope), traced=True)
        return frame


def _all_tracers(scope: Scope) -> dict[str, Value]:
    return {
        name: TRACER for name, bindings in scope.bindings.items() if any(b.kind == "parameter" for b in bindings)
    }


class _Walk:
    """One compiled function."""

    def __init__(self, survey: _Survey, site: TracedSite) -> None:
        self.survey = survey
        self.site = site
        self.ev = survey.model.project.evaluator
        self.found: dict[object, Capture] = {}
        self.visited: set[object] = set()
        self.lexical: set[int] = set()
        self.outer_parameters: dict[tuple[int, str], tuple[str, str, Range | None]] = {}
        """Parameters that stand for something from outside, by frame and name: how it got in, how it is written
        outside, and where."""
        self.depth = 0

    def run(self) -> list[Capture]:
        target = peel(self.ev, self.site.value)
        if target.function is None:
            return []
        function = target.function
        self.lexical = {id(scope) for scope in function.scope.walk()}
        for partial in target.partials:
            self._partial(partial)
        frame = Frame(
            function.scope,
            function.frame.model,
            self.survey.home(function.frame),
            {},
            traced=True,
        )
        frame.parameters = self._parameters(target, function, frame)
        self._walk(function.scope, frame)
        return sorted(self.found.values(), key=lambda capture: (capture.path, capture.place))

    # -- parameters of the compiled function

    def _parameters(self, target: Target, function: FunctionValue, frame: Frame) -> dict[str, Value]:
        scope = function.scope
        values = _all_tracers(scope)
        names = calls.parameters(scope.function_node)
        takes_self = any(entry.takes_self for entry in target.chain)
        if function.bound is not None and names and not takes_self:
            values[names[0]] = function.bound
            self._bound_self(target, function, frame, names[0])
        rest = names[1:] if function.bound is not None else names
        for partial in reversed(target.partials):
            values.update(zip(rest, partial.args, strict=False))
            values.update(partial.keywords)
            rest = rest[len(partial.args) :]
        generic = self.ev.generic_frame(scope, function.frame.model)
        for name in self.site.statics:
            if name in values:
                values[name] = calls.passed(self.ev, generic, name)
                own = objects.is_self(scope, name)
                via = "static-self-attribute" if own else "static-argument"
                self.outer_parameters[id(frame), name] = (via, name, None)
        for name, default in self._used_defaults(scope, function.frame).items():
            if values.get(name) is TRACER:
                values[name] = default
                self.outer_parameters[id(frame), name] = ("default-argument", name, None)
        return values

    def _bound_self(self, target: Target, function: FunctionValue, frame: Frame, name: str) -> None:
        via, written, place = "bound-self-attribute", name, None
        if target.instance is not None and isinstance(self.site.value, Transformed):
            via = "jitted-callable-object"
            call = self.site.value.call
            argument = call.args[0] if isinstance(call, ast.Call) and call.args else None
            if isinstance(argument, (ast.Name, ast.Attribute)):
                module = self.survey.model.module
                place = module.range(self.site.scope.chunk, argument)
                written = module.source(place)
        self.outer_parameters[id(frame), name] = (via, written, place)

    def _used_defaults(self, scope: Scope, home: Frame) -> dict[str, Value]:
        """Defaults that are arrays and that some call in sight leaves to apply."""
        found = {
            name: value
            for name, value in calls.defaults(self.ev, scope, home).items()
            if next(leaves(value), None) is not None
        }
        if not found:
            return found
        names = calls.parameters(scope.function_node)
        sites = objects.calls_of(self.ev, scope, self.ev.generic_frame(scope, home.model))
        for name in list(found):
            at = names.index(name) if name in names else len(names)
            gives = [len(call.args) > at or any(k.arg == name for k in call.keywords) for call, _ in sites]
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
            if next(leaves(value), None) is None:
                continue
            place = model.module.range(found, node)
            bound = None
            if isinstance(node, ast.Name):
                bound = self._binding_place(node.id, model.scope_at(found, node), partial.frame)
            self._keep(
                Capture(
                    self.site,
                    _written(model, place),
                    model.path,
                    place,
                    _PARTIAL_VIA.get(partial.kind, partial.kind),
                    value,
                    None,
                    bound,
                    stale=found.broken,
                ),
                ("partial", id(node)),
            )

    # -- walking

    def _walk(self, scope: Scope, frame: Frame) -> None:
        self.survey.reached.add(id(scope))
        for read in scope.reads:
            self._read(read, scope, frame)
        for call, _ in scope.calls:
            self._call(call, scope, frame)
        for child in scope.children:
            if not child.is_function:
                self._walk(child, frame)
            elif id(child) not in self.survey.compiled:
                inner = Frame(child, frame.model, frame, _all_tracers(child), traced=True)
                self._walk(child, inner)

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
                self._report(read, node, stays, (via, container), scope, frame)

    def _how(self, read: Read, owner: Scope, scope: Scope, frame: Frame) -> str | None:
        """How the name got into traced code; None when it is the traced code's own."""
        if owner.kind == "module":
            bindings = frame.model.module_bindings.get(read.name, [])
            imported = any(binding.kind == "import" for binding in bindings)
            return "module-attribute" if imported and read.links else "module-global"
        home = self.ev.frame_of(owner, frame)
        if (id(home), read.name) in self.outer_parameters:
            return self.outer_parameters[id(home), read.name][0]
        if home.traced:
            return None
        around: Scope | None = self.site.function.scope
        while around is not None and around is not owner:
            around = around.parent
        return "closure-of-called-function" if around is None else "enclosing-scope"

    def _descend(
        self, read: Read, value: Value, scope: Scope, frame: Frame
    ) -> tuple[ast.expr, Value, tuple[ast.expr, ...], str | None]:
        """Follows the attributes and known keys after a name to the array, container or function.

        Returns the expression that is it, its value, what is written after it, and the container it came from.
        """
        node: ast.expr = read.node
        container: str | None = None
        for number, link in enumerate(read.links):
            rest = read.links[number:]
            if isinstance(value, (Array, FunctionValue, Transformed, PartialValue)):
                return node, value, rest, container
            if isinstance(link, ast.Subscript):
                key = self.ev.evaluate(link.slice, scope, frame)
                if not isinstance(value, (Sequence, Mapping)) or not isinstance(key, Const):
                    return node, value, rest, container
                container = container or _source(frame.model, scope, node)
            after = self.ev.evaluate(link, scope, frame)
            if isinstance(after, Method) and isinstance(value, (Sequence, Mapping)):
                return node, value, rest, container
            node, value = link, after
        return node, value, (), container

    # -- functions that traced code calls or passes on

    def _follow(
        self, node: ast.expr, value: Value, scope: Scope, frame: Frame, rest: tuple[ast.expr, ...]
    ) -> None:
        if rest:
            return
        parent = facts_of(scope.chunk).parents.get(id(node))
        given: calls.Given | None = None
        if isinstance(parent, ast.Call) and parent.func is node:
            given = calls.arguments(self.ev, parent, scope, frame)
        elif isinstance(value, Instance):
            return
        self._enter(value, given, frame)

    def _call(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        """Calls of what a call returned, and NumPy arrays that are made on the spot."""
        if isinstance(call.func, ast.Call):
            value = self.ev.evaluate(call.func, scope, frame)
            if isinstance(value, (FunctionValue, PartialValue, Instance)):
                self._enter(value, calls.arguments(self.ev, call, scope, frame), frame)
        value = self.ev.evaluate(call, scope, frame)
        if isinstance(value, Array) and value.made and value.library == "numpy":
            self._made_inline(call, scope, frame)

    def _enter(self, value: Value, given: calls.Given | None, frame: Frame) -> None:
        """Goes into a function of the project that is called with `given`, or with nobody knows what."""
        target = peel(self.ev, value)
        function = target.function
        if function is None or any(entry.is_jit or entry.traces_only for entry in target.chain):
            return
        scope = function.scope
        key = (id(scope), id(function.frame), _hashable(function.bound))
        if function.frame.traced and id(scope) in self.lexical:
            return
        if key in self.visited or id(scope) in self.survey.compiled or self.depth > _DEEPEST:
            return
        self.visited.add(key)
        if given is None or target.chain or target.partials or target.instance is not None:
            values = _all_tracers(scope)
            names = calls.parameters(scope.function_node)
            if function.bound is not None and names:
                values[names[0]] = function.bound
        else:
            values = calls.bind(self.ev, scope, given, function.frame, function.bound)
            values = {name: _not_made(item) for name, item in values.items()}
        inner = Frame(scope, function.frame.model, function.frame, values, traced=True, depth=frame.depth + 1)
        for name, item in values.items():
            if isinstance(item, Instance) and (item.init is None or not item.init.traced):
                self.outer_parameters[id(inner), name] = (self._object_via(frame, item), name, None)
        self.depth += 1
        self._walk(scope, inner)
        self.depth -= 1

    def _object_via(self, frame: Frame, value: Instance) -> str:
        for name, item in (frame.parameters or {}).items():
            if item == value and (id(frame), name) in self.outer_parameters:
                return self.outer_parameters[id(frame), name][0]
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
        bound = frame.model.place(at.scope, at.node)
        inner = self._inner(owner)
        made = Capture(self.site, read.name, bound.path, bound.range, "numpy-made-inside", stays, inner, None)
        self._keep(made, ("made", id(at)))

    def _made_inline(self, call: ast.Call, scope: Scope, frame: Frame) -> None:
        top = purity.outermost(self.ev, call, scope, frame)
        value = self.ev.evaluate(top, scope, frame)
        if not purity.used_on_the_spot(top, scope) or not isinstance(value, Array):
            return
        place = frame.model.module.range(scope.chunk, top)
        self._keep(
            Capture(
                self.site,
                _written(frame.model, place),
                frame.model.path,
                place,
                "numpy-made-inside",
                value,
                self._inner(scope),
                None,
            ),
            ("made", id(top)),
        )

    # -- reporting

    def _report(
        self, read: Read, node: ast.expr, value: Value, how: tuple[str, str | None], scope: Scope, frame: Frame
    ) -> None:
        via, container = how
        model = frame.model
        place = model.module.range(scope.chunk, node)
        name = _written(model, place)
        owner = self.ev.owner(read.name, scope)
        in_module = owner is None or owner.kind == "module"
        home = frame if owner is None or in_module else self.ev.frame_of(owner, frame)
        key: tuple[object, ...] = (model.path if in_module else id(owner), name)
        bound = self._bound(read, node, scope, frame)
        inner = self._inner(scope)
        _, written, site_place = self.outer_parameters.get((id(home), read.name), ("", "", None))
        capture = Capture(self.site, name, model.path, place, via, value, inner, bound, container)
        capture.stale = scope.chunk.broken
        if site_place is not None:
            capture.name = written + name[len(read.name) :]
            capture.also.append(place)
            capture.path, capture.place = self.survey.model.path, site_place
        if "." in name and via in ("module-global", "enclosing-scope"):
            capture.via = f"{via}-pytree-field"
        self._keep(capture, key)

    def _keep(self, capture: Capture, key: object) -> None:
        kept = self.found.get(key)
        if kept is None:
            self.found[key] = capture
            return
        first, later = (kept, capture) if self._before(kept, capture) else (capture, kept)
        if later.path == first.path and later.place != first.place and later.place not in first.also:
            first.also.append(later.place)
        first.also += [place for place in later.also if place not in first.also and later is not first]
        self.found[key] = first

    def _before(self, one: Capture, other: Capture) -> bool:
        """Does `one` come first? The compiled function's own file and body before what it calls."""
        body = self.site.function
        own = [c.path == body.path and body.range.contains(c.place.start) for c in (one, other)]
        return own[0] if own[0] != own[1] else (one.path, one.place) <= (other.path, other.place)

    def _inner(self, scope: Scope) -> Scope | None:
        at: Scope | None = scope.owner()
        while at is not None and not at.is_function:
            at = at.parent
        return None if at is None or at is self.site.function.scope else at

    def _bound(self, read: Read, node: ast.expr, scope: Scope, frame: Frame) -> Place | None:
        """Where the value was given: the attribute's assignment, the other module's global, or the name's binding."""
        if isinstance(node, ast.Attribute):
            owner = self.ev.evaluate(node.value, scope, frame)
            if isinstance(owner, ModuleValue):
                other = self.survey.model.project.model(owner.path)
                bindings = other.module_bindings.get(node.attr, []) if other is not None else []
                return other.place(bindings[-1].scope, bindings[-1].node) if other is not None and bindings else None
            if isinstance(owner, (Instance, ClassValue)) and (isinstance(owner, ClassValue) or owner.given is None):
                written = objects.written_at(self.ev, owner, node.attr)
                if written is not None:
                    return frame.model.place(*written)
        return self._binding_place(read.name, scope, frame)

    def _binding_place(self, name: str, scope: Scope, frame: Frame) -> Place | None:
        owner = self.ev.owner(name, scope)
        if owner is None:
            return None
        model = frame.model
        found = model.module_bindings.get(name, []) if owner.kind == "module" else owner.bindings.get(name, [])
        last: Binding | None = next(iter(reversed(model.reaching(found, owner, None))), None)
        if last is None:
            return None
        if last.kind == "import":
            return self._imported_place(last, frame)
        if last.kind == "parameter":
            return self._argument_place(owner, name, frame) or model.place(last.scope, last.node)
        return model.place(last.scope, last.node)

    def _imported_place(self, binding: Binding, frame: Frame) -> Place | None:
        project = self.survey.model.project
        path = project.resolve(frame.model.path, binding.module, binding.level)
        other = project.model(path) if path is not None else None
        if other is None:
            return None
        found = other.module_bindings.get(binding.attribute, [])
        return other.place(found[-1].scope, found[-1].node) if found else None

    def _argument_place(self, owner: Scope, name: str, frame: Frame) -> Place | None:
        """Where the argument that becomes this parameter was bound by the only caller in sight."""
        sites = objects.calls_of(self.ev, owner, self.ev.generic_frame(owner, frame.model))
        if len(sites) != 1 or not owner.is_function:
            return None
        call, where = sites[0]
        names = calls.parameters(owner.function_node)
        at = names.index(name) if name in names else -1
        node = call.args[at] if 0 <= at < len(call.args) else None
        node = next((keyword.value for keyword in call.keywords if keyword.arg == name), node)
        if not isinstance(node, ast.Name):
            return None
        bindings = self.ev.owner(node.id, where)
        if bindings is None or bindings.kind == "module" or bindings is owner:
            return None
        found = frame.model.reaching(bindings.bindings.get(node.id, []), bindings, None)
        return frame.model.place(found[-1].scope, found[-1].node) if found else None


def _not_made(value: Value) -> Value:
    return replace(value, made=False) if isinstance(value, Array) and value.made else value


def _hashable(value: Value | None) -> object:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _source(model: FileModel, scope: Scope, node: ast.expr) -> str:
    return _written(model, model.module.range(scope.chunk, node))


def _written(model: FileModel, place: Range) -> str:
    """Source at `place` on one line."""
    return " ".join(model.module.source(place).split())

