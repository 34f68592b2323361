"""An array that NumPy makes while a function is traced: it is made once, before the function, and passed.

Only where that gives the same array: made from constants alone, without a random generator that is not seeded. One that
is made of shapes JAX makes instead, where it is.
"""

from __future__ import annotations

import ast
from functools import partial

from jaxscope.refactor.changes import Changes
from jaxscope.refactor.compiled import Compiled
from jaxscope.refactor.concrete import Concreteness
from jaxscope.refactor.known import Known
from jaxscope.refactor.layout import FunctionNode
from jaxscope.refactor.names import File, identifiers
from jaxscope.refactor.references import Files
from jaxscope.refactor.staged import hoist_staged
from jaxscope.refactor.syntax import insert_before, starts_own_line
from jaxscope.refactor.thread_through import Threading
from jaxscope.refactor.value import Value
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
    name = target.id
    top: ast.AST = node
    while top not in file.tree.body:
        top = file.parents[top]
    assert isinstance(top, ast.stmt)
    start, end = layout.line_start(layout.start(statement)), layout.line_end(layout.end(statement))
    rest = layout.text[layout.end(statement) : end].strip()
    if not starts_own_line(layout, statement) or not starts_own_line(layout, top) or rest or len(node.body) < 2:
        raise file.refuse(f"`{name}` shares its line with something else.", statement)
    wanted = (f"{node.name}_{name}".upper(), f"_{node.name}_{name}".upper())
    constant = next((word for word in wanted if word not in identifiers(file.tree)), None)
    if constant is None:
        raise file.refuse(f"There is no free name for `{name}`.", statement)
    threading = Threading(files, compiled, Value(file, file.top, constant, (), new=True), by_keyword=False)
    threading.chosen[node] = name
    made = layout.text[layout.start(statement.value) : layout.end(statement.value)]
    after = end + len(layout.newline) if layout.text.startswith(layout.newline, end) else end
    threading.edits.add(file, insert_before(layout, top, [f"{constant} = {made}"], blank=2))
    threading.edits.add(file, [Edit(Span(start, after), "")])
    threading.run(file, node)
    return threading.edits.change()
