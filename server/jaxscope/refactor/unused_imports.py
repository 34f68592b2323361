"""Takes away what a change leaves imported for nothing: names that were read before it, and are not any more.

An import may be there for more than its name. It stays where anything speaks for that: another file that takes the
name from here, `__all__`, a comment beside it, a condition around it, a module that does something when it is imported.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from jaxscope.refactor.change import Refused
from jaxscope.refactor.program.names import File, file_of
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.writing.syntax import starts_own_line
from jaxscope.semantics.project import Project
from jaxscope.semantics.vocabulary import words
from jaxscope.source.module import parse
from jaxscope.text.edit import Edit, FileChange, SourceChange, TextEdit
from jaxscope.text.span import Span

_LIBRARIES = words("numpy jax random logging time datetime math functools itertools operator collections typing")
"""Those that are imported for their names alone."""
_SIMPLE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
_DEPTH = 4
_Import = ast.Import | ast.ImportFrom
_Change = TypeVar("_Change", bound=SourceChange)


def without_unused(project: Project, change: _Change) -> _Change:
    """The change, which also takes away the imports that only it makes superfluous."""
    files = Files(project)
    try:
        touched = {one.path: _touched(files.get(one.path), one) for one in change.files}
        if not any(touched.values()):
            return change
        after = {one.path: file_of(parse(one.path, one.changed, files.get(one.path).module)) for one in change.files}
        cleaned = (_cleaned(files, after, one, touched[one.path]) for one in change.files)
        return dataclasses.replace(change, files=tuple(cleaned))
    except Refused:  # another file cannot be read, or may take any name from here
        return change


def _touched(file: File, change: FileChange) -> list[_Import]:
    """The imports of a file whose names occur in what the change takes away or adds."""
    if Path(change.path).name == "__init__.py" or file.module.text != change.original:
        return []
    texts = ((edit.new, change.original[edit.span.start : edit.span.end]) for edit in change.edit.edits)
    text = " ".join(part for pair in texts for part in pair)
    imports = (node for node in file.tree.body if isinstance(node, _Import) and _stands_alone(file, node))
    return [node for node in imports if any(_word(_local(alias)).search(text) for alias in node.names)]


def _cleaned(files: Files, after: Mapping[str, File], change: FileChange, touched: list[_Import]) -> FileChange:
    before = files.get(change.path)
    named = [alias for node in touched for alias in node.names if alias.name != alias.asname]
    unused = {alias for alias in named if _is_unused(files, before, after, _local(alias))}
    kept = [node for node in before.tree.body if isinstance(node, _Import) and not unused.issuperset(node.names)]
    edits: list[Edit] = []
    for node in touched:
        gone = [alias for alias in node.names if alias in unused]
        if gone and (node in kept or _is_for_names(files, before, node, kept)):
            edits += _removed(before, node, gone)
    try:
        return dataclasses.replace(change, edit=TextEdit.of([*change.edit.edits, *edits]))
    except ValueError:  # the change adds to the import
        return change


def _local(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _stands_alone(file: File, node: _Import) -> bool:
    """Does it stand on lines of its own, without a comment?"""
    layout = file.layout
    rest = layout.text[layout.end(node) : layout.line_end(layout.end(node))]
    return starts_own_line(layout, node) and not rest.strip() and "#" not in layout.source(node)


def _is_unused(files: Files, before: File, after: Mapping[str, File], name: str) -> bool:
    """Does the change take away the last use of an import?"""
    now = after[before.path]
    if not before.reads(before.top, name) or now.reads(now.top, name) or len(now.bindings(now.top, name)) != 1:
        return False
    texts = (node.value for node in now.nodes if isinstance(node, ast.Constant))
    if any(isinstance(text, str) and _word(name).search(text) and _is_code(text) for text in texts):
        return False
    others = {other.path: other for other in files.mentioning(Path(before.path).stem)} | {**after}
    return not any(_takes(files, other, before, name) for path, other in others.items() if path != before.path)


def _is_code(text: str) -> bool:
    """May a text hold names: an annotation, an entry of `__all__`, a doctest, code?"""
    try:
        ast.parse(text.strip())
    except (SyntaxError, ValueError):
        return ">>>" in text
    return True


def _takes(files: Files, other: File, file: File, name: str) -> bool:
    """Does another file get the name from this one?"""
    for scope in other.scopes():
        for binding in (one for some in scope.bindings.values() for one in some if one.kind == "import"):
            if files.target(other, binding) == (file.path, name):
                return True
    prefixes = {prefix for _, prefix in files.module_prefixes(other, file.path)}
    nodes = [node for node in other.nodes if isinstance(node, ast.Attribute | ast.ImportFrom)]
    return any(
        (node.attr == name and ast.unparse(node.value) in prefixes)
        if isinstance(node, ast.Attribute)
        else node.names[0].name == "*" and files.project.resolve(other.path, node.module or "", node.level) == file.path
        for node in nodes
    )


def _is_for_names(files: Files, file: File, node: _Import, kept: list[_Import]) -> bool:
    """Is nothing but names lost with the import: does its module run anyway, or does it do nothing that shows?"""
    others = {module for other in kept for module in _modules(other)}
    return others.issuperset(_modules(node)) or _is_quiet(files, file, node, 0)


def _is_quiet(files: Files, file: File, node: _Import, depth: int) -> bool:
    """Does importing only make names?"""
    for name, level in _modules(node):
        path = files.project.resolve(file.path, name, level)
        if path is None and (level or name.partition(".")[0] not in _LIBRARIES):
            return False
        if path is not None and (depth > _DEPTH or _runs_package(files, file, path)):
            return False
        if path is not None and not _makes_names(files, path, depth):
            return False
    return True


def _runs_package(files: Files, file: File, path: str) -> bool:
    """Is the module at `path` in a package, other than the file's own, that has code?"""
    folders = (folder for folder in Path(path).parents if not Path(file.path).is_relative_to(folder))
    return any(files.project.text(str(folder / "__init__.py")) for folder in folders)


