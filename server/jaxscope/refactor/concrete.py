"""Uses of an array that need its elements while tracing, and so would fail once the array is an argument."""

from __future__ import annotations

import ast

from jaxscope.refactor.names import File
from jaxscope.semantics.scopes import Scope
from jaxscope.semantics.vocabulary import LOOKS_ONLY, METADATA

_NEED_ELEMENTS = frozenset(
    [
        "builtins.int",
        "builtins.float",
        "builtins.bool",
        "builtins.complex",
        "builtins.range",
        "builtins.str",
        "builtins.hash",
        "builtins.slice",
        "builtins.print",
        "builtins.set",
        "builtins.frozenset",
        "builtins.dict",
        "builtins.sorted",
        "builtins.max",
        "builtins.min",
        "jax.numpy.unique",
        "jax.numpy.nonzero",
        "jax.numpy.argwhere",
        "jax.numpy.flatnonzero",
        "jax.numpy.union1d",
        "jax.numpy.intersect1d",
        "jax.numpy.setdiff1d",
        "jax.numpy.compress",
        "jax.numpy.extract",
    ]
)
_METHODS = frozenset(
    ["item", "tolist", "tobytes", "tofile", "dump", "dumps", "copy_to_host", "__array__", "nonzero", "unique", "items_"]
)
_SHAPE_ARGUMENTS = frozenset(
    [
        "jax.numpy.zeros",
        "jax.numpy.ones",
        "jax.numpy.empty",
        "jax.numpy.eye",
        "jax.numpy.arange",
        "jax.numpy.broadcast_to",
    ]
)
_PASSES = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Starred, ast.NamedExpr, ast.IfExp, ast.BoolOp)


class Concreteness:
    """Follows a value through one function, by name, and refuses uses that need its elements."""

    def __init__(self, file: File, title: str, mask: bool = False) -> None:
        self.file = file
        self.title = title
        self.mask = mask
        """It holds truth values, whose number decides the shape of what they pick."""
        self._followed: set[tuple[int, str]] = set()

    def check(self, node: ast.expr) -> None:
        """Raises Refused when what is read at `node` is needed while tracing."""
        at: ast.expr = node
        while True:
            parent = self.file.parents[at]
            if isinstance(parent, ast.Attribute):
                if parent.attr in METADATA:
                    return
                call = self.file.parents[parent]
                if parent.attr in _METHODS and isinstance(call, ast.Call) and call.func is parent:
                    raise self._refuse(call)
                at = parent
            elif isinstance(parent, ast.Subscript) and parent.slice is at:
                self._check_index(at)
                at = parent
            elif isinstance(parent, ast.Subscript):
                at = parent
            elif isinstance(parent, _PASSES):
                self._check_test(parent, at)
                if isinstance(parent, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops):
                    return
                at = parent
            elif isinstance(parent, ast.Call):
                if self._check_call(parent, at):
                    return
                at = parent
            else:
                self._check_end(parent, at)
                return

    def _refuse(self, node: ast.AST) -> Exception:
        reason = f"`{self.title}` must be known while the function is traced here, which an argument is not."
        return self.file.refuse(reason, node)

    def _check_index(self, index: ast.expr) -> None:
        if self.mask or isinstance(index, ast.Compare):
            raise self._refuse(index)

    def _check_test(self, parent: ast.expr, at: ast.expr) -> None:
        decides = isinstance(parent, ast.IfExp) and parent.test is at
        negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        if decides or negated or isinstance(parent, ast.BoolOp):
            raise self._refuse(parent)

    def _check_call(self, call: ast.Call, at: ast.expr) -> bool:
        """True when nothing of the value is in the call's result."""
        if call.func is at:
            return False
        name = self.file.dotted(call.func) or ""
        if name.removeprefix("builtins.") in LOOKS_ONLY and name != "builtins.print":
            return True
        numpy = name.startswith("numpy.") or name.startswith("scipy.")
        first = bool(call.args) and call.args[0] is at
        if numpy or name in _NEED_ELEMENTS or (name in _SHAPE_ARGUMENTS and first):
            raise self._refuse(call)
        return not (name.startswith("jax.") or name.startswith("builtins."))

    def _check_end(self, parent: ast.AST, at: ast.expr) -> None:
        if isinstance(parent, ast.If | ast.While | ast.Assert) and parent.test is at:
            raise self._refuse(parent)
        if isinstance(parent, ast.FormattedValue | ast.Slice | ast.Match):
            raise self._refuse(parent)
        if isinstance(parent, ast.comprehension) and any(at is test for test in parent.ifs):
            raise self._refuse(parent)
        if isinstance(parent, ast.Assign):
            for target in parent.targets:
                self._follow(target)
        elif isinstance(parent, ast.AnnAssign | ast.AugAssign) or (
            isinstance(parent, ast.For | ast.comprehension) and parent.iter is at
        ):
            self._follow(parent.target)

    def _follow(self, target: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._follow(element)
        if not isinstance(target, ast.Name):
            return
        home: Scope | None = self.file.lookup(self.file.scope_of(target), target.id)
        if home is None or (id(home), target.id) in self._followed:
            return
        self._followed.add((id(home), target.id))
        for read in self.file.reads(home, target.id):
            self.check(read.node)
