"""Which variable, attribute or entry an expression means, told apart from others of the same name."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxscope.semantics.evaluation.arguments import parameters
from jaxscope.semantics.evaluation.values import ModuleValue
from jaxscope.semantics.names.scopes import Binding, Scope

if TYPE_CHECKING:
    from jaxscope.semantics.evaluation.evaluate import Evaluator

Link = tuple[str, object]
"""`(".", name)` or `("[]", key)`; the key is None when it is not written out."""
_LONGEST = 8


@dataclass(frozen=True, slots=True)
class Variable:
    """A name of a function or module, and what is written behind it."""

    home: object
    """The function whose name it is; the path of the file where it is a global."""
    name: str
    path: tuple[Link, ...] = ()

    @property
    def root(self) -> Variable:
        """The name alone."""
        return replace(self, path=())


def links_of(links: tuple[ast.Attribute | ast.Subscript, ...]) -> tuple[Link, ...]:
    """Attributes and subscripts as written."""
    found: list[Link] = []
    for link in links:
        if isinstance(link, ast.Attribute):
            found.append((".", link.attr))
        else:
            found.append(("[]", link.slice.value if isinstance(link.slice, ast.Constant) else None))
    return tuple(found)


def begins_with(text: str, name: str) -> bool:
    """Is what `text` says a name, or something of it: an attribute or entry?"""
    return text == name or text.startswith((f"{name}.", f"{name}["))


def chain_of(node: ast.expr) -> tuple[ast.Name, tuple[ast.Attribute | ast.Subscript, ...]] | None:
    """The name that an expression of attributes and subscripts begins with, and those."""
    links: list[ast.Attribute | ast.Subscript] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        links.append(node)
        node = node.value
    return (node, tuple(reversed(links))) if isinstance(node, ast.Name) else None


def variable_of(ev: Evaluator, name: str, path: tuple[Link, ...], scope: Scope) -> Variable | None:
    """The variable that a name means in `scope`, through imports and plain aliases of objects."""
    for _ in range(_LONGEST):
        owner = ev.owner(name, scope)
        if owner is None:
            return None
        model = ev.model_of(owner.module_part())
        bindings = model.bindings_of(name, owner)
        if owner.kind == "module" and len(bindings) == 1 and bindings[0].kind == "import":
            return _imported(ev, bindings[0], model.path, name, path)
        alias = _alias(bindings) if path else None
        if alias is None:
            return Variable(model.path if owner.kind == "module" else owner, name, path)
        root, links = alias
        name, path, scope = root.id, (*links_of(links), *path), bindings[0].scope
    return None


def _alias(bindings: list[Binding]) -> tuple[ast.Name, tuple[ast.Attribute | ast.Subscript, ...]] | None:
    """What a name is another name of."""
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path:
        return None
    value = bindings[0].value
    return chain_of(value) if isinstance(value, (ast.Name, ast.Attribute)) else None


def _imported(ev: Evaluator, binding: Binding, path: str, name: str, links: tuple[Link, ...]) -> Variable | None:
    """A global of another file, reached as `module.name`, or as an object that was imported from there."""
    for _ in range(_LONGEST):
        value = ev.imported(binding, ev.module_frame(ev.project.model(path)))  # type: ignore[arg-type]
        if isinstance(value, ModuleValue):
            if not links or links[0][0] != ".":
                return None
            path, name, links = value.path, str(links[0][1]), links[1:]
        else:
            source = ev.project.resolve(path, binding.module, binding.level) if binding.attribute else None
            if source is None:
                return None
            if not links:
                return Variable(path, name)  # a copy of the reference: rebinding it there changes nothing here
            path, name = source, binding.attribute
        other = ev.project.model(path)
        ev.seen.paths.add(path)
        bindings = other.global_bindings(name) if other is not None else []
        if len(bindings) != 1 or bindings[0].kind != "import":
            return Variable(path, name, links)
        binding = bindings[0]
    return None


def is_parameter_of(scope: Scope, name: str) -> bool:
    """Is the name a parameter of the function, and nothing else?"""
    bindings = scope.bindings.get(name, [])
    return scope.is_function and bool(bindings) and all(binding.kind == "parameter" for binding in bindings)


def argument_for(call: ast.Call, function: Scope, name: str) -> ast.expr | None:
    """What a call gives for a parameter of `function`; for a method's own object what the method is taken from."""
    names = parameters(function.function_node)
    in_class = function.parent is not None and function.parent.kind == "class"
    method = in_class and isinstance(call.func, ast.Attribute)
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if name not in names:
        return None
    at = names.index(name) - method
    if at < 0:
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    given = call.args[: at + 1]
    return given[at] if len(given) > at and not any(isinstance(one, ast.Starred) for one in given) else None
