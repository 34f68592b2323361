"""Uses of an array that need its elements while tracing, and so would fail or differ once it is an argument."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.known import Known
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import is_partial
from jaxscope.refactor.to_argument.needs_elements import (
    ARRAY_METHODS,
    KNOWN_LIBRARIES,
    LAYOUT_ONLY,
    LOOKED_AT,
    METHODS,
    OF_DTYPE,
    PYTHON,
    needs_elements,
)
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.semantics.names.scopes import Scope
from jaxscope.semantics.vocabulary import LOOKS_ONLY, METADATA, words

_PASSES = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Starred, ast.NamedExpr, ast.IfExp, ast.BoolOp)
_OF_TYPE = ("result_type", "issubdtype", "zeros_like", "ones_like", "full_like", "empty_like")
_MADE = words(
    "zeros ones full empty arange linspace array asarray eye identity zeros_like ones_like full_like empty_like"
)
_JAX_TYPES = ("jax.Array", "jax.numpy.ndarray", "jax.core.Tracer")
_TRUTH = ("isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_not", "logical_xor", "greater", "less")


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of the expression that the value has come to."""

    numpy: bool
    """It may be NumPy's, rather than already traced."""
    mask: bool | None
    """It holds truth values, whose number decides the shape of what they pick. None: not known."""


