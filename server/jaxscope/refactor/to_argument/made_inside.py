"""An array that NumPy makes while a function is traced: it is made once, before the function, and passed.

Only where that gives the same array: made from constants alone, without a random generator that is not seeded. One that
is made of shapes JAX makes instead, where it is.
"""

from __future__ import annotations

import ast
from functools import partial

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.known import Known
from jaxscope.refactor.program.names import File, identifiers, unused
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.to_argument.changes import Changes
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.staged import hoist_staged
from jaxscope.refactor.to_argument.thread_through import Threading
from jaxscope.refactor.to_argument.value import Value, inside
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.syntax import insert_before, replace, starts_own_line
from jaxscope.text.edit import Edit, SourceChange
from jaxscope.text.span import Span

_SEEDED = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator")
_FRESH = ("numpy.random.", "numpy.load", "numpy.fromfile", "numpy.genfromtxt", "numpy.loadtxt", "numpy.memmap")


def hoist_made(files: Files, compiled: Compiled, file: File, node: FunctionNode, name: str) -> SourceChange | None:
    """The change for the local array `name`; None when the function makes none of that name. Raises Refused."""
    scope = file.scope(node)
    bindings = scope.bindings.get(name, [])
    if not bindings:
        return None
    statement = file.statement(bindings[0].node)
    if len(bindings) != 1 or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise file.refuse(f"`{name}` is made in more than one step.", bindings[-1].node)
    if isinstance(node, ast.Lambda) or statement not in node.body or not isinstance(statement.targets[0], ast.Name):
        raise file.refuse(f"`{name}` is not made at the top of the function.", statement)
    concrete = Concreteness(files, file, name, Known(files.project, file, scope, name, ()))
    changes = Changes(files, compiled, name, True, lambda _file, _node: False)
    for read in file.reads(scope, name):
        changes.check(file, read.node, ())
        concrete.check(read.node)
    moved = partial(_moved, files, compiled, file, node, statement)
    return files.first(moved, partial(hoist_staged, files, compiled, file, statement))


def _moved(files: Files, compiled: Compiled, file: File, node: FunctionNode, statement: ast.Assign) -> SourceChange:
    _check_constant(file, statement.value, ast.unparse(statement.targets[0]))
    return _change(files, compiled, file, node, statement)


def _check_constant(file: File, node: ast.expr, name: str) -> None:
    """Raises Refused when the expression may have another value somewhere else, or at another time."""
    if not isinstance(node, ast.Call):
        raise file.refuse(f"`{name}` is made inside the function from something else.", node)
    for child in ast.walk(node):
        if isinstance(child, ast.Lambda | ast.NamedExpr | ast.Await | ast.Yield | ast.ListComp | ast.GeneratorExp):
            raise file.refuse(f"`{name}` is made inside the function in a way that cannot be moved.", child)
        if isinstance(child, ast.Name):
            home = file.lookup(file.scope_of(child), child.id)
            bound = home.bindings.get(child.id, []) if home else []
            fixed = (
                home is file.top
                and len(bound) == 1
                and (bound[0].kind == "import" or isinstance(bound[0].value, ast.Constant))
            )
            if home is not None and not fixed:
                raise file.refuse(f"`{name}` is made from `{child.id}`, which differs from call to call.", child)
        if isinstance(child, ast.Call):
            _check_call(file, child, name)


def _check_call(file: File, call: ast.Call, name: str) -> None:
    dotted = file.dotted(call.func)
    if dotted in _SEEDED:
        if not call.args or not isinstance(call.args[0], ast.Constant) or call.args[0].value is None:
            raise file.refuse(f"`{name}` is made with a random generator that is not seeded.", call)
    elif dotted is None:
        if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Call):
            raise file.refuse(f"`{name}` is made inside the function in a way that cannot be moved.", call)
    elif not dotted.startswith("numpy.") or dotted.startswith(_FRESH):
        raise file.refuse(f"`{name}` is made inside the function by `{ast.unparse(call.func)}`.", call)


def _change(files: Files, compiled: Compiled, file: File, node: FunctionNode, statement: ast.Assign) -> SourceChange:
    layout, target = file.layout, statement.targets[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(target, ast.Name)
    start, end = layout.line_start(layout.start(statement)), layout.line_end(layout.end(statement))
    rest = layout.text[layout.end(statement) : end].strip()
    if not starts_own_line(layout, statement) or rest or len(node.body) < 2:
        raise file.refuse(f"`{target.id}` shares its line with something else.", statement)
    threading = _threading(files, compiled, file, node, name=target.id, made=statement.value)
    after = end + len(layout.newline) if layout.text.startswith(layout.newline, end) else end
    threading.edits.add(file, [Edit(Span(start, after), "")])
    threading.run(file, node)
    return threading.edits.change()


def hoist_inline(
    files: Files, compiled: Compiled, file: File, node: FunctionNode, text: str, *, line: int | None
) -> SourceChange:
    """The change for an array that is made within an expression, where its elements are not needed. Raises Refused."""
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call) and ast.unparse(call) == text]
    found = [call for call in calls if inside(file.scope_of(call), file.scope(node))]
    found = [call for call in found if call.lineno == line] or found
    if len(found) != 1 or isinstance(node, ast.Lambda):
        raise file.refuse(f"`{text}` is not a name that could be passed.", found[0] if found else node)
    call = found[0]
    _check_constant(file, call, text)
    Concreteness(files, file, text, None).check(call)
    name = unused((file.dotted(call.func) or "array").rpartition(".")[2], identifiers(node))
    threading = _threading(files, compiled, file, node, name=name, made=call)
    threading.edits.add(file, [replace(file.layout, call, name)])
    threading.run(file, node)
    return threading.edits.change()


def _threading(
    files: Files,
    compiled: Compiled,
    file: File,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    *,
    name: str,
    made: ast.expr,
) -> Threading:
    """The beginning of a change: the array is made before the function, whose parameter is called `name`."""
    layout, top = file.layout, file.statement(node)
    while top not in file.tree.body:
        top = file.statement(file.parents[top])
    wanted = (f"{node.name}_{name}".upper(), f"_{node.name}_{name}".upper())
    constant = next((word for word in wanted if word not in identifiers(file.tree)), None)
    if constant is None or not starts_own_line(layout, top):
        raise file.refuse(f"There is no place or free name for `{name}`.", made)
    threading = Threading(files, compiled, Value(file, file.top, constant, (), new=True), by_keyword=False)
    threading.chosen[node] = name
    text = layout.text[layout.start(made) : layout.end(made)]
    threading.edits.add(file, insert_before(layout, top, [f"{constant} = {text}"], blank=2))
    return threading
