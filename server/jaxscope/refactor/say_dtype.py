"""Says the 32-bit dtype that JAX uses anyway while x64 is off: the program stays what it is, and shows what it does."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Hoist, Refusal, Refused
from jaxscope.refactor.enable_x64 import check_off
from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.known import Known
from jaxscope.refactor.program.mentions import check_examples, check_named
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import add_keyword, replace
from jaxscope.semantics.evaluation.dtypes import narrowed
from jaxscope.semantics.evaluation.values import Array
from jaxscope.semantics.model import FileModel
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.project import Project
from jaxscope.semantics.wide.wide_requests import WideRequest, wide_requests_of
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Range, Span

_SPELLINGS = {
    "float64": ("float64", "double"),
    "int64": ("int64", "longlong"),
    "uint64": ("uint64", "ulonglong"),
    "complex128": ("complex128", "cdouble"),
}
_ROUNDS = ("numpy.array", "numpy.asarray", "numpy.full", "numpy.linspace", "numpy.zeros", "numpy.ones")
"""What makes the same of a dtype that it is given as a conversion afterwards."""


def plan(project: Project, path: str, place: Range) -> SourceChange | Refusal:
    """For the request, or the read of a NumPy array, at `place`."""
    files = Files(project)
    try:
        file, model = files.get(path), project.model(path)
        check_off(files, file)
        requests = wide_requests_of(model) if model is not None else []
        for one in requests:
            if model is not None and model.place(one.scope, one.node).range == place:
                return _requested(file, model, one)
        return _captured(files, file, place)
    except Refused as refused:
        return refused.refusal


def _requested(file: File, model: FileModel, request: WideRequest) -> SourceChange:
    written, where = request.written, model.place(request.scope, request.written).range
    lines = file.module.lines
    span = Span(lines.offset(where.start), lines.offset(where.end))
    text = file.module.text[span.start : span.end]
    narrow = narrowed(request.dtype, False) or ""
    words = _SPELLINGS.get(request.dtype, ())
    if isinstance(written, ast.Attribute) and written.attr in words:
        new = text.removesuffix(written.attr) + narrow
    elif isinstance(written, ast.Constant) and written.value in words and text[1:-1] == written.value:
        new = text[0] + narrow + text[-1]
    else:
        raise Refused(f"`{text}` may say it for other places too.", file.path, where.start.line)
    edits = Edits()
    edits.add(file, [Edit(span, new)])
    return edits.change()


def _captured(files: Files, file: File, place: Range) -> SourceChange:
    node = _name_at(file, place)
    home = file.lookup(file.scope_of(node), node.id)
    bound = file.bindings(home, node.id) if home is not None else []
    value = bound[0].value if len(bound) == 1 and bound[0].kind == "assign" and not bound[0].path else None
    if home is None or not isinstance(value, ast.Call):
        raise file.refuse(
            f"`{node.id}` is not given the result of one call, here, where its dtype could be said.", node
        )
    known = Known(files.project, file, home, node.id, ())
    if not isinstance(known.value, Array) or known.value.dtype != "float64":
        raise file.refuse(f"`{node.id}` is not known to be an array of 64-bit floats.", node)
    _check_reads(files, file, home, node.id, known)
    edits = Edits()
    edits.add(file, _narrow(file, value))
    return Hoist(edits.change().files, tuple(files.doubts))


def _check_reads(files: Files, file: File, home: Scope, name: str, known: Known) -> None:
    """Raises Refused where something else than JAX uses the array."""
    check_named(files, file, name, home)
    check_examples(files, file, name, home)
    compiled, reason = Compiled(files), f"`{name}` is used here before JAX halves it."
    for use in files.of_name(file, home, name):
        if use.file is not file:
            raise use.file.refuse(f"`{name}` is used here as well.", use.node)
        traced = compiled.outermost(file, file.scope_of(use.node), file.top) is not None
        if not traced and not _is_given_to_jax(compiled, file, use.node):
            raise file.refuse(reason, use.node)
        try:
            Concreteness(files, file, name, known, narrows=True).check(use.node)
        except Refused as refused:
            raise Refused(reason, refused.refusal.path, refused.refusal.line) from None


def _is_given_to_jax(compiled: Compiled, file: File, node: ast.expr) -> bool:
    """Is it an argument of JAX's, or of a function that is compiled, or asked for nothing but its shape?"""
    parent = file.parents[node]
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("shape", "ndim", "size")
    call = file.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    found = list(compiled.definition(file, call.func))
    takes = bool(found) and all(compiled.compiled(other, function) for other, function in found)
    return takes or (file.dotted(call.func) or "").startswith("jax.")


def _name_at(file: File, place: Range) -> ast.Name:
    node = file.at(place)
    if not isinstance(node, ast.Name):
        raise Refused("It is not a name whose dtype could be said where it is bound.", file.path, place.start.line)
    return node


def _narrow(file: File, call: ast.Call) -> list[Edit]:
    """Edits after which the call gives 32-bit floats."""
    dtype = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    word = (file.dotted(dtype) or "").rpartition(".")[2] if dtype is not None else ""
    if isinstance(dtype, ast.Attribute) and dtype.attr == word and word in _SPELLINGS["float64"]:
        return [replace(file.layout, dtype, file.layout.source(dtype).removesuffix(word) + "float32")]
    numpy = file.name_of("numpy", call)
    if numpy is None:
        raise file.refuse("The file does not import `numpy`.", call)
    few = len(call.args) <= (2 if file.dotted(call.func) in ("numpy.full", "numpy.linspace") else 1)
    if dtype is None and few and file.dotted(call.func) in _ROUNDS:
        return add_keyword(file.layout, call, f"dtype={numpy}.float32")
    end = file.layout.end(call)
    return [Edit(Span(end, end), f".astype({numpy}.float32)")]
