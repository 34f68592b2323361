"""The statements by which a function keeps values outside of itself, taken apart: what goes, what is returned instead,
and what its caller does with that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxscope.refactor.program.names import File, identifiers
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span

_METHODS = frozenset(("append", "appendleft", "extend", "extendleft", "insert", "update"))
"""Methods whose arguments can be handed out and given to them later."""
Parts = dict[str, str]
_PLACES = (ast.Name, ast.Attribute, ast.Subscript)


@dataclass(slots=True)
class Kept:
    """What becomes of one object that is changed."""

    edits: list[Edit] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    """Names of the values, where the function returns."""
    taken: list[str] = field(default_factory=list)
    """What the caller assigns each of them to."""
    after: list[str] = field(default_factory=list)
    """What the caller does then."""
    given: tuple[str, str] | None = None
    """The parameter, and what the caller gives for it, where the function goes by the present value."""
    declared: str | None = None
    """The name that the caller has to declare `global` or `nonlocal`."""


class Keeping:
    """The statements of one function."""

    def __init__(self, file: File, node: ast.FunctionDef, statics: frozenset[str]) -> None:
        self.file = file
        self.layout = file.layout
        self.node = node
        self.statics = statics
        self._names = identifiers(node)

    def assigned(self, targets: list[ast.expr], name: str) -> Kept:
        """`self.last = h`, `global last; last = h`, and such as go on from the present value."""
        text = ast.unparse(targets[0])
        if not isinstance(targets[0], ast.Name):  # a name is declared where it lives
            self._known_outside(targets[0])
        places = self._own(text)
        loads = [one for one in places if isinstance(getattr(one, "ctx", None), ast.Load)]
        statements = [self.file.statement(one) for one in targets]
        if loads or any(isinstance(one, ast.AugAssign) for one in statements):
            kept = self._local(targets, places, text)
            first = statements[0]
            if not isinstance(first, ast.Assign) or min(map(_line, loads), default=0) <= (first.end_lineno or 0):
                kept.given = (kept.returned[0], text)
            else:
                self._runs_once(first)
            return kept
        if len(targets) > 1:
            raise self.file.refuse(f"`{text}` is assigned at several places.", targets[1])
        statement = statements[0]
        self._runs_once(statement)
        kept = Kept(taken=[text])
        if isinstance(targets[0], ast.Name):
            kept.declared = text
            kept.returned = [text]
            return kept
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            raise self.file.refuse(f"It is not plainly assigned to `{text}` here.", statement)
        value = statement.value
        if isinstance(value, ast.Name) and self._can_go(statement, value):
            kept.returned = [value.id]
            kept.edits = [self.without(statement)]
        else:
            kept.returned = [self.local(name)]
            place = targets[0] if isinstance(statement, ast.Assign) else None
            span = self.layout.span(place) if place is not None else self._head(statement)
            kept.edits = [Edit(span, kept.returned[0])]
        return kept

    def filled(self, containers: list[ast.expr]) -> Kept:
        """`log.append(h)`, `seen["h"] = h`."""
        text = ast.unparse(containers[0])
        reads = [one for one in self._own(text) if one not in containers]
        if isinstance(containers[0], ast.Subscript):
            reads += self._of_whole(containers[0])
        if reads:
            raise self.file.refuse(f"It reads `{text}` as well, which is another one for each call.", reads[0])
        kept = Kept()
        for container in containers:
            statement, parent = self.file.statement(container), self.file.parents[container]
            self._known_outside(parent if isinstance(parent, ast.Subscript) else container)
            self._runs_once(statement)
            if isinstance(parent, ast.Subscript):
                self._item(kept, parent, statement)
            else:
                self._method(kept, parent, statement)
        return kept

    def local(self, name: str) -> str:
        """A name for a value that the function does not use."""
        word = "".join(part if part.isalnum() else "_" for part in name.rpartition(".")[2]).strip("_") or "kept"
        return self.unused(word)

    def unused(self, word: str) -> str:
        """`word`, or something like it that the function does not use."""
        number, found = 1, word
        while found in self._names:
            number += 1
            found = f"{word}_{number}"
        self._names.add(found)
        return found

    # -- the kinds

    def _local(self, targets: list[ast.expr], places: list[ast.expr], text: str) -> Kept:
        """A variable of the function stands for it, which is returned."""
        if isinstance(targets[0], ast.Name):
            return Kept(returned=[text], taken=[text], declared=text)
        local = self.local(text)
        for place in places:
            if self._function_of(place) is not self.node and not isinstance(getattr(place, "ctx", None), ast.Load):
                raise self.file.refuse(f"A function inside assigns `{text}`.", place)
        return Kept([Edit(self.layout.span(place), local) for place in places], [local], [text])

    def _item(self, kept: Kept, target: ast.Subscript, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Assign) or statement.targets != [target] or not self._is_plain(target.slice):
            raise self.file.refuse("What it is kept under is known only here.", statement)
        self._hand_out(kept, statement.value)
        kept.taken.append(self.layout.source(target))
        value = statement.value
        if isinstance(value, ast.Name) and self._can_go(statement, value):
            kept.returned.append(value.id)
            kept.edits.append(self.without(statement))
        else:
            kept.returned.append(self.unused("new"))
            kept.edits.append(Edit(self.layout.span(target), kept.returned[-1]))

    def _method(self, kept: Kept, method: ast.AST, statement: ast.stmt) -> None:
        call = self.file.parents[method]
        simple = isinstance(statement, ast.Expr) and statement.value is call and isinstance(method, ast.Attribute)
        if not simple or not isinstance(call, ast.Call) or getattr(method, "attr", "") not in _METHODS:
            raise self.file.refuse("What it does there cannot be done by the caller.", statement)
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(isinstance(one, ast.Starred) for one in call.args) or any(key.arg is None for key in call.keywords):
            raise self.file.refuse("What is put in is not written out here.", statement)
        made, base = [], self.layout.start(statement)
        line, ends = self.layout.source(statement), []
        for part in parts:
            if isinstance(part, ast.Constant):
                continue
            self._hand_out(kept, part)
            if isinstance(part, ast.Name) and self._can_go(statement, part):
                local = part.id
            else:
                local = self.unused("new")
                made.append(f"{local} = {self._whole(part)}")
                ends.append((self.layout.start(part) - base, self.layout.end(part) - base, local))
            kept.returned.append(local)
            kept.taken.append(local)
        for start, end, local in reversed(ends):
            line = line[:start] + local + line[end:]
        kept.after.append(line)
        if not made:
            kept.edits.append(self.without(statement))
            return
        joint = self.layout.newline + self.layout.indent(self.layout.start(statement))
        kept.edits.append(Edit(self.layout.span(statement), joint.join(made)))

    # -- what is asked

    def _whole(self, node: ast.expr) -> str:
        text = self.layout.source(node)
        return f"({text})" if "\n" in text else text

    def _known_outside(self, target: ast.expr) -> None:
        """Refuses names that mean something else, or nothing, to the caller, which writes the target as it stands."""
        bindings = self.file.scope(self.node).bindings
        for one in ast.walk(target):
            bound = bindings.get(one.id, []) if isinstance(one, ast.Name) else []
            if len(bound) > 1 or any(binding.kind != "parameter" for binding in bound):
                raise self.file.refuse(f"`{ast.unparse(one)}` is known only here.", target)

    def _hand_out(self, kept: Kept, value: ast.expr) -> None:
        """Refuses what JAX cannot return."""
        if isinstance(value, (ast.Tuple, ast.List)):
            for one in value.elts:
                self._hand_out(kept, one)
        elif isinstance(value, ast.Dict):
            for one in value.values:
                self._hand_out(kept, one)
        elif isinstance(value, (ast.JoinedStr, ast.Lambda, ast.Set, ast.GeneratorExp)) or (
            isinstance(value, ast.Constant) and isinstance(value.value, (str, bytes))
        ):
            raise self.file.refuse("A compiled function can only return arrays and numbers.", value)

    def _runs_once(self, statement: ast.stmt) -> None:
        if statement not in self.node.body:
            raise self.file.refuse("It is kept only in some of the ways through the function.", statement)
        first = next((one for one in self.returns() if one.lineno < statement.lineno), None)
        if first is not None:
            raise self.file.refuse("The function may return before it keeps the value.", first)

    def returns(self) -> list[ast.Return]:
        """The function's own `return`s."""
        return [one for one in _own_nodes(self.node) if isinstance(one, ast.Return)]

    def declarations(self, name: str) -> list[ast.Global | ast.Nonlocal]:
        """The statements that declare a name of the function `global` or `nonlocal`."""
        found = [one for one in _own_nodes(self.node) if isinstance(one, (ast.Global, ast.Nonlocal))]
        return [one for one in found if name in one.names]

    def _own(self, text: str) -> list[ast.expr]:
        """All of the function's expressions that are written like this."""
        nodes = [one for part in self.node.body for one in ast.walk(part) if isinstance(one, ast.expr)]
        return [one for one in nodes if isinstance(one, _PLACES) and ast.unparse(one) == text]

    def _of_whole(self, entry: ast.Subscript) -> list[ast.expr]:
        """Where the function reads what `entry` is an entry of, and may find it there: not under another fixed key."""
        found = []
        for one in self._own(ast.unparse(entry.value)):
            parent = self.file.parents[one]
            item = parent.slice if isinstance(parent, ast.Subscript) and parent.value is one else None
            same = item is not None and ast.unparse(item) == ast.unparse(entry.slice)
            fixed = isinstance(item, ast.Constant) and isinstance(entry.slice, ast.Constant)
            if not same and not fixed:
                found.append(one)
        return found

    def _stays(self, name: str) -> bool:
        """Is it a variable of the function with one value?"""
        return len(self.file.scope(self.node).bindings.get(name, ())) == 1

    def _can_go(self, statement: ast.stmt, value: ast.Name) -> bool:
        """Can the line go, since the value has a name?"""
        start, end = self.layout.start(statement), self.layout.end(statement)
        line, last = self.layout.line_start(start), self.layout.line_end(end)
        alone = not (self.layout.text[line:start] + self.layout.text[end:last]).strip()
        several = isinstance(statement, ast.Assign) and len(statement.targets) > 1
        return alone and not several and statement is not self.node.body[-1] and self._stays(value.id)

    def _is_plain(self, key: ast.expr) -> bool:
        return isinstance(key, ast.Constant) or (isinstance(key, ast.Name) and key.id in self.statics)

    def _function_of(self, node: ast.AST) -> ast.AST | None:
        inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((one for one in self.file.around(node) if isinstance(one, inner)), None)

    def _head(self, statement: ast.stmt) -> Span:
        """`self.x: Array` of an annotated assignment."""
        assert isinstance(statement, ast.AnnAssign)
        return Span(self.layout.start(statement), self.layout.end(statement.annotation))

    def without(self, statement: ast.stmt) -> Edit:
        """Takes the line of a statement away."""
        start, end = self.layout.start(statement), self.layout.end(statement)
        line, last = self.layout.line_start(start), self.layout.line_end(end)
        if self.layout.text[line:start].strip() or self.layout.text[end:last].strip():
            raise self.file.refuse("Something else stands on the line.", statement)
        return Edit(Span(line, min(last + len(self.layout.newline), len(self.layout.text))), "")


def _line(node: ast.expr) -> int:
    return node.lineno


def _own_nodes(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """The trees of a function's own code, functions inside it left out."""
    waiting: list[ast.AST] = list(node.body)
    for one in waiting:
        yield one
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(one)
