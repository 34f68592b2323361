"""What a captured name is bound to, as far as the source shows: may JAX take it as an argument?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.known import Known
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.semantics.names.scopes import Binding, Scope

_REGISTERING = frozenset(
    [
        "register_pytree_node_class",
        "register_dataclass",
        "register_pytree_with_keys_class",
        "register_static",
        "register_pytree_node",
        "register_pytree_with_keys",
    ]
)
_PYTREE_CLASSES = frozenset(
    [
        "flax.struct.dataclass",
        "chex.dataclass",
        "equinox.Module",
        "flax.struct.PyTreeNode",
        "typing.NamedTuple",
        "flax.nnx.Module",
        "tjax.dataclasses.dataclass",
        "jax_dataclasses.pytree_dataclass",
        "simple_pytree.Pytree",
    ]
)
_NO_CONTAINERS = frozenset(
    [
        *("types.SimpleNamespace", "argparse.Namespace", "types.MappingProxyType", "array.array"),
        *("collections.deque", "collections.ChainMap", "collections.UserDict", "collections.UserList"),
        *("collections.Counter", "builtins.set", "builtins.frozenset", "builtins.map", "builtins.zip"),
        *("builtins.filter", "builtins.iter", "builtins.enumerate", "builtins.reversed", "builtins.range"),
    ]
)
_DEPTH = 6


class Contents:
    """Looks at the expressions that a name is bound to."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def check(self, file: File, home: Scope, name: str, links: tuple[str, ...] = ()) -> None:
        """Raises Refused when something in it is no array, number or container of such."""
        bindings = file.bindings(home, name)
        if not links:
            for binding in bindings:
                if binding.value is not None and binding.kind == "assign" and not binding.path:
                    self._expression(file, binding.value, name, 0)
            self._stored(file, home, name)
        known = Known(self.files.project, file, home, name, links)
        node = bindings[0].node if bindings else file.tree
        text = name + "".join(links)
        if known.bad is not None:
            raise file.refuse(f"`{text}` holds something that JAX takes for no argument, or must know.", node)
        if not known.complete and not any(self._taken_apart(file, b.value) for b in bindings):
            self.files.doubt(file, node, f"`{text}` may hold something that JAX takes for no argument, or must know.")

    def _taken_apart(self, file: File, value: ast.expr | None) -> bool:
        found = self.class_of(file, value) if value is not None else None
        return found is not None and self.pytree(*found)

    def _stored(self, file: File, home: Scope, name: str) -> None:
        """What is put into it later."""
        for read in file.reads(home, name):
            link: ast.AST = read.node
            while isinstance(outer := file.parents[link], ast.Attribute | ast.Subscript) and outer.value is link:
                link = outer
            if link is read.node or isinstance(getattr(link, "ctx", None), ast.Load):
                continue
            statement = file.statement(link)
            if isinstance(statement, ast.Assign):
                self._expression(file, statement.value, name, 1)
            self.files.doubt(file, link, f"`{name}` may hold something that JAX takes for no argument, or must know.")

    def mask(self, file: File, home: Scope, name: str) -> bool:
        """Is it certainly an array of truth values?"""
        return any(_truth(file, b.value) for b in file.bindings(home, name) if b.value is not None and not b.path)

    def pytree(self, file: File, node: ast.ClassDef) -> bool:
        """Is the class one whose instances JAX takes apart?"""
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            options = decorator.args if isinstance(decorator, ast.Call) else []
            for part in (called, *options):
                dotted = file.dotted(part) or ""
                if dotted.rpartition(".")[2] in _REGISTERING or dotted in _PYTREE_CLASSES:
                    return True
        if any(file.dotted(base) in _PYTREE_CLASSES for base in node.bases):
            return True
        for other in (found for found in file.nodes if isinstance(found, ast.Call)):
            names_it = other.args and ast.unparse(other.args[0]) == node.name
            if names_it and (file.dotted(other.func) or "").rpartition(".")[2] in _REGISTERING:
                return True
        return False

    def class_of(self, file: File, value: ast.expr) -> tuple[File, ast.ClassDef] | None:
        """The project's class of which the expression makes an instance."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return None
        for other, binding in self._bindings(file, value.func):
            if isinstance(binding.node, ast.ClassDef):
                return other, binding.node
        return None

    def _expression(self, file: File, node: ast.expr, name: str, depth: int) -> None:
        if depth > _DEPTH:
            return
        if isinstance(node, ast.Dict):
            for item in node.values:
                self._expression(file, item, name, depth + 1)
        elif isinstance(node, ast.List | ast.Tuple):
            for item in node.elts:
                self._expression(file, item, name, depth + 1)
        elif isinstance(node, ast.Lambda | ast.Set | ast.SetComp | ast.JoinedStr | ast.GeneratorExp):
            raise file.refuse(f"`{name}` holds something that is no array.", node)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes | bool | int) or node.value is Ellipsis:
                raise file.refuse(f"`{name}` holds {node.value!r}, which would no longer be known while tracing.", node)
        elif isinstance(node, ast.Call):
            self._call(file, node, name, depth)

    def _call(self, file: File, node: ast.Call, name: str, depth: int) -> None:
        found = self.class_of(file, node)
        if found is not None and not self.pytree(*found):
            raise file.refuse(f"`{name}` is an object that JAX cannot take as an argument.", node)
        if file.dotted(node.func) in _NO_CONTAINERS:
            raise file.refuse(f"`{name}` is an object that JAX cannot take as an argument.", node)
        if file.dotted(node.func) == "builtins.dict":
            for keyword in node.keywords:
                self._expression(file, keyword.value, name, depth + 1)
        if isinstance(node.func, ast.Name):
            for other, binding in self._bindings(file, node.func):
                if isinstance(binding.node, ast.FunctionDef):
                    for value in other.scope(binding.node).returns:
                        if isinstance(value, ast.Dict | ast.List | ast.Tuple):
                            self._expression(other, value, name, depth + 1)

    def _bindings(self, file: File, node: ast.Name) -> Iterator[tuple[File, Binding]]:
        home = file.lookup(file.scope_of(node), node.id)
        for binding in home.bindings.get(node.id, []) if home else []:
            target = self.files.target(file, binding)
            if target is None:
                yield file, binding
            elif target[1] is not None:
                other = self.files.get(target[0])
                yield from ((other, found) for found in other.top.bindings.get(target[1], []))


def _truth(file: File, value: ast.expr) -> bool:
    if isinstance(value, ast.Compare):
        return True
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Invert):
        return _truth(file, value.operand)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd | ast.BitOr):
        return _truth(file, value.left) or _truth(file, value.right)
    if not isinstance(value, ast.Call):
        return False
    name = (file.dotted(value.func) or "").rpartition(".")[2]
    if name.startswith(("is", "logical_")) or name in ("greater", "less", "equal", "not_equal"):
        return True
    given = [*value.args, *(keyword.value for keyword in value.keywords if keyword.arg == "dtype")]
    if any((file.dotted(arg) or "").rpartition(".")[2] in ("bool", "bool_") for arg in given):
        return True
    return name in ("asarray", "array") and bool(value.args) and _truth(file, value.args[0])
