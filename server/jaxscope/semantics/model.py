"""The facts of one file: its functions, what is traced, who reads and binds a name."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from jaxscope.semantics import programs
from jaxscope.semantics.compiled.functions import Function as Function
from jaxscope.semantics.compiled.functions import Parameter as Parameter
from jaxscope.semantics.compiled.functions import Place as Place
from jaxscope.semantics.compiled.functions import TracedSite as TracedSite
from jaxscope.semantics.compiled.functions import parameters_of
from jaxscope.semantics.compiled.sites import Site, find
from jaxscope.semantics.dependencies import ANY_FILE, Dependencies, change_between
from jaxscope.semantics.evaluation.evaluate import At, Evaluator
from jaxscope.semantics.evaluation.frames import Frame
from jaxscope.semantics.kept import Kept, drop, keep
from jaxscope.semantics.names.globals import Globals
from jaxscope.semantics.names.methods import is_self
from jaxscope.semantics.names.scopes import AttributeWrite, Binding, Block, ChunkFacts, Read, Scope, facts_of
from jaxscope.semantics.prefilter import may_compile
from jaxscope.source.module import Chunk, Module
from jaxscope.text.span import Position, Range

if TYPE_CHECKING:
    from jaxscope.semantics.project import Project

_Result = TypeVar("_Result")


class FileModel:
    """Facts of one version of one file. Worked out when asked for; parts of the file that did not change are kept."""

    def __init__(self, module: Module, project: Project, previous: FileModel | None = None) -> None:
        self.module = module
        self.project = project
        self.path = module.path
        for chunk in module.chunks:
            chunk.facts["model"] = self
        self.top = facts_of(module.chunks[0] if module.chunks else Chunk("", [], 1)).module
        self.top.chunk.facts["model"] = self
        self.module_bindings = Globals(module.chunks)
        self.x64 = "jax_enable_x64" in module.text and _enables_x64(module.text)
        self._worked_out: dict[str, Any] = {}
        """What other layers made of this version as a whole, by layer; dropped when another file changes."""
        if previous is not None:
            self._take_over(previous)

    def _take_over(self, previous: FileModel) -> None:
        """Drops what was worked out about kept chunks where it rests on something that changed."""
        old, new = previous.module.chunks, self.module.chunks
        change = change_between(_pairs(set(old) - set(new)), _pairs(set(new) - set(old)))
        gone = (lambda _: True) if self.x64 != previous.x64 else change.touches
        for chunk in new:
            drop(chunk, gone)

    def other_file_changed(self, path: str | None) -> None:
        """Drops what rests on another file; None: on anything outside this one, found or not."""
        for chunk in self.module.chunks:
            drop(chunk, lambda rests_on: path is None or path in rests_on.paths or ANY_FILE in rests_on.paths)
        self._worked_out.clear()
        self.__dict__.pop("sites", None)
        self.__dict__.pop("traced", None)

    def kept(self, chunk: Chunk, layer: str, work: Callable[[Evaluator], Any]) -> Any:
        """What `work` makes of a chunk, kept until something changes that it looked at."""
        found: Kept | None = chunk.facts.get(layer)
        if found is not None:
            return found.result
        fixed = self.project.fixed
        evaluator = self.project.evaluator.begin() if fixed else Evaluator(self.project, self)
        result = work(evaluator)
        return keep(chunk, layer, Kept(result, Dependencies() if fixed else evaluator.seen))

    def once(self, layer: str, work: Callable[[], _Result]) -> _Result:
        """What `work` makes of this version of the file as a whole."""
        if layer not in self._worked_out:
            self._worked_out[layer] = work()
        found: _Result = self._worked_out[layer]
        return found

    @property
    def module_frame(self) -> Frame:
        """The frame of the file's globals, for the project's own evaluator."""
        return self.project.evaluator.module_frame(self)

    @property
    def chunks(self) -> list[tuple[Chunk, ChunkFacts]]:
        """All parts of the file with their facts."""
        return _pairs(self.module.chunks)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Names under which an object of the file's classes may hold something else than a plain method."""
        return frozenset().union(*(facts.attributes for _, facts in self.chunks))

    def _mentioning(self, name: str) -> list[ChunkFacts]:
        """Facts of the parts of the file in which a name is written; with none, of all."""
        return [facts_of(chunk) for chunk in self.module.chunks if not name or name in chunk.words]

    def global_bindings(self, name: str) -> list[Binding]:
        """Bindings of a global, one that a star import brings included; none when the file has no such name."""
        if name in self.module_bindings:
            return self.module_bindings[name]
        if "*" not in self.module_bindings or name.startswith("_"):
            return []
        known = self.once("starred", dict[str, Binding])
        for star in reversed(self.module_bindings["*"]):
            path = self.project.resolve(self.path, star.module, star.level)
            if path is not None and self._gives(path, name, {self.path}):
                if name not in known or known[name].node is not star.node:
                    known[name] = replace(star, name=name, attribute=name)
                return [known[name]]
        return []

    def bindings_of(self, name: str, owner: Scope) -> list[Binding]:
        """What binds a name of the scope that has it."""
        return self.global_bindings(name) if owner.kind == "module" else owner.bindings.get(name, [])

    def _gives(self, path: str, name: str, asked: set[str]) -> bool:
        """Does the file at `path` have the global, itself or by a star import of its own?"""
        other = self.project.model(path) if path not in asked else None
        if other is None or name in other.module_bindings:
            return other is not None
        asked.add(path)
        stars = other.module_bindings.get("*", ())
        paths = (self.project.resolve(path, star.module, star.level) for star in stars)
        return any(self._gives(inner, name, asked) for inner in paths if inner is not None)

    # -- functions

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every def and lambda, in source order."""
        return tuple(function for chunk in self.module.chunks for function in self._functions_of(chunk).values())

    def _functions_of(self, chunk: Chunk) -> dict[Scope, Function]:
        first = self.module.first_line(chunk)
        kept = chunk.facts.get("functions")
        if kept is None or kept[0] != (first, self.path):
            made = {scope: self._function(scope) for scope in facts_of(chunk).scopes if scope.is_function}
            kept = chunk.facts["functions"] = ((first, self.path), made)
        found: dict[Scope, Function] = kept[1]
        return found

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
            parameters_of(node),
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

    def function(self, qualname: str, line: int | None = None) -> Function | None:
        """The function with that qualified name; with `line`, the one defined there, else the nearest above it."""
        word = qualname.rpartition(".")[2].strip("<>")
        near = (chunk for chunk in self.module.chunks if word in chunk.good_text)
        same = [found for chunk in near for found in self._functions_of(chunk).values() if found.qualname == qualname]
        if line is None:
            return same[-1] if same else None
        exact = [function for function in same if function.range.start.line <= line <= function.range.end.line]
        return min(exact or same, key=lambda function: abs(function.line - line), default=None)

    def function_of(self, scope: Scope) -> Function:
        """The function whose scope it is, possibly of another file of the project."""
        model: FileModel = scope.chunk.facts["model"]
        return model._functions_of(scope.chunk).get(scope) or model._function(scope)

    def function_at(self, position: Position) -> Function | None:
        """The innermost function around `position`, decorators included."""
        around = [function for function in self.functions if function.range.contains(position)]
        return max(around, key=lambda function: function.range.start, default=None)

    # -- tracing

    @cached_property
    def sites(self) -> list[Site]:
        """Every place of this file where a known function is compiled, in source order."""
        found: list[Site] = []
        for chunk in self.module.chunks:
            found += self.kept(chunk, "sites", partial(self._sites_of, chunk))
        return found

    def _sites_of(self, chunk: Chunk, ev: Evaluator) -> list[Site]:
        return find(self, facts_of(chunk), ev) if may_compile(self, chunk, ev) else []

    @cached_property
    def traced(self) -> tuple[TracedSite, ...]:
        """`sites` with places in the current text."""
        return tuple(sorted((self.traced_site(site) for site in self.sites), key=lambda site: site.place))

    def traced_site(self, site: Site) -> TracedSite:
        """A site with places in the current text."""
        return TracedSite(
            self.function_of(site.function),
            site.transform,
            self.module.range(site.scope.chunk, site.node),
            self.path,
            site.static_nums,
            site.static_names,
            site.statics,
            site.chain,
            site=site,
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
                own_self = at is scope and is_self(scope, root)
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

    def place(self, scope: Scope, node: ast.AST) -> Place:
        """Place of a tree that stands in `scope`, possibly of another file; of a definition, its name."""
        model: FileModel = scope.chunk.facts["model"]
        return model.place_in(scope.chunk, node)

    def place_in(self, chunk: Chunk, node: ast.AST) -> Place:
        """Place of a tree of one of this file's chunks; of a definition, its name."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = facts_of(chunk).by_node.get(id(node))
            if inner is not None:
                return Place(self.path, self.name_range(inner))
        return Place(self.path, self.module.range(chunk, node))

    # -- what the evaluator asks

    def facts(self, scope: Scope) -> ChunkFacts:
        """Facts of the chunk that `scope` is in."""
        return facts_of(scope.chunk)

    def scope_of(self, scope: Scope, node: ast.AST) -> Scope | None:
        """Scope of a def, lambda, class or comprehension that stands in `scope`."""
        return facts_of(scope.chunk).by_node.get(id(node))

    def chunk_of(self, node: ast.AST) -> Chunk | None:
        """The chunk whose tree has this expression."""
        looked_at = (chunk for chunk in self.module.chunks if "scopes" in chunk.facts)
        return next((chunk for chunk in looked_at if id(node) in facts_of(chunk).parents), None)

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
        return self.order_key(scope, (node.lineno, node.col_offset))  # type: ignore[attr-defined]

    def order_key(self, scope: Scope, order: tuple[int, int]) -> tuple[int, int]:
        """Order within this file of a line and column in the tree's own counting."""
        chunk = scope.chunk
        return order[0] - chunk.origin + self.module.first_line(chunk), order[1]

    def reaching(self, bindings: list[Binding], owner: Scope, at: At | None) -> list[Binding]:
        """The bindings that can have given a name its value: for code in the same scope those before it and, in a
        loop, behind it; for code that runs later the last ones."""
        if len(bindings) < 2:
            return bindings
        keys = [self.order_key(binding.scope, binding.order) for binding in bindings]
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

    def calls_named(self, name: str) -> list[tuple[ast.Call, Scope]]:
        """Calls of something whose last component is `name`."""
        found: list[tuple[ast.Call, Scope]] = []
        for facts in self._mentioning(name):
            found += facts.calls.get(name, ())
        return found

    def other_names(self, name: str) -> set[str]:
        """Names given to what wraps `name`: `solve = jax.jit(objective)`."""
        found: set[str] = set()
        for facts in self._mentioning(name):
            found |= facts.aliases.get(name, set())
        return found

    def writes_from_outside(self, name: str) -> list[AttributeWrite]:
        """Assignments of attributes of that name, other than in methods to their own object."""
        return self.once("writes from outside", self._writes_from_outside).get(name, [])

    def _writes_from_outside(self) -> dict[str, list[AttributeWrite]]:
        found: dict[str, list[AttributeWrite]] = {}
        for _, facts in self.chunks:
            for name, writes in facts.outside.items():
                found.setdefault(name, []).extend(writes)
        return found

    @cached_property
    def runs_when_imported(self) -> str | None:
        """Why importing the file would run a program; None when it only defines things."""
        return programs.reason(self)


def _pairs(chunks: Iterable[Chunk]) -> list[tuple[Chunk, ChunkFacts]]:
    return [(chunk, facts_of(chunk)) for chunk in chunks]


def squeezed(text: str) -> str:
    """`text` without blanks and with one kind of quotes: how names are compared."""
    return "".join(text.split()).replace("'", '"')


def _enables_x64(text: str) -> bool:
    flat = squeezed(text)
    return '"jax_enable_x64",True' in flat or "jax_enable_x64=True" in flat
