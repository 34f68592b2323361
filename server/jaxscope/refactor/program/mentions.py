"""Names that are meant by a string: `getattr(module, "f")`, `globals()["W"]`, `eval("f(x)")`, a patch, a doctest.

Such a use cannot be followed, so that what it means must stay as it is; what only has the same name need not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from doctest import DocTestParser

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.semantics.names.scopes import Scope

_BY_NAME = frozenset(
    [
        *("getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller", "patch", "object", "setitem"),
        *("delitem", "__getattr__", "__getattribute__", "__setattr__", "get", "pop", "setdefault", "getattr_static"),
    ]
)
"""Last component of functions that are told a name."""
_OF_NAMESPACE = frozenset(["get", "pop", "setdefault"])
"""Those of them that count only on a namespace."""
_CODE = frozenset(["builtins.eval", "builtins.exec", "builtins.compile", "cProfile.run", "profile.run"])
"""Functions that are given code, besides those of `timeit`."""
_NAMESPACES = frozenset(["globals", "locals", "vars"])


def check_named(files: Files, file: File, name: str, home: Scope | None) -> None:
    """Raises Refused where code means `name` of scope `home` of the file by a string. `home` None: an attribute."""
    pattern, local = _word(name), home is not None and home is not file.top
    for other in [file] if local else files.mentioning(name):
        for node in other.nodes:
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            means = pattern.search(text) and _means(files, other, node, name, file.path)
            if means or (isinstance(node, ast.Call) and _updated(node, name)):
                raise other.refuse(f"`{name}` is meant by a string here, so that its uses cannot be followed.", node)


def check_examples(files: Files, file: File, name: str, home: Scope | None) -> None:
    """Raises Refused where a doctest uses what `check_named` is asked about."""
    if home is not None and home is not file.top:
        return
    known = files.handed_on(file, name) if home is not None else [(file, name)]
    for word in dict.fromkeys(word for _, word in known):
        for other in files.mentioning(word):
            texts = [node for node in other.nodes if isinstance(node, ast.Constant)]
            for node in (node for node in texts if isinstance(node.value, str) and ">>>" in node.value):
                if _Example(files, other, str(node.value)).uses(known, home, word):
                    raise other.refuse(f"`{word}` is used by a doctest here, which would have to change too.", node)


def check_exported(files: Files, file: File, name: str) -> None:
    """Raises Refused where a module that has the global `name` of `file` exports it."""
    for other, local in files.handed_on(file, name):
        for binding in other.bindings(other.top, "__all__"):
            for constant in ast.walk(other.statement(binding.node)):
                if isinstance(constant, ast.Constant) and constant.value == local:
                    reason = f"`{local}` is exported in `__all__`, so that its calls cannot all be seen."
                    raise other.refuse(reason, constant)


def _means(files: Files, file: File, node: ast.AST, name: str, path: str) -> bool:
    """Is the string a name of what has `name` in the module at `path`?"""
    assert isinstance(node, ast.Constant)
    text = str(node.value)
    whole = text == name or text.endswith((f".{name}", f":{name}"))
    at: ast.AST = node
    parent = file.parents.get(at)
    while isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.keyword | ast.BinOp):
        at, parent = parent, file.parents.get(parent)
    if isinstance(parent, ast.Subscript) and parent.slice is at:
        return whole and _namespace(parent.value)
    if isinstance(parent, ast.Dict) and at in parent.keys:
        call = file.parents.get(parent)
        return whole and isinstance(call, ast.Call) and any(map(_namespace, [call.func, *call.args]))
    if not isinstance(parent, ast.Call):
        return False
    called, dotted = _last(parent.func), file.dotted(parent.func) or ""
    if dotted in _CODE or dotted.startswith("timeit."):
        return True
    if called in _OF_NAMESPACE:
        return whole and isinstance(parent.func, ast.Attribute) and _namespace(parent.func.value)
    return whole and called in _BY_NAME and not _of_library(files, file, parent, text, path)


def _of_library(files: Files, file: File, call: ast.Call, text: str, path: str) -> bool:
    """Is the name one of a module that is none of the project's: `getattr(jax.nn, "f")`, `patch("time.f")`?"""
    first = call.args[0] if len(call.args) > 1 and "." not in text else None
    dotted = file.dotted(first) if first is not None else None
    package = (dotted or (text if "." in text else "builtins")).partition(".")[0]
    return package not in ("", "builtins") and files.project.resolve(path, package, 0) is None


def _updated(call: ast.Call, name: str) -> bool:
    """`globals().update(W=…)`."""
    given = any(keyword.arg == name for keyword in call.keywords)
    return given and isinstance(call.func, ast.Attribute) and _namespace(call.func.value)


def _namespace(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute) and node.attr != "__dict__":
        node = node.value
    if isinstance(node, ast.Attribute):
        return True
    return isinstance(node, ast.Call) and _last(node.func) in _NAMESPACES


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class _Example:
    """The code of one doctest, which sees the globals of its file."""

    def __init__(self, files: Files, file: File, text: str) -> None:
        self.files = files
        self.file = file
        self.text = text
        try:
            self.tree: ast.Module | None = ast.parse(
                "".join(example.source for example in DocTestParser().get_examples(text))
            )
        except (ValueError, SyntaxError):
            self.tree = None

    def uses(self, known: Sequence[tuple[File, str]], home: Scope | None, word: str) -> bool:
        """Does it use the global of `known`, or, without a `home`, the attribute `word` of an object?"""
        if self.tree is None:
            return _word(word).search(self.text) is not None
        paths = {other.path for other, local in known if local == word}
        imported = set(self._imported())
        attributes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute) and node.attr == word]
        if home is None:
            return bool(attributes) and self._leads(imported, paths)
        names = {local for local, path, name in imported if path in paths and name in (word, "*")}
        names |= {word} if self.file.path in paths else set()
        names |= {word for local, path, name in imported if path in paths and name == "*"}
        modules = {local for local, path, name in imported if path in paths and name is None}
        modules |= {prefix for path in paths for _, prefix in self.files.module_prefixes(self.file, path)}
        read = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return bool(names & read) or any(ast.unparse(node.value) in modules for node in attributes)

    def _imported(self) -> Iterator[tuple[str, str, str | None]]:
        """What it imports from the project: the name here, the file, the name there or None for the module."""
        resolve, here = self.files.project.resolve, self.file.path
        for node in ast.walk(self.tree) if self.tree else ():
            if isinstance(node, ast.Import):
                found = [(alias.asname or alias.name, resolve(here, alias.name, 0), None) for alias in node.names]
                yield from ((local, path, name) for local, path, name in found if path)
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                assert isinstance(node, ast.ImportFrom)
                local, module = alias.asname or alias.name, node.module or ""
                package = resolve(here, module, node.level)
                inner = resolve(here, f"{module}.{alias.name}".removeprefix("."), node.level)
                yield from [(local, package, alias.name)] if package else []
                yield from [(local, inner, None)] if inner else []

    def _leads(self, imported: set[tuple[str, str, str | None]], paths: set[str]) -> bool:
        """Does its file, or what it imports, import one of `paths`, however far away?"""
        waiting = list(dict.fromkeys([self.file.path, *(path for _, path, _ in imported)]))
        for at in waiting:  # it grows
            file = self.files.readable(at)
            bindings = [b for scope in file.scopes() for some in scope.bindings.values() for b in some] if file else []
            targets = [self.files.target(file, binding) for binding in bindings] if file else []
            waiting += {target[0] for target in targets if target} - set(waiting)
        return bool(paths & set(waiting))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w]){re.escape(name)}(?!\w)")
