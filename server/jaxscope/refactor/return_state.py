"""Returns what a compiled function keeps outside of itself: a function around it, of the old name, keeps it instead.

No call changes: what is compiled gets another name.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refusal, Refused
from jaxscope.refactor.kept_values import Keeping, Kept
from jaxscope.refactor.program.names import identifiers
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import add_parameter, required, starts_own_line
from jaxscope.semantics.captured.captures import traced_code_of
from jaxscope.semantics.captured.listing import written
from jaxscope.semantics.captured.visits import TracedCode
from jaxscope.semantics.compiled.sites import Site
from jaxscope.semantics.effects.effects import Effect, effects_of
from jaxscope.semantics.model import FileModel, squeezed
from jaxscope.semantics.names.variables import begins_with
from jaxscope.semantics.project import Project
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Position, Range, Span

_SPECIFY = frozenset(("in_shardings", "out_shardings", "in_axis_resources", "out_axis_resources"))
_HELD = frozenset(("assign", "fill"))


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """For what is kept at `place`, and for all that the same function keeps besides."""
    model = project.model(path)
    found = [one for one in effects_of(model) if one.at.place.range == place] if model is not None else []
    sites = list(dict.fromkeys(one.site for one in found if one.kind in _HELD))
    if model is None or not sites:
        return Refusal("No traced value is kept here.", path, place.start.line)
    if len(sites) > 1 and found[0].inner is None:
        return Refusal("The function is compiled at several places.", path, place.start.line)
    if found[0].inner is not None:
        reason = f"It is kept by a function that `{model.function_of(sites[0].function).qualname}` calls"
        return Refusal(f"{reason}, not by what is compiled.", path, place.start.line)
    every = [one for one in effects_of(model) if one.site == sites[0] and one.kind in _HELD and one.stored == "tracer"]
    code = next(one for one in traced_code_of(model) if one.site == sites[0])
    try:
        return _Plan(project, model, code, every).change()
    except Refused as refused:
        return refused.refusal


class _Plan:
    """One compiled function."""

    def __init__(self, project: Project, model: FileModel, code: TracedCode, effects: list[Effect]) -> None:
        self.project, self.model, self.code, self.effects = project, model, code, effects
        self.files = Files(project)
        self.file = self.files.get(model.path)
        self.layout = self.file.layout
        self.site: Site = code.site
        place = model.place(self.site.function, self.site.function.function_node)
        if place.path != model.path:
            raise Refused("The function is in another file than what compiles it.", place.path, place.range.start.line)
        self.node = self._function(place.range.start)
        self.keeping = Keeping(self.file, self.node, frozenset(self.site.statics))

    def change(self) -> SourceChange:
        """The function, what compiles it, and the function around it."""
        self._check()
        kept = [self._kept(some) for some in self._by_owner()]
        edits = [edit for one in kept for edit in one.edits]
        edits += self._returns([name for one in kept for name in one.returned])
        edits += self._declarations([one.declared for one in kept if one.declared is not None])
        edits += self._parameters([one.given[0] for one in kept if one.given is not None])
        edits += self._annotation()
        edits += self._around(kept)
        made = Edits()
        made.add(self.file, edits)
        return made.change()

    # -- what is asked first

    def _function(self, start: Position) -> ast.FunctionDef:
        name = self.site.function.name
        nodes = [one for one in self.file.nodes if isinstance(one, ast.FunctionDef)]
        node = next((one for one in nodes if (one.name, one.lineno) == (name, start.line)), None)
        if node is None:
            raise Refused("Only what `def` defines can be given a function around it.", self.model.path, start.line)
        return node

    def _check(self) -> None:
        if self.site.chain != ("jit",):
            raise self.file.refuse("It is not compiled by `jit` alone.", self.node)
        if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(self.node)):
            raise self.file.refuse("It yields.", self.node)
        if self.keeping.returns() and not isinstance(self.node.body[-1], ast.Return):
            raise self.file.refuse("It ends in several ways.", self.node.body[-1])
        names = {
            keyword.arg for one in ast.walk(self.site.node) if isinstance(one, ast.Call) for keyword in one.keywords
        }
        if names & _SPECIFY:
            raise self.file.refuse("How its results are spread over devices is given.", self.node)
        for effect in self.effects:
            self._check_effect(effect)

    def _check_effect(self, effect: Effect) -> None:
        if effect.inner is not None:
            place = effect.at.place
            reason = f"`{effect.name}` is kept by `{effect.inner.qualname}`, a part of it."
            raise Refused(reason, place.path, place.range.start.line)
        at = self._at(effect)
        if not effect.sure or effect.how in ("default-argument", ""):
            raise self.file.refuse(f"It is not certain what `{effect.name}` is.", at)
        text = ast.unparse(at)
        if squeezed(text) != squeezed(effect.name):
            raise self.file.refuse(f"`{effect.name}` goes by another name here.", at)
        if effect.candidate.unpacked or isinstance(self.file.parents[at], (ast.Tuple, ast.List)):
            raise self.file.refuse("Several things are assigned at once.", at)
        root = text.partition(".")[0].partition("[")[0]
        for scope in self.code.scopes:
            if scope.is_function and scope not in self.site.function.walk():
                for read in scope.reads:
                    whole: ast.expr = read.links[-1] if read.links else read.node
                    if read.name == root and begins_with(squeezed(written(scope.chunk, whole)), squeezed(text)):
                        raise self.file.refuse(f"`{scope.qualname}`, which it calls, reads `{text}`.", at)

    def _at(self, effect: Effect) -> ast.expr:
        offset = self.file.module.lines.offset(effect.at.place.range.start)
        kind = type(effect.candidate.target)
        nodes = [one for one in ast.walk(self.node) if isinstance(one, kind) and isinstance(one, ast.expr)]
        wanted = ast.unparse(effect.candidate.target)
        found = next((one for one in nodes if self.layout.start(one) == offset and ast.unparse(one) == wanted), None)
        if found is None:
            raise self.file.refuse(f"It cannot be found where `{effect.name}` is kept.", self.node)
        return found

    # -- the function

    def _by_owner(self) -> list[list[Effect]]:
        found: dict[object, list[Effect]] = {}
        for effect in self.effects:
            found.setdefault((effect.kind, effect.name), []).append(effect)
        return list(found.values())

    def _kept(self, effects: list[Effect]) -> Kept:
        targets = [self._at(effect) for effect in effects]
        if effects[0].kind == "assign":
            return self.keeping.assigned(targets, effects[0].name)
        return self.keeping.filled(targets)

    def _returns(self, names: list[str]) -> list[Edit]:
        more = ", ".join(names)
        edits = []
        for one in self.keeping.returns():
            if one.value is None:
                end = self.layout.end(one)
                edits.append(Edit(Span(end, end), f" None, {more}"))
                continue
            start, end = self.layout.start(one.value), self.layout.end(one.value)
            if isinstance(one.value, ast.Tuple) and not self.layout.bracketed(one.value):
                edits += [Edit(Span(start, start), "("), Edit(Span(end, end), f"), {more}")]
            else:
                edits.append(Edit(Span(end, end), f", {more}"))
        if not edits:
            last = self.node.body[-1]
            if not starts_own_line(self.layout, last):
                raise self.file.refuse("It stands on one line.", last)
            end = self.layout.line_end(self.layout.end(last))
            text = f"{self.layout.newline}{self.layout.indent(self.layout.start(last))}return {more}"
            edits.append(Edit(Span(end, end), text))
        return edits

    def _declarations(self, names: list[str]) -> list[Edit]:
        found = {id(one): one for name in names for one in self.keeping.declarations(name)}
        edits = []
        for one in found.values():
            rest = [name for name in one.names if name not in names]
            word = "global" if isinstance(one, ast.Global) else "nonlocal"
            if rest:
                edits.append(Edit(self.layout.span(one), f"{word} {', '.join(rest)}"))
            else:
                edits.append(self.keeping.without(one))
        return edits

    def _parameters(self, names: list[str]) -> list[Edit]:
        edits = []
        for name in names:
            free = not self.node.args.defaults and self.node.args.vararg is None and not self.node.args.kwonlyargs
            edits += add_parameter(self.layout, self.node, name, required(self.node) if free else None)
        if len(names) > 1:
            raise self.file.refuse("Several values go on from what they were.", self.node)
        return edits

    def _annotation(self) -> list[Edit]:
        if self.node.returns is None:
            return []
        end = self.layout.end(self.node.returns)
        start = self.layout.text.rindex("->", 0, self.layout.start(self.node.returns))
        return [Edit(Span(len(self.layout.text[:start].rstrip()), end), "")]

    # -- the function around it

    def _around(self, kept: list[Kept]) -> list[Edit]:
        if self.site.binding is not None:
            return self._decorated(kept)
        return self._called(kept)

    def _decorated(self, kept: list[Kept]) -> list[Edit]:
        if len(self.node.decorator_list) != 1:
            raise self.file.refuse("It has other decorators besides.", self.node)
        self._check_uses(self.files.of_function(self.file, self.node))
        name = self._unused(self.node.name)
        at = self.layout.text.index(self.node.name, self.layout.start(self.node) + len("def "))
        own = self._is_method()
        inner = f"{self._self()}.{name}" if own else name
        lines = self._wrapper(self.node.name, inner, kept, own)
        return [Edit(Span(at, at + len(self.node.name)), name), self._after(self.node, lines)]

    def _called(self, kept: list[Kept]) -> list[Edit]:
        offset = self.file.module.lines.offset(self.model.place(self.site.scope, self.site.node).range.start)
        nodes = [one for one in self.file.nodes if isinstance(one, ast.Call)]
        call = next(one for one in nodes if self.layout.start(one) == offset)
        statement = self.file.statement(call)
        if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
            raise self.file.refuse("What is compiled has no name of its own here.", statement)
        for use in self.files.of_function(self.file, self.node):
            if use.node not in ast.walk(call) and self._may_be_of_class(use):
                raise use.file.refuse(f"`{self.node.name}` is used here without being compiled.", use.node)
        target = statement.targets[0]
        if isinstance(target, ast.Attribute):
            return self._attribute(target, kept)
        scope = self.file.scope_of(statement)
        if not isinstance(target, ast.Name) or len(scope.bindings.get(target.id, ())) != 1 or self._is_method():
            raise self.file.refuse("What is compiled has no name of its own here.", statement)
        if scope is not self.file.scope(self.node).parent:
            raise self.file.refuse("It is compiled elsewhere than it is defined.", statement)
        self._check_uses(self.files.of_name(self.file, scope, target.id))
        name = self._unused(target.id)
        lines = self._wrapper(target.id, name, kept, False)
        return [Edit(self.layout.span(target), name), self._after(statement, lines)]

    def _attribute(self, target: ast.Attribute, kept: list[Kept]) -> list[Edit]:
        """`self.update = jax.jit(self._update)` becomes a method."""
        home = self.file.scope(self.node).parent
        within = [one for one in self.file.around(target) if isinstance(one, ast.ClassDef)]
        if home is None or not within or home.node is not within[0] or ast.unparse(target.value) != "self":
            raise self.file.refuse("It is compiled elsewhere than it is defined.", target)
        stores = [one for _, one in self.files.attribute_stores(target.attr) if one is not target]
        if stores or target.attr in home.bindings:
            raise self.file.refuse(f"`{target.attr}` is also something else.", stores[0] if stores else target)
        self._check_uses(self.files.of_attribute(target.attr))
        name = self._unused(target.attr)
        name = name if name != self.node.name else self._unused(f"{target.attr}_jit")
        end = self.layout.end(target)
        lines = self._wrapper(target.attr, f"{self._self()}.{name}", kept, True)
        return [Edit(Span(end - len(target.attr), end), name), self._after(self.node, lines)]

    def _wrapper(self, name: str, inner: str, kept: list[Kept], own: bool) -> list[str]:
        given = self._passed(own) + [f"{one.given[0]}={one.given[1]}" for one in kept if one.given is not None]
        taken = [text for one in kept for text in one.taken]
        returned = any(one.value is not None for one in self.keeping.returns()) or bool(self.keeping.returns())
        result = self.keeping.unused("result")
        call = f"{inner}({', '.join(given)})"
        lines = [f"    {self._word(one.declared)} {one.declared}" for one in kept if one.declared is not None]
        lines.append(f"    {', '.join([result] * returned + taken)} = {call}")
        lines += [f"    {line}" for one in kept for line in one.after]
        lines += [f"    return {result}"] * returned
        returns = f" -> {ast.unparse(self.node.returns)}" if self.node.returns is not None else ""
        return [f"def {name}({ast.unparse(self.node.args)}){returns}:", *lines]

    def _word(self, name: str) -> str:
        return "global" if isinstance(self.keeping.declarations(name)[0], ast.Global) else "nonlocal"

    def _passed(self, own: bool) -> list[str]:
        parameters = self.node.args
        found = [one.arg for one in (*parameters.posonlyargs, *parameters.args)][own:]
        found += [f"*{parameters.vararg.arg}"] if parameters.vararg is not None else []
        found += [f"{one.arg}={one.arg}" for one in parameters.kwonlyargs]
        return found + ([f"**{parameters.kwarg.arg}"] if parameters.kwarg is not None else [])

    def _after(self, statement: ast.stmt, lines: list[str]) -> Edit:
        end = self.layout.line_end(self.layout.end(statement))
        newline = self.layout.newline
        indent = self.layout.indent(self.layout.start(statement))
        blank = newline * (3 if not indent else 2)
        rest = self.layout.text[end + len(newline) :].partition(newline)[0]
        text = blank + newline.join(indent + line for line in lines)
        return Edit(Span(end, end), text + newline * bool(rest.strip()))

    def _may_be_of_class(self, use: Use) -> bool:
        """May an attribute be one of this class? Another class, without bases, has its own."""
        within = next((one for one in use.file.around(use.node) if isinstance(one, ast.ClassDef)), None)
        parent = self.file.scope(self.node).parent
        if not isinstance(use.node, ast.Attribute) or ast.unparse(use.node.value) != "self" or within is None:
            return True
        return bool(within.bases) or (parent is not None and within is parent.node)

    def _is_method(self) -> bool:
        parent = self.file.scope(self.node).parent
        return parent is not None and parent.kind == "class"

    def _self(self) -> str:
        parameters = [*self.node.args.posonlyargs, *self.node.args.args]
        if not parameters:
            raise self.file.refuse("It takes no `self`.", self.node)
        return parameters[0].arg

    def _unused(self, name: str) -> str:
        taken = identifiers(self.file.tree) | {one.attr for one in self.file.nodes if isinstance(one, ast.Attribute)}
        found = "_" + name.strip("_")
        found = found if found not in taken else f"{found}_jit"
        while found in taken:
            found += "_"
        return found

    def _check_uses(self, uses: list[Use]) -> None:
        for use in uses:
            parent = use.file.parents.get(use.node)
            if isinstance(parent, ast.Call) and parent.func is use.node:
                if isinstance(use.node, ast.Name) and self._is_traced(use):
                    raise use.file.refuse("It is called while something else is traced.", use.node)
            elif isinstance(use.node, ast.Name) and not isinstance(parent, (ast.Return, ast.Assign, ast.ImportFrom)):
                raise use.file.refuse(f"`{ast.unparse(use.node)}` is not only called.", use.node)

    def _is_traced(self, use: Use) -> bool:
        model = self.project.model(use.file.path)
        around = {one.lineno for one in use.file.around(use.node) if isinstance(one, ast.FunctionDef)}
        scopes = [scope for code in traced_code_of(model) for scope in code.scopes] if model is not None else []
        places = [model.place(one, one.node) for one in scopes if model is not None and one.node is not None]
        return any(one.path == use.file.path and one.range.start.line in around for one in places)
