"""Signatures that the source itself gives: declared comments and jaxtyping annotations.

Short form of a type: `f32[3,700]`, `key`, a tree as `{w: f32[8,8], b: f32[8]}` or `(f32[], i32[2])`.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator

from jaxscope import project_settings
from jaxscope.config import ConfigError
from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.project import Project
from jaxscope.tracing.annotations import annotated
from jaxscope.tracing.locations import import_name
from jaxscope.tracing.sizes import known_sizes
from jaxscope.worker.jaxscope_worker.wire.messages import DeclaredSignature

_COMMENT = re.compile(r"\s*#\s*jaxscope\s*:\s*(?!ignore\b|ignore-file\b)(\S.*?)\s*$")


def declared_signatures(model: FileModel) -> tuple[DeclaredSignature, ...]:
    """What comments above a def, or above its decorators, declare. Several comments declare several signatures."""
    found = []
    for function in model.functions:
        places = {function.range.start.line, function.line}
        for number in sorted({n for place in places for n in _comments_above(model, place)}):
            match = _COMMENT.match(model.module.lines.line(number))
            if match:
                origin = f"{os.path.basename(function.path)}:{number}"
                found.append(DeclaredSignature(function.qualname, match[1], "declared", origin, function.line))
    return tuple(found)


def project_signatures(model: FileModel) -> tuple[DeclaredSignature, ...]:
    """What `[tool.jaxscope.signatures]` of the project declares for functions of the file: `pkg.module:Class.method`,
    or `pkg/module.py::f` from the folder of `pyproject.toml`."""
    try:
        table, file, text = project_settings.project_signatures(model.module.path)
    except ConfigError:
        return ()  # said where the settings are read
    found = []
    for key, signatures in table.items():
        module, separator, name = key.partition("::") if "::" in key else key.partition(":")
        if not separator or not _is_file(module, model.module.path, os.path.dirname(file)):
            continue
        function = model.function(name)
        line = _line_of(key, text)
        for signature in signatures:
            origin = f"{os.path.basename(file)}:{line}"
            at = function.line if function else 0
            found.append(DeclaredSignature(name, signature, "declared", origin, at))
    return tuple(found)


def unknown_signatures(path: str, project: Project) -> Iterator[tuple[str, int, str]]:
    """What `[tool.jaxscope.signatures]` declares for functions that are not there: file, line, what is wrong.

    `path` is the project's folder or a file in it. Raises ConfigError.
    """
    table, file, text = project_settings.project_signatures(path)
    for key in table:
        module, separator, name = key.partition("::") if "::" in key else key.partition(":")
        if not separator or not name:
            why = "write it as `package.module:function` or `path/to/file.py::function`"
        elif not (files := _files(module, os.path.dirname(file), project)):
            why = f"no file of the project is {module}"
        elif all(_lacks(project, at, name) for at in files):
            why = f"{module} has no {name}"
        else:
            continue
        yield file, _line_of(key, text), f"`{key}` in [tool.jaxscope.signatures]: {why}"


def _files(module: str, folder: str, project: Project) -> list[str]:
    if module.endswith(".py"):
        path = os.path.realpath(os.path.join(folder, module))
        return [path] if os.path.isfile(path) else []
    last = module.rpartition(".")[2]
    near = (f"{last}.py", f"{last}/__init__.py".replace("/", os.sep))
    return [path for path in project.python_files() if path.endswith(near) and import_name(path)[1] == module]


def _lacks(project: Project, path: str, name: str) -> bool:
    """Is it certain that the file has no function of that name, not even one that it imports or inherits?"""
    model = project.model(path)
    if model is None or model.function(name) is not None or model.module.tree is None:
        return False
    first, _, rest = name.partition(".")
    statements = model.module.tree.body
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in statements):
        return False
    if not model.global_bindings(first):
        return True
    classes = [node for node in statements if isinstance(node, ast.ClassDef) and node.name == first]
    return bool(rest and classes) and not any(node.bases or node.decorator_list for node in classes)


def _line_of(key: str, text: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if key in _quoted(line)), 1)


def _quoted(line: str) -> list[str]:
    return re.findall(r"""["']([^"']*)["']""", line)


def _is_file(module: str, path: str, folder: str) -> bool:
    if module.endswith(".py"):
        return os.path.realpath(os.path.join(folder, module)) == os.path.realpath(path)
    return import_name(path)[1] == module


def _comments_above(model: FileModel, line: int) -> Iterable[int]:
    number = line - 1
    while model.module.lines.line(number).lstrip().startswith("#"):
        yield number
        number -= 1


def annotated_signatures(model: FileModel, project: Project, skip: frozenset[str]) -> tuple[DeclaredSignature, ...]:
    """What jaxtyping annotations imply for the file's traced functions that the module will have.

    `skip` are qualified names with a better signature.
    """
    if "jaxtyping" not in model.module.text:
        return ()
    found = []
    for function, static in _reachable(model):
        if function.qualname in skip:
            continue
        own = function.parameters[1:] if function.owner_class is not None else function.parameters
        signature = annotated(own, known_sizes(function, model, project), static)
        if signature:
            origin = f"{os.path.basename(function.path)}:{function.line}"
            found.append(DeclaredSignature(function.qualname, signature, "annotation", origin))
    return tuple(found)


def to_guess(model: FileModel, skip: frozenset[str]) -> tuple[DeclaredSignature, ...]:
    """The file's compiled functions of which nothing tells the shapes: the worker guesses where no call traces them."""
    compiled = (site.function for site in model.traced if site.function.path == model.module.path)
    functions = sorted({(function.qualname, function.line) for function in compiled})
    return tuple(DeclaredSignature(name, "", "guess", "", line) for name, line in functions if name not in skip)


def _reachable(model: FileModel) -> Iterable[tuple[Function, tuple[str, ...]]]:
    """The compiled functions that the module will have, with their static parameters."""
    traced = {site.function.qualname: site for site in model.traced if site.function.path == model.module.path}
    for site in traced.values():
        if site.function.parent is None and site.function.name != "<lambda>":
            yield site.function, site.statics
