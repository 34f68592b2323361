""" "Pass `W` as an argument": makes a value that a compiled function captures a parameter of that function.

The definition, every call and the options of every transform in between change together, or nothing does.
"""

from __future__ import annotations

import ast
import os
from functools import partial
from typing import TYPE_CHECKING

from jaxscope.refactor.change import Hoist, Refusal, Refused
from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.contents import Contents
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import decorated_by
from jaxscope.refactor.to_argument.bound import hoist_bound
from jaxscope.refactor.to_argument.bound_method import hoist_from_bound_method
from jaxscope.refactor.to_argument.carried import hoist_carried
from jaxscope.refactor.to_argument.compiled_result import hoist_compiled_result
from jaxscope.refactor.to_argument.default_value import default_of, hoist_default
from jaxscope.refactor.to_argument.made_inside import hoist_inline, hoist_made
from jaxscope.refactor.to_argument.method import hoist_from_method
from jaxscope.refactor.to_argument.relative import hoist_of_parameter
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Stability, Value, inside, link_text, split_expression
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.semantics.names.scopes import Read, Scope
from jaxscope.semantics.vocabulary import MUTATING
from jaxscope.text.edit import SourceChange

if TYPE_CHECKING:
    from jaxscope.semantics.project import Project


def plan(
    project: Project, path: str, function: str, name: str, line: int | None = None, *, changes: bool = False
) -> Hoist | Refusal:
    """The change that passes `name` as an argument to the compiled function `function`, or why there is none.

    `function`: qualified name of the function that the constant ends up in; `name`: the expression as written;
    `line`: the finding's line (from 1); `changes`: the value is another at times, and calls shall see it.
    """
    files = Files(project)
    try:
        change = _Planner(files, os.path.abspath(path), function, name, line, changes).plan()
        return Hoist(change.files, tuple(files.doubts))
    except Refused as refused:
        return refused.refusal


