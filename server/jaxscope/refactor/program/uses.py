"""What a call does with a function that it is given."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import applied_by, is_partial, named

_CALLING_METHODS = {"submit": (0, True), "run_in_executor": (1, False), "call_soon": (0, False)}
"""Position of the function, and whether the method hands on keyword arguments."""
_EXECUTORS = frozenset(["ThreadPoolExecutor", "ProcessPoolExecutor", "Executor", "Pool", "ThreadPool"])
_POOLS = ("concurrent.futures.", "multiprocessing.")
_LAZY = frozenset(["builtins.map", "builtins.filter", "itertools.starmap"])
_BODIES = frozenset(
    [
        "builtins.map",
        "builtins.filter",
        "functools.reduce",
        "jax.tree_util.tree_map",
        "itertools.starmap",
        "jax.tree_util.tree_map_with_path",
    ]
)
_TRANSPARENT = frozenset(["jaxtyping.jaxtyped", "beartype.beartype", "typeguard.typechecked", "typing.no_type_check"])
_DIFFERENTIATING = frozenset(["jax.jvp", "jax.vjp", "jax.linearize"])
"""They call the function on the spot, with the arguments that they are given for it."""


@dataclass(frozen=True, slots=True)
class GivenTo:
    """`call`: called with the arguments from `first` on; `body`: called with a fixed number of arguments;
    `partial` and `transform`: wrapped."""

    kind: Literal["call", "body", "partial", "transform"]
    first: int = 0
    keywords: bool = True
    """Keyword arguments are handed on."""
    kept: Literal["", "later", "elsewhere"] = ""
    """A `body` that is called later than it is given, perhaps by another process."""


def given_to(file: File, call: ast.AST, node: ast.expr) -> GivenTo | None:
    """What `call` does with its argument `node`; None when that cannot be seen."""
    if not isinstance(call, ast.Call):
        return None
    name = file.dotted(call.func)
    position = next((number for number, arg in enumerate(call.args) if arg is node), None)
    if is_partial(file, call):
        return GivenTo("partial") if position == 0 else None
    if name == "asyncio.to_thread" and position == 0:
        return GivenTo("call", 1)
    if isinstance(call.func, ast.Attribute) and name is None and position is not None:
        known = _CALLING_METHODS.get(call.func.attr)
        if known is not None and known[0] == position:
            return GivenTo("call", position + 1, known[1])
        if call.func.attr == "map" and position == 0 and _executor(file, call.func.value):
            return GivenTo("body", kept="elsewhere")
    if name in _BODIES and position == 0:
        return GivenTo("body", kept="later" if name in _LAZY else "")
    found = named(file, call.func)
    if name in _DIFFERENTIATING and position == 0:
        return GivenTo("body")
    if found is None:
        return GivenTo("transform") if applied_by(file, call, node) else None
    keyword = next((k.arg for k in call.keywords if k.value is node), None)
    for body in found.bodies:
        if position != body.position and (keyword is None or keyword != body.name):
            continue
        if found.loop:
            return GivenTo("body")
        if body.arguments == "given":
            return (
                GivenTo("call", body.position + 1) if found.name == "jax.eval_shape" and position is not None else None
            )
        return GivenTo("transform")
    return None


def is_steady(file: File, node: ast.expr) -> bool:
    """Does the expression mean the same function whenever it is evaluated?"""
    if not isinstance(node, ast.Name):
        return isinstance(node, ast.Lambda)
    home = file.lookup(file.scope_of(node), node.id)
    bindings = file.bindings(home, node.id) if home is not None else []
    repeated = (ast.For, ast.AsyncFor, ast.While)
    return all(
        binding.kind in ("def", "import", "assign")
        and not any(isinstance(around, repeated) for around in file.around(binding.node))
        for binding in bindings
    )


def is_own_method(files: Files, file: File, call: ast.Call) -> bool:
    """Is it a call of a method, of an object that is not known, that has the name of one of the project's own?"""
    if not isinstance(call.func, ast.Attribute) or file.dotted(call.func) or _executor(file, call.func.value):
        return False
    name = call.func.attr
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
        for other in files.mentioning(name)
        for node in other.nodes
    )


def _executor(file: File, receiver: ast.expr) -> bool:
    """Is the object certainly one that `concurrent.futures` or `multiprocessing` made?"""
    made = [receiver]
    if isinstance(receiver, ast.Name):
        home = file.lookup(file.scope_of(receiver), receiver.id)
        bindings = file.bindings(home, receiver.id) if home is not None else []
        typed = [getattr(b.node, "annotation", None) or b.value for b in bindings if not b.path]
        made = [each for each in typed if each is not None] if len(typed) == len(bindings) else []
    names = [file.dotted(each.func if isinstance(each, ast.Call) else each) or "" for each in made]
    known = [name.startswith(_POOLS) and name.rpartition(".")[2] in _EXECUTORS for name in names]
    return bool(known) and all(known)


def passes_through(files: Files, file: File, decorator: ast.expr) -> bool:
    """Is the decorator one that hands all arguments on, whatever they are?"""
    name = file.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if name in _TRANSPARENT:
        return True
    if not isinstance(decorator, ast.Name):
        return False
    home = file.lookup(file.scope_of(decorator), decorator.id)
    bindings = home.bindings.get(decorator.id, []) if home else []
    if len(bindings) != 1:
        return False
    node: ast.AST = bindings[0].node
    target = files.target(file, bindings[0])
    if target and target[1]:
        other = files.get(target[0])
        found = other.top.bindings.get(target[1], [])
        node = found[0].node if len(found) == 1 else node
    return isinstance(node, ast.FunctionDef) and _forwards(node)


def _forwards(decorator: ast.FunctionDef) -> bool:
    """`def decorator(fn): def wrapper(*args, **kwargs): … fn(*args, **kwargs) …; return wrapper`."""
    parameters = decorator.args.args
    inner = [node for node in decorator.body if isinstance(node, ast.FunctionDef)]
    if len(parameters) != 1 or len(inner) != 1:
        return False
    wrapper, taken = inner[0], parameters[0].arg
    args = wrapper.args
    if args.posonlyargs or args.args or args.kwonlyargs or not args.vararg or not args.kwarg:
        return False
    returned = [node.value for node in decorator.body if isinstance(node, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.Name) or returned[0].id != wrapper.name:
        return False
    handed = f"{taken}(*{args.vararg.arg}, **{args.kwarg.arg})"
    calls = [node for node in ast.walk(wrapper) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == taken]
    packed = [
        node
        for node in ast.walk(wrapper)
        if isinstance(node, ast.Name) and node.id in (args.vararg.arg, args.kwarg.arg)
    ]
    return bool(made) and all(ast.unparse(call) == handed for call in made) and len(packed) == 2 * len(made)
