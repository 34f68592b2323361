"""Where a transform of JAX is applied in the source: `jit(f, …)`, `partial(jit, …)(f)`, `@jit`, `@partial(jit, …)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxscope.refactor.program.names import File
from jaxscope.semantics.vocabulary import Transform, transform

PARTIALS = ("functools.partial", "jax.tree_util.Partial")


@dataclass(frozen=True, slots=True)
class Application:
    """One transform applied to one function."""

    transform: Transform
    result: ast.expr
    """The expression whose value is the transformed function; a decorator for itself."""
    options: ast.Call | None
    """The call that holds the options; None for a decorator without any."""
    first_option: int
    """Position in `options.args` that counts as position 1 of the transform."""
    operand: ast.expr | None
    """The function; None for a decorator."""
    shared: bool = False
    """The options are written once, for several functions: `fast = partial(jit, …)`."""

    def option(self, name: str) -> ast.expr | None:
        """The value written for an option, by name or by position."""
        if self.options is None:
            return None
        for keyword in self.options.keywords:
            if keyword.arg == name:
                return keyword.value
        for position, known in self.transform.option_positions:
            at = position - 1 + self.first_option
            if known == name and at < len(self.options.args):
                return self.options.args[at]
        return None

    @property
    def unclear(self) -> ast.expr | None:
        """An option that is given in a way that cannot be read: `**options`, or at an unknown position."""
        if self.options is None:
            return None
        for keyword in self.options.keywords:
            if keyword.arg is None:
                return keyword.value
        known = max((position for position, _ in self.transform.option_positions), default=0)
        for number, arg in enumerate(self.options.args):
            if isinstance(arg, ast.Starred) or number - self.first_option >= known:
                return arg
        return None


def applied_by(file: File, call: ast.Call, operand: ast.expr) -> Application | None:
    """The application of which `operand` is the function, where `call` is the call around it."""
    found = named(file, call.func)
    if found is not None:
        body = found.bodies[0]
        at = call.args[body.position] if body.position < len(call.args) else None
        if at is operand or any(k.arg == body.name and k.value is operand for k in call.keywords):
            return Application(found, call, call, 1 if at is operand else 0, operand)
        return None
    prepared = _prepared(file, call.func)
    if prepared is not None and len(call.args) == 1 and call.args[0] is operand and not call.keywords:
        found, options, first = prepared
        return Application(found, call, options, first, operand, options is not call.func)
    return None


def decorated_by(file: File, decorator: ast.expr) -> Application | None:
    """The application that a decorator is."""
    found = named(file, decorator)
    if found is not None:
        return Application(found, decorator, None, 0, None)
    prepared = _prepared(file, decorator)
    if prepared is None:
        return None
    found, options, first = prepared
    return Application(found, decorator, options, first, None, options is not decorator)


def named(file: File, node: ast.expr) -> Transform | None:
    """The transform that a dotted name means, unless what it makes is called otherwise than the function."""
    dotted = file.dotted(node)
    found = transform(dotted) if dotted else None
    return None if found is not None and (found.members or found.leading) else found


def is_partial(file: File, call: ast.Call) -> bool:
    """Is it a call of `functools.partial` or of JAX's own?"""
    return file.dotted(call.func) in PARTIALS


def _prepared(file: File, node: ast.expr) -> tuple[Transform, ast.Call, int] | None:
    """`partial(jit, …)` or `jit(…)` without the function: transform, call with the options, first option."""
    node = _given_once(file, node)
    if not isinstance(node, ast.Call):
        return None
    if is_partial(file, node):
        found = named(file, node.args[0]) if node.args else None
        return (found, node, 1) if found and len(node.args) == 1 else None
    found = named(file, node.func)
    if found is None or node.args or any(keyword.arg == found.bodies[0].name for keyword in node.keywords):
        return None
    return found, node, 0


def _given_once(file: File, node: ast.expr) -> ast.expr:
    """What a global name was given, where it is bound only once and for certain; else the expression itself."""
    home = file.lookup(file.scope_of(node), node.id) if isinstance(node, ast.Name) else None
    bindings = file.bindings(home, node.id) if home is file.top and isinstance(node, ast.Name) else []
    given = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    return node if given is None or bindings[0].path or bindings[0].block else given