class _Planner:
    def __init__(self, files: Files, path: str, function: str, name: str, line: int | None, changes: bool) -> None:
        self.files = files
        self.changes = changes
        self.compiled = Compiled(files)
        self.file = files.get(path)
        self.function = function
        self.name = name
        self.line = line
        self.root, self.links = split_expression(name) or ("", ())

    def plan(self) -> SourceChange:
        change = hoist_bound(
            self.files, self.compiled, self.file, self.function, (self.root, self.links), line=self.line
        )
        if change is not None:
            return change
        target = self._target()
        node = target.function_node
        if not self.root:
            return hoist_inline(self.files, self.compiled, self.file, node, self.name, line=self.line)
        read = self._read(target)
        if read is None:
            made = hoist_made(self.files, self.compiled, self.file, node, self.root)
            if made is None:
                raise self.file.refuse(f"No read of `{self.name}` was found in `{self.function}`.", node)
            return made
        home = self.file.lookup(read.scope, self.root)
        if home is None:
            raise self.file.refuse(f"It cannot be seen where `{self.root}` is bound.", read.node)
        value = Value(self.file, home, self.root, self.links, changes=self.changes)
        if inside(home, target):
            return self._of_own_name(value, node, read)
        self._check(value, node)
        if target.parent is not None and target.parent.kind == "class":
            return self._of_method(value, node)
        return self._thread(value, target, read)

    # ------------------------------------------------------------ finding the place

    def _target(self) -> Scope:
        functions = [scope for scope in self.file.scopes() if scope.is_function]
        found = [scope for scope in functions if scope.qualname == self.function]
        if not found:
            found = [scope for scope in functions if f".{scope.qualname}".endswith(f".{self.function}")]
        helpers = [helper for read in self._reads_at_line(self.file.top) if (helper := self._function_of(read))]
        if self.line is not None and helpers and not any(self._reaches(scope, helpers) for scope in found):
            return helpers[0]  # the compiled function is in another file
        if len(found) > 1 and self.line is not None:
            around = [scope for scope in found if self._encloses(scope, self.line)]
            reading = [scope for scope in around if self._reads_at_line(scope)]
            found = reading or around or found
        if len(found) > 1:
            jitted = [scope for scope in found if self.compiled.compiled(self.file, scope.function_node)]
            found = jitted or found
        if len(found) != 1:
            line = self.line or 1
            many = "Several functions are" if found else "No function is"
            raise Refused(f"{many} called `{self.function}` here.", self.file.path, line)
        return found[0]

    def _reaches(self, scope: Scope, helpers: list[Scope]) -> bool:
        """Does the function hold one of the helpers, or lead to it by what it mentions?"""
        reached = self.compiled.reached(self.file, scope.function_node)
        around = {at.node for helper in helpers for at in helper.around() if at.is_function}
        return scope.node in around or not around.isdisjoint(reached)

    def _encloses(self, scope: Scope, line: int) -> bool:
        node = scope.function_node
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return first <= line <= (node.end_lineno or first)

    def _reads_at_line(self, scope: Scope) -> list[Read]:
        found = [read for around in scope.walk() for read in around.reads if self._matches(read)]
        return [read for read in found if self.line is None or read.node.lineno == self.line]

    def _matches(self, read: Read) -> bool:
        links = tuple(link_text(link) for link in read.links[: len(self.links)])
        return read.name == self.root and links == self.links

    def _read(self, target: Scope) -> Read | None:
        """The read that the finding is about: in the function itself, else in one that it calls."""
        found = self._reads_at_line(target)
        if not found:
            found = [read for read in self._reads_at_line(self.file.top) if self._function_of(read) is not None]
        if not found:
            found = [read for around in target.walk() for read in around.reads if self._matches(read)]
        if not found:
            reached = self.compiled.reached(self.file, target.function_node)
            scopes = [scope for scope in self.file.scopes() if scope.is_function and scope.function_node in reached]
            found = [read for s in scopes for around in s.walk() for read in around.reads if self._matches(read)]
        return min(found, key=lambda read: read.order) if found else None

    def _function_of(self, read: Read) -> Scope | None:
        return next((scope for scope in read.scope.around() if scope.is_function), None)

    # ------------------------------------------------------------ what to do

    def _of_own_name(self, value: Value, node: FunctionNode, read: Read) -> SourceChange:
        """The value belongs to a parameter (a static one) or a local name of the function itself."""
        scope = self.file.scope(node)
        bindings = self.file.bindings(value.home, value.root)
        if value.home is not scope or any(binding.kind != "parameter" for binding in bindings):
            made = hoist_made(self.files, self.compiled, self.file, node, self.root)
            if made is None:
                raise self.file.refuse(f"`{self.name}` is made inside the function.", read.node)
            return made
        if not value.links and default_of(node, value.root) and scope.parent and scope.parent.kind != "class":
            return hoist_default(self.files, self.compiled, self.file, node, value.root, changes=self.changes)
        if not value.links:
            raise self.file.refuse(f"`{self.name}` is an argument already.", read.node)
        self._check(value, node)
        assert scope.parent is not None
        if scope.parent.kind == "class":
            return self._of_method(value, node)
        return hoist_of_parameter(self.files, self.compiled, value, self.file, node)

    def _of_method(self, value: Value, node: FunctionNode) -> SourceChange:
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        found = [decorated_by(self.file, decorator) for decorator in decorators]
        if any(application is not None and application.transform.is_jit for application in found):
            return hoist_from_method(self.files, self.compiled, value, self.file, node)
        return hoist_from_bound_method(self.files, self.compiled, value, self.file, node)

    def _check(self, value: Value, node: FunctionNode) -> None:
        if value.changes:
            self._check_unchanged_within(value, node)
        elif not inside(value.home, self.file.scope(node)):
            Stability(self.files, value, node).check()
        else:
            Stability(self.files, value, node).check_attributes()
        Contents(self.files).check(self.file, value.home, value.root, value.links)

    def _check_unchanged_within(self, value: Value, node: FunctionNode) -> None:
        """JAX hands a copy of a container on: what traced code puts into it would be lost."""
        for read in self.file.reads(value.home, value.root):
            last = read.links[-1] if read.links else None
            changed = isinstance(last, ast.Attribute) and last.attr in MUTATING
            if inside(read.scope, self.file.scope(node)) and (
                changed or isinstance(getattr(last, "ctx", None), ast.Store)
            ):
                whole = ast.unparse(read.links[-1])
                raise self.file.refuse(
                    f"`{whole}` changes `{value.root}` here, while traced: do that outside first.", read.node
                )

    def _starts(self, value: Value, target: Scope, read: Read) -> list[FunctionNode]:
        """The functions to begin with: the outermost compiled ones that read the value for `target`."""
        node = target.function_node
        reached = self.compiled.reached(self.file, node)
        starts: list[FunctionNode] = []
        for other in [read, *value.reads()]:
            if inside(other.scope, target):
                starts.append(node)
                continue
            around = [
                s for s in other.scope.around() if s.is_function and inside(s, value.home) and s is not value.home
            ]
            around = [scope for scope in around if scope.function_node in reached or other is read]
            compiled = [scope for scope in around if self.compiled.compiled(self.file, scope.function_node)]
            if compiled or (around and other is read):  # compiled through a container, perhaps
                starts.append((compiled or around)[-1].function_node)
        return list(dict.fromkeys(starts))

    def _thread(self, value: Value, target: Scope, read: Read) -> SourceChange:
        starts = self._starts(value, target, read)
        if not starts and not value.home.is_function:
            raise self.file.refuse(f"It cannot be seen how `{self.function}` comes to read `{self.name}`.", read.node)
        attempt = partial(self._attempt, value, target, starts)
        others = () if value.changes else (hoist_carried, hoist_compiled_result)  # they bind it once
        made = [partial(hoist, self.files, self.compiled, value, read) for hoist in others]
        return self.files.first(partial(attempt, by_keyword=False), partial(attempt, by_keyword=True), *made)

    def _attempt(self, value: Value, target: Scope, starts: list[FunctionNode], by_keyword: bool) -> SourceChange:
        threading = Threading(self.files, self.compiled, value, by_keyword)
        threading.run(self.file, *starts)
        if not any(scope.is_function and scope.function_node in threading.parameters for scope in target.around()):
            raise self.file.refuse(
                f"It cannot be seen how `{self.function}` comes to read `{self.name}`.", target.function_node
            )
        self._check_loop(value, target, threading)
        return threading.edits.change()

    def _check_loop(self, value: Value, target: Scope, threading: Threading) -> None:
        """In a loop that binds the name anew, calls must follow the function's definition in the same round."""
        node = target.function_node
        loop = Stability(self.files, value, node).loop()
        if loop is None:
            return
        for site in threading.sites:
            later = (site.node.lineno, site.node.col_offset) >= (node.lineno, node.col_offset) or site.forward
            if loop not in site.file.around(site.node) or not later:
                reason = f"`{value.text}` is bound anew in each round of a loop that this call is not in."
                raise site.file.refuse(reason, site.node)
