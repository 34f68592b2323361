"""Which uses of `….name` mean the method `name` of one class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.contents import Contents
from jaxscope.refactor.program.mentions import check_examples, check_named
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.to_argument.value import link_text
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.semantics.names.scopes import Scope


def method_around(file: File, node: ast.AST) -> Scope | None:
    """The method that holds the node."""
    for scope in file.scope_of(node).around():
        if scope.is_function and scope.parent is not None and scope.parent.kind == "class":
            return scope
    return None


def own_name(scope: Scope) -> str | None:
    """The first parameter of a method: `self`."""
    args = scope.function_node.args
    first = [*args.posonlyargs, *args.args][:1]
    return first[0].arg if first else None


def methods_reading(file: File, node: FunctionNode, links: tuple[str, ...]) -> list[ast.FunctionDef]:
    """Other methods of its class that the method calls on `self`, directly or not, and that read `self` + `links`."""
    cls = file.scope(node).parent
    assert cls is not None
    found: list[ast.FunctionDef] = []
    visited: set[ast.AST] = {node}
    waiting: list[FunctionNode] = [node]
    while waiting:
        scope = file.scope(waiting.pop())
        own = own_name(scope)
        reads = file.reads(scope, own) if own else []
        matching = [read for read in reads if tuple(map(link_text, read.links[: len(links)])) == links]
        if matching and scope.node is not node and isinstance(scope.node, ast.FunctionDef):
            found.append(scope.node)
        called = [read.links[0].attr for read in reads if read.links and isinstance(read.links[0], ast.Attribute)]
        for binding in (binding for name in called for binding in cls.bindings.get(name, [])):
            if isinstance(binding.node, ast.FunctionDef) and binding.node not in visited:
                visited.add(binding.node)
                waiting.append(binding.node)
    return found


def uses_of_method(files: Files, file: File, node: FunctionNode) -> Iterator[Use]:
    """Uses of the method, as attributes of `self` or of an object of its class. Raises Refused for a doubtful one."""
    cls = file.scope(node).parent
    assert cls is not None and not isinstance(node, ast.Lambda)
    for read in file.reads(cls, node.name):
        raise file.refuse(f"`{node.name}` is used in the body of its class.", read.node)
    check_named(files, file, node.name, None)
    check_examples(files, file, node.name, None)
    for other, store in files.attribute_stores(node.name):
        raise other.refuse(f"`.{node.name}` is assigned here.", store)
    for other, found in _relatives(files, cls):
        for item in found.body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == node.name:
                raise other.refuse(f"`{found.name}` has a method `{node.name}` too, and may be what is called.", item)
    yield from _of_objects(files, cls, node.name, "this method")


def uses_of_attribute(files: Files, file: File, target: ast.Attribute) -> list[Use] | None:
    """Reads of `self.name`, which a method assigns and nothing else; None where one of them is doubtful."""
    method, stores = method_around(file, target), list(files.attribute_stores(target.attr))
    receiver = target.value.id if isinstance(target.value, ast.Name) else None
    if method is None or method.parent is None or receiver is None or own_name(method) != receiver:
        return None
    check_named(files, file, target.attr, None)
    check_examples(files, file, target.attr, None)
    if len(stores) != 1 or target.attr in method.parent.bindings or any(_relatives(files, method.parent)):
        return None
    return list(_of_objects(files, method.parent, target.attr, "what is kept here"))


def _of_objects(files: Files, cls: Scope, name: str, meant: str) -> Iterator[Use]:
    """Reads of the attribute of objects of the class. Raises Refused where it cannot be seen whose it is."""
    for use in files.of_attribute(name):
        assert isinstance(use.node, ast.Attribute)
        known = _class_of(files, use.file, use.node.value)
        if known is None:
            raise use.file.refuse(f"`{ast.unparse(use.node)}` may be {meant} or another one.", use.node)
        if known is cls.node:
            yield use


def _relatives(files: Files, cls: Scope) -> Iterator[tuple[File, ast.ClassDef]]:
    """Classes of the project that derive from this one, or that it derives from, by name."""
    classes = [
        (file, node)
        for path in files.project.python_files()
        if (file := files.readable(path)) is not None
        for node in file.nodes
        if isinstance(node, ast.ClassDef)
    ]
    bases: dict[str, set[str]] = {}
    for _, node in classes:
        bases.setdefault(node.name, set()).update(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    above = _closure(cls.name, bases)
    for file, node in classes:
        if node is not cls.node and (node.name in above or cls.name in _closure(node.name, bases)):
            yield file, node


def _closure(name: str, bases: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for base in bases.get(waiting.pop(), set()) - found:
            found.add(base)
            waiting.append(base)
    return found


def _class_of(files: Files, file: File, receiver: ast.expr) -> ast.AST | None:
    """The class of an object; something else for what is certainly no object of the project; None when not known."""
    if not isinstance(receiver, ast.Name):
        return receiver if file.dotted(receiver) is not None else None
    if file.dotted(receiver) is not None:
        return receiver  # a module or an imported name
    home = file.lookup(file.scope_of(receiver), receiver.id)
    bindings = home.bindings.get(receiver.id, []) if home is not None else []
    if home is None or len(bindings) != 1:
        return None
    if home.is_function and home.parent is not None and home.parent.kind == "class" and own_name(home) == receiver.id:
        decorators: list[ast.expr] = getattr(home.node, "decorator_list", [])
        plain = all(
            file.dotted(decorator) not in ("builtins.staticmethod", "builtins.classmethod") for decorator in decorators
        )
        return home.parent.node if plain else None
    value = bindings[0].value
    if bindings[0].kind != "assign" or bindings[0].path or value is None:
        return None
    found = Contents(files).class_of(file, value)
    return found[1] if found is not None else None
