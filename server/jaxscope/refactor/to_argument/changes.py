"""Does anything change an object while compiled functions that captured it are still called?

The object is followed from every place that names it: through its parts and views, other names, parameters of the
project's functions. A change is refused; a use that cannot be followed is a doubt, which only a run can clear.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.donation import donates
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import is_partial
from jaxscope.refactor.writing.layout import FunctionNode

_CHANGING = frozenset(
    [
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault"),
        *("popitem", "add", "discard", "fill", "resize", "put", "itemset", "partition", "setflags", "setfield"),
        *("byteswap", "load_state_dict", "delete", "appendleft", "popleft", "extendleft", "rotate", "move_to_end"),
        *("__setitem__", "__delitem__", "__iadd__", "__imul__", "__isub__"),
    ]
)
_CHANGING_FUNCTIONS = frozenset(
    [
        *("numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.fill_diagonal", "numpy.put_along_axis"),
        *("random.shuffle", "builtins.setattr", "builtins.delattr", "operator.setitem", "operator.iadd"),
        *("operator.delitem", "operator.imul", "heapq.heappush", "heapq.heapify", "heapq.heappop"),
    ]
)
_OUT_SECOND = frozenset(
    [
        "negative",
        "abs",
        "absolute",
        "exp",
        "log",
        "sqrt",
        "square",
        "sin",
        "cos",
        "tanh",
        "floor",
        "ceil",
        "rint",
        "sign",
        "invert",
    ]
)
_OUT_THIRD = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "floor_divide",
        "power",
        "maximum",
        "minimum",
        "mod",
        "matmul",
        "dot",
        "logical_and",
    ]
)
_VIEWS = frozenset(
    [
        *("reshape", "ravel", "view", "transpose", "squeeze", "swapaxes", "diagonal", "items", "values", "get"),
        *("__getitem__", "__iter__", "byteswap", "newbyteorder"),
    ]
)
_VIEW_FUNCTIONS = frozenset(
    [
        *("enumerate", "zip", "reversed", "iter", "next", "list", "tuple", "dict", "memoryview"),
        *("asarray", "asanyarray", "ascontiguousarray", "ravel", "reshape", "transpose", "squeeze", "atleast_1d"),
        *("atleast_2d", "atleast_3d", "broadcast_to", "swapaxes", "moveaxis", "expand_dims", "split", "array_split"),
        *("hsplit", "vsplit", "diagonal", "flip", "flipud", "fliplr", "rot90", "nditer", "require", "real", "imag"),
    ]
)
_DEPTH = 6


class Changes:
    """One value. `mutable`: it is not known to be an array of JAX. `done`: does code there run before all calls?"""

    def __init__(
        self, files: Files, compiled: Compiled, title: str, mutable: bool, done: Callable[[File, ast.AST], bool]
    ) -> None:
        self.files = files
        self.compiled = compiled
        self.title = title
        self.mutable = mutable
        self.done = done
        self._seen: set[tuple[int, tuple[str, ...]]] = set()

    def check(self, file: File, node: ast.expr, links: tuple[str, ...], depth: int = 0) -> None:
        """Follows the object at `node`, of which the value is what `links` lead to. Raises Refused."""
        if (id(node), links) in self._seen or depth > _DEPTH:
            return
        self._seen.add((id(node), links))
        at: ast.expr = node
        while True:
            parent = file.parents[at]
            if isinstance(parent, ast.keyword):
                parent = file.parents[parent]
            if isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is at:
                text = _link_text(parent)
                neighbour = bool(links) and text != links[0] and "[" not in text + links[0]
                call = file.parents[parent]
                called = isinstance(call, ast.Call) and call.func is parent and isinstance(parent, ast.Attribute)
                if called and isinstance(parent, ast.Attribute) and (not links or text != links[0]):
                    assert isinstance(call, ast.Call)
                    if not self._method(file, call, parent):
                        return
                    at, links = call, ()
                    continue
                if neighbour:
                    return
                if not isinstance(parent.ctx, ast.Load):
                    self._refuse(file, parent)
                    return
                augmented = file.parents[parent]
                if isinstance(augmented, ast.AugAssign) and augmented.target is parent:
                    self._refuse(file, augmented)
                at, links = parent, links[1:]
            elif isinstance(parent, ast.Call) and parent.func is not at:
                if not self._given(file, parent, at, links, depth):
                    return
                at = parent
            elif isinstance(parent, ast.Starred | ast.Await | ast.IfExp):
                at = parent
            else:
                self._end(file, parent, at, links, depth)
                return

    # ------------------------------------------------------------ one step

    def _refuse(self, file: File, node: ast.AST) -> None:
        if not self.done(file, node):
            raise file.refuse(f"`{self.title}` is changed here, so that a call may see another value.", node)

    def _doubt(self, file: File, node: ast.AST, what: str) -> None:
        if self.mutable:
            self.files.doubt(file, node, f"`{self.title}` {what}, through which it may be changed.")

    def _method(self, file: File, call: ast.Call, attribute: ast.Attribute) -> bool:
        """A method of the object is called. Is its result the object, or a part of it?"""
        if attribute.attr in _CHANGING:
            self._refuse(file, call)
        return attribute.attr in _VIEWS

    def _given(self, file: File, call: ast.Call, at: ast.expr, links: tuple[str, ...], depth: int) -> bool:
        """The object is an argument. Is the call's result the object, or a part of it?"""
        name = file.dotted(call.func) or ""
        last = name.rpartition(".")[2]
        keyword = next((k.arg for k in call.keywords if k.value is at), None)
        position = next((n for n, arg in enumerate(call.args) if arg is at), None)
        shuffles = isinstance(call.func, ast.Attribute) and call.func.attr == "shuffle"
        if keyword == "out" or name in _CHANGING_FUNCTIONS or shuffles or self._out(name, position):
            self._refuse(file, call)
        if donates(self.files, file, call, position, keyword) and not self.done(file, call):
            raise file.refuse(f"`{self.title}` is donated here, and cannot be read by a call after it.", call)
        if name.startswith(("numpy.", "builtins.")):
            return last in _VIEW_FUNCTIONS
        if not is_partial(file, call) and (name.startswith("jax.") or self.done(file, call)):
            return False
        self._enter(file, call, (position, keyword), links, depth)
        return False

    def _out(self, name: str, position: int | None) -> bool:
        if not name.startswith("numpy."):
            return False
        last = name.rpartition(".")[2]
        in_place = last in ("at", "shuffle") and position == 0
        return in_place or (position == 2 and last in _OUT_THIRD) or (position == 1 and last in _OUT_SECOND)

    def _enter(
        self, file: File, call: ast.Call, place: tuple[int | None, str | None], links: tuple[str, ...], depth: int
    ) -> None:
        """Follows the object into the functions that are called with it."""
        position, keyword = place
        called = call.func
        if is_partial(file, call) and call.args:
            called, position = call.args[0], None if position is None else position - 1
        found = list(self.compiled.definition(file, called))
        for other, function in found:
            name = _parameter(function, call, position, keyword)
            if name is None:
                self._doubt(file, call, f"is given to `{_short(call.func)}` here")
                continue
            for read in other.reads(other.scope(function), name):
                self.check(other, read.node, links, depth + 1)
        if not found:
            self._doubt(file, call, f"is given to `{_short(call.func)}` here")

    def _end(self, file: File, parent: ast.AST, at: ast.expr, links: tuple[str, ...], depth: int) -> None:
        if isinstance(parent, ast.AugAssign) and parent.target is at:
            self._refuse(file, parent)
        elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is at:
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            for target in targets:
                self._bound(file, target, links, depth)
            if isinstance(parent, ast.NamedExpr):
                self.check(file, parent, links, depth + 1)
        elif isinstance(parent, ast.For | ast.comprehension) and parent.iter is at:
            self._bound(file, parent.target, links[1:], depth)
        elif isinstance(parent, ast.withitem):
            if parent.optional_vars is not None:
                self._bound(file, parent.optional_vars, links, depth)
        elif isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Dict) and not _only_index(file, parent):
            self._doubt(file, at, "is put into a container here")
        elif isinstance(parent, ast.Return | ast.Yield | ast.YieldFrom | ast.Lambda):
            self._doubt(file, at, "is returned here")

    def _bound(self, file: File, target: ast.expr, links: tuple[str, ...], depth: int) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._bound(file, element, (), depth)
        elif isinstance(target, ast.Starred):
            self._bound(file, target.value, (), depth)
        elif isinstance(target, ast.Name):
            home = file.lookup(file.scope_of(target).owner(), target.id) or file.lookup(
                file.scope_of(target), target.id
            )
            for use in self.files.of_name(file, home, target.id) if home else ():
                self.check(use.file, use.node, links, depth + 1)
        else:
            self._doubt(file, target, f"is kept in `{_short(target)}`")


def _parameter(function: FunctionNode, call: ast.Call, position: int | None, keyword: str | None) -> str | None:
    """The parameter that takes the argument; None when that cannot be seen."""
    args = function.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    if keyword is not None:
        return keyword if keyword in {*names, *(arg.arg for arg in args.kwonlyargs)} else None
    if position is None or any(isinstance(arg, ast.Starred) for arg in call.args[: position + 2]):
        return None
    return names[position] if position < len(names) else None


def _only_index(file: File, node: ast.expr) -> bool:
    parent = file.parents.get(node)
    return isinstance(parent, ast.Subscript) and parent.slice is node


def _link_text(link: ast.Attribute | ast.Subscript) -> str:
    return f".{link.attr}" if isinstance(link, ast.Attribute) else f"[{ast.unparse(link.slice)}]"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "…"
