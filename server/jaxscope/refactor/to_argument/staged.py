"""An array that NumPy makes while a function is traced, of shapes: JAX makes it instead, as part of the program.

Only where each step has the same type in both: NumPy computes with 64 bits what JAX computes with 32. The last digits
may still differ where fractions are computed, which a run must show.
"""

from __future__ import annotations

import ast

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import decorated_by
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.syntax import replace
from jaxscope.semantics.vocabulary import words
from jaxscope.text.edit import SourceChange

_MAKING = frozenset(words("arange zeros ones full eye identity tri"))
_MOVING = frozenset(words("reshape transpose concatenate stack tile broadcast_to flip roll tril triu expand_dims"))
_EXACT = frozenset(words("outer multiply add subtract negative abs maximum minimum square"))
_FLOATING = frozenset(words("sin cos tan exp log sqrt tanh power divide"))
_TYPES = frozenset(words("float32 int32 int16 int8 uint32 uint16 uint8"))
_NUMBERS = frozenset(words("int float"))
"""Types of Python numbers, which take the type of what they are computed with."""


def hoist_staged(files: Files, compiled: Compiled, file: File, statement: ast.Assign) -> SourceChange:
    """The change for what an assignment of a compiled function makes. Raises Refused."""
    staged = _Staged(files, compiled, file)
    staged.type_of(statement.value)
    return staged.edits.change()


class _Staged:
    def __init__(self, files: Files, compiled: Compiled, file: File) -> None:
        self.files = files
        self.compiled = compiled
        self.file = file
        self.edits = Edits()
        self._locals: dict[str, str] = {}
        """Types of the names of the helper that is looked at."""

    def type_of(self, node: ast.expr) -> str:
        """The type of what the expression makes, in NumPy and JAX alike. Raises Refused where they may differ."""
        found: str | None = None
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found = type(node.value).__name__
        elif isinstance(node, ast.Name):
            found = self._locals.get(node.id)
        elif _of_shape(node):
            found = "int"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            found = self.type_of(node.operand)
        elif isinstance(node, ast.Tuple | ast.List) and {self.type_of(item) for item in node.elts} == {"int"}:
            found = "int"
        elif isinstance(node, ast.BinOp):
            found = self._computed(node)
        elif isinstance(node, ast.Call):
            found = self._call(node)
        if found is None:
            raise self.file.refuse("NumPy makes the array here in a way in which JAX may make another one.", node)
        return found

    def _computed(self, node: ast.BinOp) -> str | None:
        kinds = {self.type_of(node.left), self.type_of(node.right)}
        arrays = kinds - _NUMBERS
        inexact = isinstance(node.op, ast.Div | ast.Pow)
        if not arrays:
            return "float" if inexact or "float" in kinds else "int"
        fractions = inexact or "float" in kinds
        if len(arrays) > 1 or not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
            return None
        kind = arrays.pop()
        if kind.startswith("float"):
            self._doubt(node)
        return kind if kind.startswith("float") or not fractions else None

    def _call(self, node: ast.Call) -> str | None:
        dotted = self.file.dotted(node.func) or ""
        if not dotted.startswith("numpy."):
            return self._helper(node)
        name = dotted.removeprefix("numpy.")
        self._rename(node.func, name)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg != "axis")]
        named = [(self.file.dotted(arg) or "").removeprefix("numpy.") for arg in arguments]
        kinds = {self.type_of(arg) for arg, kind in zip(arguments, named, strict=True) if kind not in _TYPES}
        for arg, kind in zip(arguments, named, strict=True):
            if kind in _TYPES:
                self._rename(arg, kind)
        types = [kind for kind in named if kind in _TYPES]
        if name in _MAKING:
            return types[0] if len(types) == 1 and kinds <= (_NUMBERS if name == "full" else {"int"}) else None
        arrays = kinds - _NUMBERS
        if types or len(arrays) != 1 or "float" in kinds or name not in _MOVING | _EXACT | _FLOATING:
            return None
        kind = arrays.pop()
        if name not in _MOVING and kind.startswith("float"):
            self._doubt(node)
        return kind if name not in _FLOATING or kind.startswith("float") else None

    def _helper(self, node: ast.Call) -> str | None:
        """A function of the file that makes the array: it is changed, where compiled code alone calls it."""
        found = list(self.compiled.definition(self.file, node.func))
        function = found[0][1] if len(found) == 1 else None
        if not isinstance(function, ast.FunctionDef) or found[0][0] is not self.file or self._locals:
            return None
        for use in self.files.of_function(self.file, function):
            call = use.file.parents[use.node]
            if not isinstance(call, ast.Call) or call.func is not use.node or not self._always_compiled(use.file, call):
                raise use.file.refuse(f"`{function.name}` is used here by code that is not compiled, too.", use.node)
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            if not all(_of_shape(arg) or (isinstance(arg, ast.Constant) and type(arg.value) is int) for arg in given):
                raise use.file.refuse(f"`{function.name}` is given something else than shapes here.", call)
        args = function.args
        if function.decorator_list or args.defaults or args.kwonlyargs or args.vararg or args.kwarg:
            return None
        self._locals = {arg.arg: "int" for arg in (*args.posonlyargs, *args.args)}
        for statement in function.body:
            if isinstance(statement, ast.Return) and statement.value and statement is function.body[-1]:
                kind, self._locals = self.type_of(statement.value), {}
                return kind
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(statement, ast.Assign) and isinstance(target, ast.Name) and len(statement.targets) == 1:
                self._locals[target.id] = self.type_of(statement.value)
            elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                break
        return None

    def _always_compiled(self, file: File, node: ast.expr) -> bool:
        for scope in file.scope_of(node).around():
            for decorator in getattr(scope.node, "decorator_list", []):
                application = decorated_by(file, decorator)
                if application is not None and application.transform.is_jit:
                    return True
        return False

    # ------------------------------------------------------------ edits

    def _rename(self, node: ast.expr, name: str) -> None:
        """`np.name` becomes `jnp.name`."""
        module, imports = imported(self.file, node, "jax.numpy")
        self.edits.add(self.file, [*imports, replace(self.file.layout, node, f"{module}.{name}")])

    def _doubt(self, node: ast.expr) -> None:
        self.files.doubt(self.file, node, "JAX may compute other last digits than NumPy here.")


def _of_shape(node: ast.expr) -> bool:
    """`x.shape`, `*x.shape`, `x.shape[0]`, `x.ndim`, `x.size`, of any name."""
    if isinstance(node, ast.Starred):
        node = node.value
    elif isinstance(node, ast.Subscript):
        node = node.value
        return isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name)
    return (
        isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim", "size") and isinstance(node.value, ast.Name)
    )