class Concreteness:
    """Follows a value through functions, by name, and refuses uses that need its elements.

    `known` is what the source shows of it; without it, it may be anything. `narrows`: it loses half its bits.
    """

    def __init__(
        self,
        files: Files,
        file: File,
        title: str,
        known: Known | None,
        mask: bool = False,
        *,
        narrows: bool = False,
    ) -> None:
        self.files = files
        self.narrows = narrows
        self.file = file
        self.title = title
        self.known = known
        mask_known: bool | None = True if mask else (False if known is not None and known.no_mask else None)
        self._start = _State(known is None or not known.all_jax, mask_known)
        self._compiled = Compiled(files)
        self._followed: set[tuple[int, str, _State]] = set()

    def check(self, node: ast.expr) -> None:
        """Raises Refused when what is read at `node` is needed while tracing."""
        self._check(node, self._start)

    def _check(self, node: ast.expr, state: _State) -> None:
        at: ast.expr = node
        while True:
            parent = self.file.parents[at]
            if isinstance(parent, ast.keyword):
                parent = self.file.parents[parent]
            if isinstance(parent, ast.Attribute):
                if not self._attribute(parent, state):
                    return
                at = parent
            elif isinstance(parent, ast.Subscript) and parent.slice is at:
                self._check_index(at, state)
                at, state = parent, replace(state, numpy=False)
            elif isinstance(parent, ast.Subscript):
                if not isinstance(parent.ctx, ast.Load):
                    raise self._refuse_change(parent)
                at = parent
            elif isinstance(parent, ast.Tuple) and self._in_index(parent):
                self._check_index(at, state)
                return
            elif isinstance(parent, _PASSES):
                self._check_test(parent, at)
                if isinstance(parent, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops):
                    return
                state = self._computed(parent, at, state)
                at = parent
            elif isinstance(parent, ast.Call):
                found = self._call(parent, at, state)
                if found is None:
                    return
                at, state = parent, found
            else:
                self._check_end(parent, at, state)
                return

    # ------------------------------------------------------------ refusals and doubts

    def _refuse(self, node: ast.AST) -> Exception:
        reason = f"`{self.title}` must be known while the function is traced here, which an argument is not."
        return self.file.refuse(reason, node)

    def _refuse_change(self, node: ast.AST) -> Exception:
        return self.file.refuse(f"`{self.title}` is changed in place here, which an argument cannot be.", node)

    def _doubt(self, node: ast.AST, what: str) -> None:
        self.files.doubt(self.file, node, f"`{self.title}` {what}.")

    def _doubt_wide(self, node: ast.AST, state: _State) -> None:
        if state.numpy and not (self.known is not None and self.known.narrow):
            if self.narrows:
                raise self._refuse(node)
            self._doubt(node, "may be computed by NumPy with 64 bits here, which JAX would not do")

    # ------------------------------------------------------------ one step

    def _attribute(self, node: ast.Attribute, state: _State) -> bool:
        """Is there something of the value in the attribute?"""
        if node.attr in LOOKED_AT:
            raise self._refuse(node)
        if node.attr in METADATA:
            if node.attr in OF_DTYPE and not (self.narrows and self._is_asked_for(node)):
                self._doubt_wide(node, state)
            return False
        call = self.file.parents[node]
        called = isinstance(call, ast.Call) and call.func is node
        if node.attr in METHODS and called:
            raise self._refuse(call)
        if called and isinstance(self.file.parents[call], ast.Expr):
            raise self._refuse_change(call)
        if called and node.attr not in LAYOUT_ONLY:
            self._doubt_wide(call, state)
        return True

    def _is_asked_for(self, node: ast.Attribute) -> bool:
        """Is it a dtype that JAX is asked for, and halves?"""
        call = self.file.parents[node]
        call = self.file.parents[call] if isinstance(call, ast.keyword) else call
        name = (self.file.dotted(call.func) or "") if isinstance(call, ast.Call) else ""
        return node.attr == "dtype" and name.startswith("jax.numpy.") and name.rpartition(".")[2] in _MADE

    def _in_index(self, node: ast.Tuple) -> bool:
        parent = self.file.parents.get(node)
        return isinstance(parent, ast.Subscript) and parent.slice is node

    def _check_index(self, index: ast.expr, state: _State) -> None:
        if state.mask:
            raise self._refuse(index)
        if state.mask is None:
            self._doubt(index, "picks elements here, and may hold truth values, which must be known while tracing")

    def _check_test(self, parent: ast.expr, at: ast.expr) -> None:
        decides = isinstance(parent, ast.IfExp) and parent.test is at
        negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        chained = isinstance(parent, ast.Compare) and len(parent.ops) > 1
        within = isinstance(parent, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in parent.ops)
        contained = within and (at is getattr(parent, "left", None) or (self.known is not None and self.known.is_array))
        formatted = isinstance(parent, ast.BinOp) and isinstance(parent.left, ast.Constant | ast.JoinedStr)
        text = formatted and isinstance(getattr(parent.left, "value", ""), str)  # type: ignore[attr-defined]
        if decides or negated or chained or contained or text or isinstance(parent, ast.BoolOp):
            raise self._refuse(parent)

    def _computed(self, parent: ast.expr, at: ast.expr, state: _State) -> _State:
        if isinstance(parent, ast.Compare):
            others, mask = [parent.left, *parent.comparators], True
        elif isinstance(parent, ast.BinOp):
            others, kept = [parent.left, parent.right], isinstance(parent.op, ast.BitAnd | ast.BitOr | ast.BitXor)
            mask = bool(state.mask) if kept else False
        elif isinstance(parent, ast.UnaryOp):
            others, mask = [], bool(state.mask)
        else:
            return state
        traced = any(other is not at and self._may_be_traced(other) for other in others)
        if not traced:
            self._doubt_wide(parent, state)
        return _State(state.numpy and not traced, mask)

    def _may_be_traced(self, node: ast.expr) -> bool:
        """Does it read something of the function itself: an argument, most likely?"""
        for name in (child for child in ast.walk(node) if isinstance(child, ast.Name)):
            home = self.file.lookup(self.file.scope_of(name), name.id)
            if home is not None and home is not self.file.top and (id(home), name.id) not in self._names:
                return True
        return False

    @property
    def _names(self) -> set[tuple[int, str]]:
        return {(home, name) for home, name, _ in self._followed}

    # ------------------------------------------------------------ calls

    def _call(self, call: ast.Call, at: ast.expr, state: _State) -> _State | None:
        """What the call's result is; None when nothing of the value is in it."""
        if call.func is at:
            if not isinstance(at, ast.Attribute):
                raise self._refuse(call)
            if at.attr == "astype":
                return replace(state, mask="bool" in ast.unparse(call))
            return state
        name = self.file.dotted(call.func) or ""
        keyword = next((k.arg for k in call.keywords if k.value is at), None)
        position = next((n for n, arg in enumerate(call.args) if arg is at), None)
        if name in ("builtins.isinstance", "builtins.issubclass"):
            wanted = [self.file.dotted(arg) for arg in call.args[1:]]
            if state.numpy or not all(kind in _JAX_TYPES for kind in wanted):
                raise self._refuse(call)
            return None
        if name in PYTHON:
            raise self._refuse(call)
        if name.removeprefix("builtins.") in LOOKS_ONLY:
            if name.rpartition(".")[2] in _OF_TYPE:
                self._doubt_wide(call, state)
            return None
        if name.startswith(("numpy.", "scipy.", "math.")) or needs_elements(name, call, position, keyword):
            raise self._refuse(call)
        if name.startswith("builtins."):
            return state
        if name.startswith(("jax.", *KNOWN_LIBRARIES)) and not is_partial(self.file, call):
            return _State(False, name.rpartition(".")[2] in _TRUTH)
        return self._other_call(call, position, keyword, state)

    def _other_call(self, call: ast.Call, position: int | None, keyword: str | None, state: _State) -> _State | None:
        method = call.func if self.file.dotted(call.func) is None else None
        if isinstance(method, ast.Attribute) and method.attr in ARRAY_METHODS and self._may_be_traced(method.value):
            return None
        called = call.func
        if is_partial(self.file, call) and call.args:
            called, position = call.args[0], None if position is None else position - 1
        found = list(self._compiled.definition(self.file, called))
        for other, function in found:
            name = _parameter(function, position, keyword)
            if name is None or any(isinstance(arg, ast.Starred) for arg in call.args):
                found = []
                break
            self._enter(other, other.scope(function), name, state)
        if not found:
            text = ast.unparse(call.func)
            self._doubt(call, f"is given to `{text if len(text) < 60 else text[:57] + '…'}` here, which may need it")
        return state if state.numpy else None

    def _enter(self, other: File, home: Scope, name: str, state: _State) -> None:
        if (id(home), name, state) in self._followed:
            return
        self._followed.add((id(home), name, state))
        mine, self.file = self.file, other
        try:
            for read in other.reads(home, name):
                self._check(read.node, state)
        finally:
            self.file = mine

    # ------------------------------------------------------------ where it ends

    def _check_end(self, parent: ast.AST, at: ast.expr, state: _State) -> None:
        if isinstance(parent, ast.If | ast.While | ast.Assert) and parent.test is at:
            raise self._refuse(parent)
        if isinstance(parent, ast.FormattedValue | ast.Slice | ast.Match):
            raise self._refuse(parent)
        if isinstance(parent, ast.comprehension) and any(at is test for test in parent.ifs):
            raise self._refuse(parent)
        if isinstance(parent, ast.Assign):
            for target in parent.targets:
                self._follow(target, state)
        elif isinstance(parent, ast.AnnAssign | ast.AugAssign) or (
            isinstance(parent, ast.For | ast.comprehension) and parent.iter is at
        ):
            self._follow(parent.target, state)

    def _follow(self, target: ast.expr, state: _State) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._follow(element, state)
        if isinstance(target, ast.Name):
            home: Scope | None = self.file.lookup(self.file.scope_of(target), target.id)
            if home is not None:
                self._enter(self.file, home, target.id, state)


def _parameter(function: FunctionNode, position: int | None, keyword: str | None) -> str | None:
    args = function.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    if keyword is not None:
        return keyword if keyword in {*names, *(arg.arg for arg in args.kwonlyargs)} else None
    return names[position] if position is not None and position < len(names) else None
