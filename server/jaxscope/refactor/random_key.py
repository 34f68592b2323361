"""Numbers that Python or NumPy draw while a function is traced are drawn by `jax.random`, from a key that it is given.

The key is threaded through like any other argument. What makes it is the code that calls the outermost compiled
function, where it can be seen that this code runs once; in a loop the key is split for each round. Each use gets a key
of its own.
"""

from __future__ import annotations

import ast
from functools import partial

from jaxscope.refactor.change import Hoist, Refusal, Refused
from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File, identifiers, unused_numbered
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.random_forms import Draw, draw
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.sites import Site
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Value
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import insert_before, replace, starts_own_line
from jaxscope.semantics.effects.effects import Effect, effects_of
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
_INTEGERS = ("randint", "integers")
_DEPTH = 8


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """For what is drawn at `place`, and for all that the same compiled function draws besides."""
    model = project.model(path)
    effects = [one for one in effects_of(model) if one.call == "random"] if model is not None else []
    found = next((one for one in effects if one.at.place.range == place), None)
    if model is None or found is None:
        return Refusal("Nothing is drawn here.", path, place.start.line)
    files, some = Files(project), [one for one in effects if one.site == found.site]
    try:
        file = files.get(path)
        attempts = [partial(_attempt, files, model, file, some, by_keyword=named) for named in (False, True)]
        return Hoist(files.first(*attempts).files, tuple(files.doubts))
    except Refused as refused:
        return refused.refusal


def _draw(files: Files, model: FileModel, file: File, effect: Effect) -> Draw:
    call = _call(file, model, effect)
    if call is None:
        place = effect.at.place
        raise Refused("A helper in another file draws as well.", place.path, place.range.start.line)
    _check_traceable(files, file, call)
    drawn = draw(file, call)
    if drawn.single:
        files.doubt(file, call, f"`{ast.unparse(call)}` takes the dtype of what it meets, which an array does not.")
    return drawn


def _call(file: File, model: FileModel, effect: Effect) -> ast.Call | None:
    """The call that draws, where it is in the file."""
    place = model.place(effect.candidate.scope, effect.candidate.node)
    node = file.at(place.range) if place.path == file.path else None
    return node if isinstance(node, ast.Call) else None


def _check_traceable(files: Files, file: File, call: ast.Call) -> None:
    """Raises Refused where the numbers are needed while tracing. That they are others, and of 32 bits, is wanted."""
    before, parent = list(files.doubts), file.parents[call]
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    reads = [file.reads(file.scope_of(one).owner(), one.id) for one in targets if isinstance(one, ast.Name)]
    for node in [call, *(read.node for some in reads for read in some)]:
        try:
            Concreteness(files, file, ast.unparse(node), None).check(node)
        except Refused as refused:
            line = refused.refusal.line
            reason = "What is drawn is used here in a way in which traced numbers cannot be."
            raise Refused(reason, file.path, line) from None
    files.doubts[:] = before
    if isinstance(call.func, ast.Attribute) and call.func.attr in _INTEGERS:
        files.doubt(file, call, f"`{ast.unparse(call)}` may be used where only Python's own numbers can be.")


def _attempt(files: Files, model: FileModel, file: File, some: list[Effect], *, by_keyword: bool) -> SourceChange:
    draws = [_draw(files, model, file, one) for one in some]
    name = next(unused_numbered("key", identifiers(file.tree)))
    value = Value(file, file.top, name, (), new=True, changes=True)
    keys = _Keys(files, value, draws, by_keyword)
    keys.run(file, *dict.fromkeys(_function(file, one.node) for one in draws))
    others = [one for one in effects_of(model) if one.call == "random" and one not in some]
    others = [one for one in others if _is_in(file, model, one, keys)]
    if others:  # the functions that have a key now draw from it alone
        return _attempt(files, model, file, some + others, by_keyword=by_keyword)
    for one in draws:
        text = one.text(keys.random(file, one.node), keys.key(file, one.node))
        keys.edits.add(file, [replace(file.layout, one.node, text)])
    return keys.edits.change()


def _is_in(file: File, model: FileModel, effect: Effect, keys: _Keys) -> bool:
    """Is something drawn in a function that is given a key?"""
    call = _call(file, model, effect)
    return call is not None and file.scope_of(call).owner().node in keys.parameters


def _function(file: File, node: ast.expr) -> FunctionNode:
    scope = file.scope_of(node)
    if not scope.is_function:
        raise file.refuse("It is drawn several times, and each would need a key of its own.", node)
    return scope.function_node