def _modules(node: _Import) -> Iterator[tuple[str, int]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    else:
        yield node.module or "", node.level


def _makes_names(files: Files, path: str, depth: int) -> bool:
    """Has a module of the project nothing but definitions and assignments of names, and imports of such modules?"""
    file = files.readable(path)
    if file is None or Path(path).name == "__init__.py":
        return False
    return all(_makes_name(files, file, node, depth) for node in file.tree.body)


def _makes_name(files: Files, file: File, node: ast.stmt, depth: int) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    named = isinstance(node, _SIMPLE) and all(isinstance(target, ast.Name) for target in targets)
    if not (text or named) or (isinstance(node, _Import) and not _is_quiet(files, file, node, depth + 1)):
        return False
    if isinstance(node, ast.ClassDef):
        if node.keywords or not all(_is_library_name(file, base) for base in node.bases):
            return False  # such a class may be told of its children
        if not all(isinstance(one, ast.Pass) or _makes_name(files, file, one, depth) for one in node.body):
            return False
    run = [getattr(node, "value", None), *getattr(node, "decorator_list", [])]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        run += [*node.args.defaults, *node.args.kw_defaults]
    return all(_is_of_library(file, one) for part in run if part is not None for one in ast.walk(part))


def _is_of_library(file: File, node: ast.AST) -> bool:
    """Is it no call, or one of a library, or of a method of what one has made?"""
    if not isinstance(node, ast.Call) or (
        isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call)
    ):
        return True
    return _is_library_name(file, node.func)


def _is_library_name(file: File, node: ast.expr) -> bool:
    name = (file.dotted(node) or "").partition(".")[0]
    return name in _LIBRARIES or name == "builtins"


def _removed(file: File, node: _Import, gone: list[ast.alias]) -> Iterator[Edit]:
    """Edits that take names, or the whole statement, away."""
    layout, kept = file.layout, [alias for alias in node.names if alias not in gone]
    if not gone:
        return
    if not kept:
        start, end = layout.line_start(layout.start(node)), layout.line_end(layout.end(node))
        blank = layout.text.startswith(layout.newline * 2, end)
        if start:
            start = _end_before(file, start)
            if blank and start == layout.line_start(start):
                start = _end_before(file, start) if start else start
        else:
            start, end = layout.start(node), min(end + len(layout.newline) * (1 + blank), len(layout.text))
        yield Edit(Span(start, end), "")
        return
    last = node.names.index(kept[-1])
    for alias, following in zip(node.names[:last], node.names[1:], strict=False):
        if alias in gone:
            yield Edit(Span(layout.start(alias), layout.start(following)), "")
    if node.names[last + 1 :]:
        yield Edit(Span(layout.end(kept[-1]), layout.end(node.names[-1])), "")


def _end_before(file: File, start: int) -> int:
    """Where the line ends that is before the one which starts there."""
    return file.layout.line_end(file.layout.line_start(start - 1))
