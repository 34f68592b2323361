"""The facts of one file: its functions, what is traced, who reads and binds a name."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jaxscope.semantics import programs, sites
from jaxscope.semantics.evaluate import At
from jaxscope.semantics.frames import Frame
from jaxscope.semantics.scopes import Binding, Block, ChunkFacts, Read, Scope, facts_of
from jaxscope.semantics.values import Value
from jaxscope.source.module import Chunk, Module
from jaxscope.text.span import Position, Range

if TYPE_CHECKING:
    from jaxscope.semantics.project import Project


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: str
    """`positional-only`, `positional`, `star`, `keyword-only` or `double-star`."""
    annotation: str | None
    has_default: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A def or lambda, with places in the current text."""

    path: str
    qualname: str
    name: str
    line: int
    """Of the `def` or `lambda`."""
    name_range: Range
    """Of the name; of the word `lambda`."""
    range: Range
    """From the first decorator to the end of the body."""
    parameters: tuple[Parameter, ...]
    parent: str | None
    """Qualified name of the enclosing function."""
    owner_class: str | None
    """Qualified name of the class whose method it is."""
    decorators: tuple[Range, ...]
    stale: bool = False
    """Is it from the last good version of text that does not parse now?"""
    scope: Scope = field(kw_only=True, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TracedSite:
    """A place where a function is handed to a compiling transform."""

    function: Function
    transform: str
    """`jit`, `pmap`, `filter_jit`."""
    place: Range
    """Of the decorator or of the jit call."""
    path: str
    """File of `place`; the function may be in another."""
    static_nums: tuple[int, ...]
    static_names: tuple[str, ...]
    statics: tuple[str, ...]
    """Names of all static parameters."""
    chain: tuple[str, ...]
    """Transforms from the outermost inwards: `("jit", "vmap")`."""
    value: Value = field(kw_only=True, repr=False, compare=False)
    """What is compiled, as the evaluator sees it."""
    scope: Scope = field(kw_only=True, repr=False, compare=False)
    """Where the site stands."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file."""

    path: str
    range: Range


class FileModel:
    """Facts of one version of one file. Worked out when asked for; parts of the file that did not change are kept."""

    def __init__(self, module: Module, project: Project) -> None:
        self.module = module
        self.project = project
        self.path = module.path
        self.chunks: list[tuple[Chunk, ChunkFacts]] = [(chunk, facts_of(chunk)) for chunk in module.chunks]
        for chunk, _ in self.chunks:
            chunk.facts["model"] = self
        self.module_bindings = self._module_bindings()
        self.x64 = "jax_enable_x64" in module.text and _enables_x64(module.text)
        self.reset()

    def reset(self) -> None:
        """Drops what depends on other files."""
        top = self.chunks[0][1].module if self.chunks else Scope("module", "", None, None, Chunk("", [], 1))
        self.module_frame = Frame(top, self, None, {})
        self.__dict__.pop("traced", None)
        self.derived: dict[str, Any] = {}
        """What other layers worked out for this version, by layer; dropped when another file changes."""

    def _module_bindings(self) -> dict[str, list[Binding]]:
        found: dict[str, list[Binding]] = {}
        for _, facts in self.chunks:
            for name, bindings in facts.module.bindings.items():
                found.setdefault(name, []).extend(bindings)
        return found

    # -- functions

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every def and lambda, in source order."""
        found: list[Function] = []
        for chunk, facts in self.chunks:
            first = self.module.first_line(chunk)
            kept = chunk.facts.get("functions")
            if kept is None or kept[0] != (first, self.path):
                made = [self._function(scope) for scope in facts.scopes if scope.is_function]
                kept = chunk.facts["functions"] = ((first, self.path), made)
            found += kept[1]
        return tuple(found)

    def _function(self, scope: Scope) -> Function:
        node, chunk = scope.function_node, scope.chunk
        whole = self.module.range(chunk, node)
        if isinstance(node, ast.Lambda):
            name = Range(whole.start, Position(whole.start.line, whole.start.column + len("lambda")))
            decorators: tuple[Range, ...] = ()
        else:
            name = self.name_range(scope)
            decorators = tuple(self.module.range(chunk, decorator) for decorator in node.decorator_list)
        line = whole.start.line
        start = min([whole.start, *(Position(d.start.line, whole.start.column) for d in decorators)])
        outer = scope.enclosing_function()
        owner = scope.parent if scope.parent is not None and scope.parent.kind == "class" else None
        return Function(
            self.path,
            scope.qualname,
            scope.name,
            line,
            name,
            Range(start, whole.end),
            _parameters(node),
            outer.qualname if outer is not None else None,
            owner.qualname if owner is not None else None,
            decorators,
            chunk.broken,
            scope=scope,
        )

    def name_range(self, scope: Scope) -> Range:
        """Place of the name in `def name` or `class name`."""
        node = scope.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        start = self.module.position(scope.chunk, node.lineno, node.col_offset)
        text = self.module.lines.line(start.line)
        at = text.find(node.name, start.column - 1 + 3)
        column = at + 1 if at >= 0 else start.column
        return Range(Position(start.line, column), Position(start.line, column + len(node.name)))

    @cached_property
    def _by_qualname(self) -> dict[str, Function]:
        return {function.qualname: function for function in self.functions}

    def function(self, qualname: str, line: int | None = None) -> Function | None:
        """The function with that qualified name; with `line`, the one defined there, else the nearest above it."""
        if line is None:
            return self._by_qualname.get(qualname)
        same = [function for function in self.functions if function.qualname == qualname]
        exact = [function for function in same if function.range.start.line <= line <= function.range.end.line]
        return min(exact or same, key=lambda function: abs(function.line - line), default=None)

    def function_of(self, scope: Scope) -> Function:
        """The function whose scope it is, possibly of another file of the project."""
        model: FileModel = scope.module_part().chunk.facts["model"]
        found = next((function for function in model.functions if function.scope is scope), None)
        return found if found is not None else model._function(scope)

    def function_at(self, position: Position) -> Function | None:
        """The innermost function around `position`, decorators included."""
        around = [function for function in self.functions if function.range.contains(position)]
        return max(around, key=lambda function: function.range.start, default=None)

    # -- tracing

    @cached_property
    def traced(self) -> tuple[TracedSite, ...]:
        """Every place of this file where a known function is compiled."""
        found = [self._traced_site(site) for site in sites.find(self)]
        return tuple(sorted(found, key=lambda site: site.place))

    def _traced_site(self, site: sites.Site) -> TracedSite:
        assert site.target.function is not None
        nums, names = sites.static_options(site.value)
        return TracedSite(
            self.function_of(site.target.function.scope),
            site.value.transform.name.rpartition(".")[2],
            self.module.range(site.scope.chunk, site.node),
            self.path,
            nums,
            names,
            sites.static_parameters(site.target, nums, names),
            tuple(entry.name.rpartition(".")[2] for entry in site.target.chain),
            value=site.value,
            scope=site.scope,
        )

    def traced_at(self, position: Position) -> TracedSite | None:
        """The site whose function or jit expression is around `position`; the innermost."""
        best: tuple[Position, TracedSite] | None = None
        for site in self.traced:
            own = [site.function.range] if site.function.path == self.path else []
            for place in [*own, site.place]:
                if place.contains(position) and (best is None or place.start > best[0]):
                    best = (place.start, site)
        return None if best is None else best[1]

    # -- names

    def reads(self, function: Function, name: str) -> tuple[Range, ...]:
        """Where the function, or one nested in it, reads `name` from outside itself, in source order.

        `name` is as written, dotted or subscripted. A nested scope that binds the root of `name` itself is left out.
        """
        wanted = squeezed(name)
        root = wanted.replace("[", ".").partition(".")[0]
        found = []
        for read in self._outer_reads(function.scope, root):
            place = self._written_as(read, wanted)
            if place is not None:
                found.append(place)
        return tuple(sorted(found))

    def written(self, function: Function, name: str) -> tuple[Range, ...]:
        """Where `name` is read in the function or one nested in it, whoever binds it; in source order."""
        wanted = squeezed(name)
        root = wanted.replace("[", ".").partition(".")[0]
        reads = [read for inner in function.scope.walk() for read in inner.reads if read.name == root]
        return tuple(sorted(place for read in reads if (place := self._written_as(read, wanted)) is not None))

    def _outer_reads(self, scope: Scope, root: str) -> Iterator[Read]:
        for inner in scope.walk():
            bound_within = False
            at: Scope | None = inner
            while at is not None and at is not scope.parent:
                own_self = at is scope and root in _first_parameter(scope)
                bound_within = bound_within or (root in at.bindings and root not in at.nonlocals and not own_self)
                at = at.parent
            if not bound_within:
                yield from (read for read in inner.reads if read.name == root)

    def _written_as(self, read: Read, wanted: str) -> Range | None:
        """Place of the shortest part of the read that is written as `wanted`; of the root when `wanted` is that."""
        for node in (read.node, *read.links):
            place = self.module.range(read.scope.chunk, node)
            if squeezed(self.module.source(place)) == wanted:
                return place
        return None

    def binding(self, function: Function, name: str) -> Place | None:
        """Where the value that the function sees under `name` (or its root) was given to it."""
        root = name.replace("[", ".").partition(".")[0]
        owner = self.project.evaluator.owner(root, function.scope)
        if owner is None:
            return None
        bindings = self.module_bindings.get(root, []) if owner.kind == "module" else owner.bindings.get(root, [])
        reaching = self.reaching(bindings, owner, None)
        if not reaching:
            return None
        if reaching[-1].kind == "import":
            return self._imported_binding(reaching[-1], name) or self.place(reaching[-1].scope, reaching[-1].node)
        return self.place(reaching[-1].scope, reaching[-1].node)

    def _imported_binding(self, binding: Binding, name: str) -> Place | None:
        """Where the project's other file binds what is imported from it."""
        path = self.project.resolve(self.path, binding.module, binding.level)
        other = self.project.model(path) if path is not None else None
        attribute = binding.attribute or name.partition(".")[2].partition(".")[0].partition("[")[0]
        found = other.module_bindings.get(attribute, []) if other is not None else []
        return other.place(found[-1].scope, found[-1].node) if other is not None and found else None

    def place(self, scope: Scope, node: ast.AST) -> Place:
        """Place of a tree that stands in `scope`, possibly of another file."""
        chunk = scope.chunk
        model: FileModel = chunk.facts["model"]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = facts_of(chunk).by_node.get(id(node))
            if inner is not None:
                return Place(model.path, model.name_range(inner))
        return Place(model.path, model.module.range(chunk, node))

    # -- what the evaluator asks

    def facts(self, scope: Scope) -> ChunkFacts:
        """Facts of the chunk that `scope` is in."""
        return facts_of(scope.chunk)

    def scope_of(self, scope: Scope, node: ast.AST) -> Scope | None:
        """Scope of a def, lambda, class or comprehension that stands in `scope`."""
        return facts_of(scope.chunk).by_node.get(id(node))

    def chunk_of(self, node: ast.AST) -> Chunk | None:
        """The chunk whose tree has this expression."""
        return next((chunk for chunk, facts in self.chunks if id(node) in facts.parents), None)

    def scope_at(self, chunk: Chunk, node: ast.expr) -> Scope:
        """Scope in which a name is read."""
        facts = facts_of(chunk)
        found = (scope for scope in facts.scopes if any(read.node is node for read in scope.reads))
        return next(found, facts.module)

    def block_of(self, scope: Scope, node: ast.AST) -> Block:
        """Block in which a name is read."""
        return facts_of(scope.chunk).blocks.get(id(node), ())

    def place_key(self, scope: Scope, node: ast.AST) -> tuple[int, int]:
        """Order of a place within this file."""
        return self._key(scope, (node.lineno, node.col_offset))  # type: ignore[attr-defined]

    def _key(self, scope: Scope, order: tuple[int, int]) -> tuple[int, int]:
        chunk = scope.chunk
        return order[0] - chunk.origin + self.module.first_line(chunk), order[1]

    def reaching(self, bindings: list[Binding], owner: Scope, at: At | None) -> list[Binding]:
        """The bindings that can have given a name its value: for code in the same scope those before it and, in a
        loop, behind it; for code that runs later the last ones."""
        if len(bindings) < 2:
            return bindings
        keys = [self._key(binding.scope, binding.order) for binding in bindings]
        block: Block = () if at is None else at[1]
        before = bindings if at is None else bindings[: bisect_left(keys, at[0])]
        found: list[Binding] = []
        for binding in reversed(before):
            found.append(binding)
            if binding.kind != "augmented" and block[: len(binding.block)] == binding.block:
                break
        if at is not None and block:
            loops = set(block) & owner.loops
            found += [b for b in bindings[len(before) :] if loops & set(b.block)]
        return found[::-1] if found else bindings

    def calls_named(self, name: str, within: Scope | None = None) -> list[tuple[ast.Call, Scope]]:
        """Calls of something whose last component is `name`."""
        if within is not None and within.kind != "module":
            calls = facts_of(within.chunk).calls.get(name, [])
            return [(call, scope) for call, scope in calls if scope.owner() is within]
        found: list[tuple[ast.Call, Scope]] = []
        for _, facts in self.chunks:
            found += facts.calls.get(name, ())
        return found

    def other_names(self, name: str) -> set[str]:
        """Names given to what wraps `name`: `solve = jax.jit(objective)`."""
        found: set[str] = set()
        for _, facts in self.chunks:
            found |= facts.aliases.get(name, set())
        return found

    @cached_property
    def runs_when_imported(self) -> str | None:
        """Why importing the file would run a program; None when it only defines things."""
        return programs.reason(self)


def squeezed(text: str) -> str:
    """`text` without blanks and with one kind of quotes: how names are compared."""
    return "".join(text.split()).replace("'", '"')


def _first_parameter(scope: Scope) -> list[str]:
    if scope.parent is None or scope.parent.kind != "class":
        return []
    return [argument.arg for argument in (*scope.function_node.args.posonlyargs, *scope.function_node.args.args)][:1]


def _enables_x64(text: str) -> bool:
    flat = squeezed(text)
    return '"jax_enable_x64",True' in flat or "jax_enable_x64=True" in flat


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[Parameter, ...]:
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    without = len(plain) - len(args.defaults)
    found = []
    for number, argument in enumerate(plain):
        kind = "positional-only" if number < len(args.posonlyargs) else "positional"
        found.append(_parameter(argument, kind, number >= without))
    if args.vararg is not None:
        found.append(_parameter(args.vararg, "star", False))
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append(_parameter(argument, "keyword-only", default is not None))
    if args.kwarg is not None:
        found.append(_parameter(args.kwarg, "double-star", False))
    return tuple(found)


def _parameter(argument: ast.arg, kind: str, has_default: bool) -> Parameter:
    annotation = None if argument.annotation is None else ast.unparse(argument.annotation)
    return Parameter(argument.arg, kind, annotation, has_default)