class _Keys(Threading):
    """Threads a key, and gives each use one of its own."""

    def __init__(self, files: Files, value: Value, draws: list[Draw], by_keyword: bool) -> None:
        super().__init__(files, Compiled(files), value, by_keyword)
        self.draws = draws
        self._split_off: dict[ast.AST, str] = {}
        """Names of the keys that are split off, by their uses."""

    def _text_at(self, site: Site) -> str:
        if site.forward or site.bind:
            raise site.file.refuse("The function is called several times from here, all with one key.", site.node)
        return self.key(site.file, site.node)

    def key(self, file: File, node: ast.expr) -> str:
        """What a use is given. Raises Refused."""
        scope = file.scope_of(node)
        if scope.is_function and scope.function_node in self.parameters:
            name = self.parameters[scope.function_node]
            if len(self._uses(file, scope)) == 1 and not self._in_loop(file, scope, node):
                return name
            return self._split(file, scope, node, name)
        if self._parameter_at(scope) is not None or scope.kind not in ("function", "module"):
            raise file.refuse("It may run several times here, each time with one key.", node)
        self._check_once(file, scope, node, 0)
        if len(self._uses(file, scope)) == 1 and not self._in_loop(file, scope, node):
            return f"{self.random(file, node)}.key(0)"
        return self._split(file, scope, node, None)

    def random(self, file: File, node: ast.expr) -> str:
        """What `jax.random` is called there; JAX is imported where it is not. Raises Refused."""
        name, imports = imported(file, node, "jax.random")
        self.edits.add(file, imports)
        return name

    # ------------------------------------------------------------ one use among several

    def _uses(self, file: File, scope: Scope) -> list[ast.expr]:
        """Everything that needs a key in a function, or at module level."""
        nodes = [site.node for site in self.sites if site.file is file]
        nodes += [one.node for one in self.draws if file is self.value.file]
        return sorted({node for node in nodes if file.scope_of(node) is scope}, key=_order)

    def _split(self, file: File, scope: Scope, node: ast.expr, name: str | None) -> str:
        """A key that is split off in the line above. `name`: of the key; None: it is made first."""
        if node in self._split_off:
            return self._split_off[node]
        uses, statement = self._uses(file, scope), file.statement(node)
        together = [one for one in uses if file.statement(one) is statement]
        if not isinstance(statement, _SIMPLE) or not starts_own_line(file.layout, statement):
            raise file.refuse("There is no line above it where the key could be split.", node)
        if name is None:
            name = self._made(file, scope, uses)
        taken = identifiers(file.tree) | {name}
        self._split_off |= zip(together, unused_numbered("subkey", taken), strict=False)
        many = f", {len(together) + 1}" if len(together) > 1 else ""
        names = ", ".join([name, *(self._split_off[one] for one in together)])
        line = f"{names} = {self.random(file, node)}.split({name}{many})"
        self.edits.add(file, insert_before(file.layout, statement, [line]))
        return self._split_off[node]

    def _made(self, file: File, scope: Scope, uses: list[ast.expr]) -> str:
        """The name of a key that is made before the first use, outside of all loops."""
        first = file.statement(uses[0])
        while file.parents[first] is not (scope.node or file.tree):
            first = file.statement(file.parents[first])
        if not starts_own_line(file.layout, first):
            raise file.refuse("There is no line above it where the key could be made.", first)
        name = next(unused_numbered(self.value.root, identifiers(file.tree)))
        self.edits.add(file, insert_before(file.layout, first, [f"{name} = {self.random(file, uses[0])}.key(0)"]))
        return name

    # ------------------------------------------------------------ what runs once

    def _in_loop(self, file: File, scope: Scope, node: ast.AST) -> bool:
        for around in file.around(node):
            if around is scope.node:
                return False
            if isinstance(around, _LOOPS):
                return True
        return False

    def _check_once(self, file: File, scope: Scope, node: ast.AST, depth: int) -> None:
        """Raises Refused where a key that is made in `scope` may be made again, and give the same numbers again."""
        if scope.kind == "module":
            return
        function = scope.function_node
        uses = list(self.files.of_function(file, function))
        if not uses and not isinstance(function, ast.Lambda) and not ast.unparse(function.args):
            return  # where a program begins
        again = f"`{scope.name}` may run several times, and would make the same key each time."
        if len(uses) != 1 or depth > _DEPTH:
            raise file.refuse(again, node)
        (use,) = uses
        call = use.file.parents[use.node]
        outer = use.file.scope_of(use.node)
        called = isinstance(call, ast.Call) and call.func is use.node
        if not called or outer.kind not in ("function", "module") or self._in_loop(use.file, outer, use.node):
            raise file.refuse(again, node)
        self._check_once(use.file, outer, use.node, depth + 1)


def _order(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
